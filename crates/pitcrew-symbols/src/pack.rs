//! The symbols of one file as bytes, in memory and on disk.
//!
//! A symbol takes about as many bytes as its texts and can be decoded separately. Containers are
//! stored once and in order, so that their symbols are found without unpacking.
//!
//! ```text
//! symbols_count:u32 containers_count:u32 imports_at:u32 state:u32
//! symbol_at:u32 ... container_at:u32 ... container_of_symbol:u16 ... symbol ... container ... import ...
//! ```

mod packing;

pub use packing::Packing;

use crate::{Import, Kind, Language, Member, Skipped, Symbol, Visibility, bytes::Reader};
use bytes::Bytes;

/// Further symbols of a file are left out, because such a file was generated.
pub const SYMBOLS_PER_FILE_MAX: usize = u16::MAX as usize;

const HEADER_BYTES: usize = 16;
const IMPORTS_AT: usize = 8;
const STATE_AT: usize = 12;
/// The state of a file that was parsed without an error. Reasons to skip a file are encoded as
/// numbers starting at `SKIPPED`.
const WHOLE: u8 = 0;
/// Parts of the file could not be parsed.
const BROKEN: u8 = 1;
const SKIPPED: u8 = 2;
/// A flag in the last byte of a symbol's position: it is a function inside a container.
const CALLABLE: u8 = 0x80;
const CALLABLE_BIT: u32 = (CALLABLE as u32) << 24;

/// The symbols of one file, in a shared block.
#[derive(Clone, Debug)]
pub struct Packed {
    bytes: Bytes,
}

/// The part of a symbol that the table stores.
#[derive(Clone, Copy)]
pub struct Head<'a> {
    pub name: &'a str,
    pub container: Option<&'a str>,
    pub kind: Kind,
    pub visibility: Visibility,
}

/// One packed symbol.
pub struct Entry<'a> {
    pub head: Head<'a>,
    /// First and last line, 1-based.
    pub lines: (u32, u32),
    pub signature: &'a str,
    pub doc: &'a str,
    pub members: &'a [Member],
}

impl Packed {
    /// Accepts bytes that may be garbage.
    pub fn new(bytes: Bytes) -> Self {
        Self { bytes }
    }

    /// The packed form of a skipped file.
    pub fn skipped(why: Skipped) -> Self {
        Self::without_symbols(SKIPPED + why as u8)
    }

    /// The packed form of a file that could not be parsed at all.
    pub fn broken() -> Self {
        Self::without_symbols(BROKEN)
    }

    fn without_symbols(state: u8) -> Self {
        let mut bytes = [0; HEADER_BYTES + 1];
        bytes[IMPORTS_AT] = u8::try_from(HEADER_BYTES).expect("a header is short");
        bytes[STATE_AT] = state;
        Self { bytes: Bytes::copy_from_slice(&bytes) }
    }

    /// Whether parts of the file could not be parsed.
    pub fn is_broken(&self) -> bool {
        self.bytes().get(STATE_AT) == Some(&BROKEN)
    }

    /// Why the file was skipped; none if it was parsed.
    pub fn why_skipped(&self) -> Option<Skipped> {
        let state = self.bytes().get(STATE_AT)?.checked_sub(SKIPPED)?;
        Skipped::ALL.get(usize::from(state)).copied()
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn symbols_count(&self) -> usize {
        self.header(0).min(SYMBOLS_PER_FILE_MAX)
    }

    pub fn containers_count(&self) -> usize {
        self.header(1).min(SYMBOLS_PER_FILE_MAX)
    }

    /// Reads a count, which may be garbage.
    fn header(&self, index: usize) -> usize {
        self.fixed(index * 4).unwrap_or_default().min(self.bytes().len() / 4)
    }

    fn fixed(&self, at: usize) -> Option<usize> {
        let bytes = self.bytes().get(at..at.checked_add(4)?)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?) as usize)
    }

    pub fn head(&self, index: usize) -> Option<Head<'_>> {
        self.head_of(index, &mut self.reader(index)?)
    }

    pub fn name(&self, index: usize) -> Option<&str> {
        self.reader(index)?.text()
    }

    fn head_of<'a>(&'a self, index: usize, reader: &mut Reader<'a>) -> Option<Head<'a>> {
        let container = match self.container_of(index)? {
            0 => None,
            number => Some(self.container(usize::from(number) - 1)?),
        };
        let name = reader.text()?;
        let kind = kind(reader)?;
        Some(Head { name, container, kind, visibility: visibility(reader)? })
    }

    /// The container of a symbol, counted from 1, or 0 if there is none.
    pub fn container_of(&self, index: usize) -> Option<u16> {
        let at = HEADER_BYTES + (self.symbols_count() + self.containers_count()) * 4 + index * 2;
        let bytes = self.bytes().get(at..at.checked_add(2)?)?;
        Some(u16::from_le_bytes(bytes.try_into().ok()?))
    }

    pub fn container(&self, index: usize) -> Option<&str> {
        let at = self.fixed(HEADER_BYTES + (self.symbols_count() + index) * 4)?;
        Reader::new(self.bytes().get(at..)?).text()
    }

    /// The kind and signature of a symbol.
    pub fn line(&self, index: usize) -> Option<(Kind, &str)> {
        let mut reader = self.reader(index)?;
        reader.text()?;
        let kind = kind(&mut reader)?;
        visibility(&mut reader)?;
        reader.small()?;
        reader.small()?;
        Some((kind, reader.text()?))
    }

    pub fn symbol(&self, language: Language, index: usize) -> Option<Symbol> {
        let mut reader = self.reader(index)?;
        let head = self.head_of(index, &mut reader)?;
        let first = reader.small()?;
        let last = first.checked_add(reader.small()?)?;
        let signature = reader.text()?.into();
        let doc = Some(reader.text()?).filter(|it| !it.is_empty()).map(Into::into);
        let members = (0..reader.count()?).map(|_| member(&mut reader)).collect::<Option<_>>()?;
        Some(Symbol {
            language,
            kind: head.kind,
            visibility: head.visibility,
            name: head.name.into(),
            container: head.container.map(Into::into),
            signature,
            members,
            doc,
            lines: (first, last),
        })
    }

    pub fn imports(&self) -> Vec<Import> {
        let read = || {
            let at = self.fixed(IMPORTS_AT)?;
            let mut reader = Reader::new(self.bytes().get(at..)?);
            let count = reader.count()?;
            let mut imports = Vec::new();
            for _ in 0..count {
                imports.push(import(&mut reader)?);
            }
            Some(imports)
        };
        read().unwrap_or_default()
    }

    /// The functions in a container. Other symbols are not decoded, because a generated file has
    /// tens of thousands.
    pub fn callables(&self, container: &str) -> Vec<usize> {
        let (mut low, mut high) = (0, self.containers_count());
        while low < high {
            let middle = usize::midpoint(low, high);
            match self.container(middle) {
                Some(it) if it < container => low = middle + 1,
                Some(it) if it == container => return self.callables_in(middle),
                Some(_) | None => high = middle,
            }
        }
        Vec::new()
    }

    fn callables_in(&self, container: usize) -> Vec<usize> {
        let count = self.symbols_count();
        let bytes = self.bytes().get(HEADER_BYTES..).unwrap_or_default();
        let (places, rest) = bytes.split_at_checked(count * 4).unwrap_or_default();
        let containers = rest.get(self.containers_count() * 4..).unwrap_or_default();
        let number = u16::try_from(container + 1).map_or([0; 2], u16::to_le_bytes);
        let both = places.chunks_exact(4).zip(containers.chunks_exact(2)).enumerate();
        both.filter_map(|(index, (place, it))| {
            (it == number && place[3] & CALLABLE != 0).then_some(index)
        })
        .collect()
    }

    fn reader(&self, index: usize) -> Option<Reader<'_>> {
        let entry = HEADER_BYTES.checked_add(index.checked_mul(4)?)?;
        let entry: [u8; 4] = self.bytes().get(entry..entry.checked_add(4)?)?.try_into().ok()?;
        let [a, b, c, d] = entry;
        let at = u32::from_le_bytes([a, b, c, d & !CALLABLE]) as usize;
        self.bytes().get(at..).map(Reader::new)
    }
}

/// The index of a kind in declaration order.
fn number_of(kind: Kind) -> u8 {
    kind as u8
}

fn number_of_visibility(visibility: Visibility) -> u8 {
    match visibility {
        Visibility::Public => 0,
        Visibility::Restricted => 1,
        Visibility::Private => 2,
    }
}

fn visibility(reader: &mut Reader<'_>) -> Option<Visibility> {
    match reader.byte()? {
        0 => Some(Visibility::Public),
        1 => Some(Visibility::Restricted),
        2 => Some(Visibility::Private),
        _ => None,
    }
}

fn kind(reader: &mut Reader<'_>) -> Option<Kind> {
    Kind::ALL.get(usize::from(reader.byte()?)).copied()
}

fn member(reader: &mut Reader<'_>) -> Option<Member> {
    Some(Member { kind: kind(reader)?, text: reader.text()?.into() })
}

fn import(reader: &mut Reader<'_>) -> Option<Import> {
    let (line, text, module) = (reader.small()?, reader.text()?.into(), reader.text()?.into());
    let count = reader.count()?;
    let mut names = Vec::new();
    for _ in 0..count {
        names.push(reader.text()?.to_owned());
    }
    let count = reader.count()?;
    let mut aliases = Vec::new();
    for _ in 0..count {
        aliases.push((reader.text()?.to_owned(), reader.text()?.to_owned()));
    }
    Some(Import { line, text, module, names, aliases })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extract;
    use proptest::prelude::*;

    const SOURCE: &str = "use core::auth::{Validator as V, self};\n\
        /// Checks tokens.\npub struct Gate { pub token: String, limit: u32 }\n\
        impl Gate { pub fn open(&self, key: &str) -> bool { true } }\n\
        pub(crate) enum Mode { Fast, Slow(u8) }\nfn inner() {}\n";

    fn unpacked(packed: &Packed) -> Vec<Symbol> {
        let indexes = 0..packed.symbols_count();
        indexes.filter_map(|it| packed.symbol(Language::Rust, it)).collect()
    }

    fn packed() -> Packed {
        extract::packed(Language::Rust, SOURCE.as_bytes()).packed
    }

    #[test]
    fn packing_round_trips() {
        let (symbols, imports) = (unpacked(&packed()), packed().imports());
        let mut again = Packing::default();
        for it in &symbols {
            let (container, doc) = (it.container.as_deref(), it.doc.as_deref());
            let (kind, visibility) = (it.kind, it.visibility);
            again.symbol(&Entry {
                head: Head { name: &it.name, container, kind, visibility },
                lines: it.lines,
                signature: &it.signature,
                doc: doc.unwrap_or_default(),
                members: &it.members,
            });
        }
        for it in &imports {
            again.import(it);
        }
        assert!(symbols.len() >= 4 && !imports.is_empty(), "{symbols:?}");
        assert_eq!(again.finish(false).bytes(), packed().bytes());
    }

    #[test]
    fn callables_of_a_container_are_found() {
        let source = "struct B; impl B { fn b() {} const C: u8 = 1; }\nimpl A { fn a() {} }\n\
            fn b() {}\nmod c { fn d() {} }\nimpl B { fn e() {} }\n";
        let packed = extract::packed(Language::Rust, source.as_bytes()).packed;
        let names = |container: &str| {
            let named = |it: usize| packed.head(it).unwrap().name.to_owned();
            packed.callables(container).into_iter().map(named).collect::<Vec<_>>()
        };
        assert_eq!(names("B"), ["b", "e"]);
        assert_eq!(names("A"), ["a"]);
        assert_eq!(names("c"), ["d"]);
        assert_eq!(names("b"), [""; 0]);
        assert_eq!(packed.line(packed.callables("B")[1]), Some((Kind::Method, "fn e()")));
    }

    #[test]
    fn a_file_without_symbols_has_only_a_state() {
        let empty = Packing::default().finish(false);
        assert_eq!(empty.bytes(), Packed::without_symbols(WHOLE).bytes());
        assert!(!empty.is_broken() && empty.why_skipped().is_none());
        assert!(Packing::default().finish(true).is_broken());
        for why in Skipped::ALL {
            let skipped = Packed::skipped(*why);
            assert_eq!(skipped.why_skipped(), Some(*why));
            assert!(!skipped.is_broken() && skipped.imports().is_empty());
            assert_eq!(skipped.symbols_count(), 0);
        }
    }

    #[test]
    fn files_can_share_a_block() {
        let sources = ["fn a() {}", "", "use b::c;\nfn d() {}"];
        let all: Vec<Packed> = sources
            .map(|it| extract::packed(Language::Rust, it.as_bytes()).packed)
            .into_iter()
            .collect();
        let named = |it: &Packed| unpacked(it).iter().map(|it| it.name.to_string()).collect();
        let names: Vec<Vec<String>> = all.iter().map(named).collect();
        assert_eq!(names, [vec!["a".to_owned()], vec![], vec!["d".to_owned()]]);
        assert_eq!(all.iter().map(|it| it.imports().len()).collect::<Vec<_>>(), [0, 0, 1]);
    }

    #[test]
    fn every_kind_is_numbered_in_declaration_order() {
        for (number, kind) in Kind::ALL.iter().enumerate() {
            assert_eq!(usize::from(number_of(*kind)), number, "{kind:?}");
        }
    }

    proptest! {
        #[test]
        fn garbage_is_handled(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20), cut in any::<prop::sample::Index>()) {
            let mut bytes = packed().bytes().to_vec();
            for (at, value) in changes {
                let at = at.index(bytes.len());
                bytes[at] = value;
            }
            bytes.truncate(cut.index(bytes.len()));
            let packed = Packed::new(bytes.into());
            for it in unpacked(&packed) {
                packed.callables(&it.qualified());
            }
            (0..=packed.symbols_count()).for_each(|it| { packed.line(it); });
            packed.imports();
        }
    }
}
