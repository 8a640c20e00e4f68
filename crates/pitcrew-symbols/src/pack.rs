//! The symbols of one file as bytes, in memory and on disk.
//!
//! A symbol takes about as many bytes as its texts have, and each can be read without the others.
//!
//! ```text
//! symbols_count:u32  imports_at:u32  symbol_at:u32 ...  symbol ...  import ...
//! ```

use crate::{
    Import, Kind, Language, Member, Symbol, Visibility,
    bytes::{Reader, Writer},
};
use bytes::{Bytes, BytesMut};
use std::collections::HashSet;

/// More of one file are not kept; it was made by a program.
pub const SYMBOLS_PER_FILE_MAX: usize = u16::MAX as usize;

const HEADER_BYTES: usize = 8;
/// In the last byte of a symbol's place: it is a function that stands in something.
const CALLABLE: u8 = 0x80;
const CALLABLE_BIT: u32 = (CALLABLE as u32) << 24;
const BLOCK_BYTES: usize = 256 << 10;

/// The symbols of one file, in a part of what holds many.
#[derive(Clone, Debug)]
pub struct Packed {
    bytes: Bytes,
}

/// What the table needs to know of a symbol.
#[derive(Clone, Copy)]
pub struct Head<'a> {
    pub name: &'a str,
    pub container: Option<&'a str>,
    pub kind: Kind,
    pub visibility: Visibility,
}

/// One symbol that is packed.
pub struct Entry<'a> {
    pub head: Head<'a>,
    /// First and last line, 1-based.
    pub lines: (u32, u32),
    pub signature: &'a str,
    pub doc: &'a str,
    pub members: &'a [Member],
}

impl Packed {
    /// Bytes that may be garbage.
    pub fn new(bytes: Bytes) -> Self {
        Self { bytes }
    }

    /// Of a file that defines nothing.
    pub fn empty() -> Self {
        Self { bytes: Bytes::from_static(&[0, 0, 0, 0, 8, 0, 0, 0, 0]) }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn symbols_count(&self) -> usize {
        let count = Reader::new(self.bytes()).fixed().map_or(0, |it| it as usize);
        // Garbage may say anything.
        count.min(self.bytes().len() / 4).min(SYMBOLS_PER_FILE_MAX)
    }

    pub fn head(&self, index: usize) -> Option<Head<'_>> {
        head(&mut self.reader(index)?)
    }

    pub fn symbol(&self, language: Language, index: usize) -> Option<Symbol> {
        let mut reader = self.reader(index)?;
        let head = head(&mut reader)?;
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
            let at = Reader::new(self.bytes().get(4..)?).fixed()? as usize;
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

    /// The functions that stand in something, without a look at everything else: a generated file has
    /// tens of thousands of symbols.
    pub fn callables(&self) -> impl Iterator<Item = usize> {
        let entries = self.bytes().get(HEADER_BYTES..).unwrap_or_default().chunks_exact(4);
        let flags = entries.take(self.symbols_count()).map(|it| it[3] & CALLABLE != 0);
        flags.enumerate().filter_map(|(index, is_callable)| is_callable.then_some(index))
    }

    fn reader(&self, index: usize) -> Option<Reader<'_>> {
        let entry = HEADER_BYTES.checked_add(index.checked_mul(4)?)?;
        let entry: [u8; 4] = self.bytes().get(entry..entry.checked_add(4)?)?.try_into().ok()?;
        let [a, b, c, d] = entry;
        let at = u32::from_le_bytes([a, b, c, d & !CALLABLE]) as usize;
        self.bytes().get(at..).map(Reader::new)
    }
}

/// Symbols and imports on their way to bytes, in the order in which they are found.
#[derive(Default)]
pub struct Packing {
    /// Where each symbol begins, and whether it is callable in its highest bit.
    places: Vec<u32>,
    symbols: Writer,
    imports: Writer,
    imports_count: usize,
    head: Writer,
    /// Takes what is done, of many files: one piece of memory for each would have the allocator
    /// sweep up what parsing has left, file by file.
    block: BytesMut,
}

impl Packing {
    pub fn symbols_count(&self) -> usize {
        self.places.len()
    }

    pub fn symbol(&mut self, entry: &Entry<'_>) {
        if self.places.len() == SYMBOLS_PER_FILE_MAX {
            return;
        }
        let head = entry.head;
        let is_callable = matches!(head.kind, Kind::Method | Kind::Function);
        let flag = if head.container.is_some() && is_callable { CALLABLE_BIT } else { 0 };
        let writer = &mut self.symbols;
        self.places.push(short(writer.bytes.len()) | flag);
        writer.text(head.name);
        writer.text(head.container.unwrap_or_default());
        writer.byte(number_of(head.kind));
        writer.byte(number_of_visibility(head.visibility));
        writer.number(entry.lines.0.into());
        writer.number(entry.lines.1.saturating_sub(entry.lines.0).into());
        writer.text(entry.signature);
        writer.text(entry.doc);
        writer.count(entry.members.len());
        for member in entry.members {
            writer.byte(number_of(member.kind));
            writer.text(&member.text);
        }
    }

    pub fn import(&mut self, import: &Import) {
        self.imports_count += 1;
        write_import(&mut self.imports, import);
    }

    /// Makes those public that stand in nothing and have one of these names.
    pub fn publish(&mut self, names: &HashSet<String>) {
        if names.is_empty() {
            return;
        }
        for place in &self.places {
            let start = (place & !CALLABLE_BIT) as usize;
            let mut reader = Reader::new(&self.symbols.bytes[start..]);
            let named = head(&mut reader)
                .is_some_and(|it| it.container.is_none() && names.contains(it.name));
            if named {
                let after = self.symbols.bytes.len() - reader.len();
                self.symbols.bytes[after - 1] = number_of_visibility(Visibility::Public);
            }
        }
    }

    /// What was found, in a part of this thread's block. The next file begins with nothing.
    pub fn finish(&mut self) -> Packed {
        let base = HEADER_BYTES + self.places.len() * 4;
        let imports_at = base + self.symbols.bytes.len();
        let head = &mut self.head;
        head.bytes.clear();
        head.fixed(short(self.places.len()));
        head.fixed(short(imports_at));
        for place in self.places.drain(..) {
            head.fixed(place + short(base));
        }
        let mut count = Writer::default();
        count.count(std::mem::take(&mut self.imports_count));
        let parts = [&head.bytes, &self.symbols.bytes, &count.bytes, &self.imports.bytes];
        let bytes_count = parts.iter().map(|it| it.len()).sum();
        if self.block.capacity() < bytes_count {
            self.block = BytesMut::with_capacity(bytes_count.max(BLOCK_BYTES));
        }
        for part in parts {
            self.block.extend_from_slice(part);
        }
        let bytes = self.block.split().freeze();
        for writer in [&mut self.symbols, &mut self.imports] {
            writer.bytes.clear();
            writer.bytes.shrink_to(BLOCK_BYTES);
        }
        Packed { bytes }
    }
}

/// A place or a number; its highest bit is free.
fn short(value: usize) -> u32 {
    let value = i32::try_from(value).expect("a file is limited, and so are its symbols");
    value.unsigned_abs()
}

fn write_import(writer: &mut Writer, import: &Import) {
    writer.number(import.line.into());
    writer.text(&import.text);
    writer.text(&import.module);
    writer.count(import.names.len());
    for name in &import.names {
        writer.text(name);
    }
    writer.count(import.aliases.len());
    for (there, here) in &import.aliases {
        writer.text(there);
        writer.text(here);
    }
}

/// Its place among all of them, which are in the order of their declaration.
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

fn head<'a>(reader: &mut Reader<'a>) -> Option<Head<'a>> {
    let name = reader.text()?;
    let container = Some(reader.text()?).filter(|it| !it.is_empty());
    let kind = kind(reader)?;
    let visibility = match reader.byte()? {
        0 => Visibility::Public,
        1 => Visibility::Restricted,
        2 => Visibility::Private,
        _ => return None,
    };
    Some(Head { name, container, kind, visibility })
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
    fn what_is_packed_is_unpacked() {
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
        assert_eq!(again.finish().bytes(), packed().bytes());
    }

    #[test]
    fn nothing_is_packed_as_nothing() {
        assert_eq!(Packing::default().finish().bytes(), Packed::empty().bytes());
    }

    #[test]
    fn files_share_a_block_and_nothing_else() {
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
    fn every_kind_has_the_number_of_its_place() {
        for (number, kind) in Kind::ALL.iter().enumerate() {
            assert_eq!(usize::from(number_of(*kind)), number, "{kind:?}");
        }
    }

    proptest! {
        #[test]
        fn garbage_is_survived(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20), cut in any::<prop::sample::Index>()) {
            let mut bytes = packed().bytes().to_vec();
            for (at, value) in changes {
                let at = at.index(bytes.len());
                bytes[at] = value;
            }
            bytes.truncate(cut.index(bytes.len()));
            let packed = Packed::new(bytes.into());
            unpacked(&packed);
            packed.imports();
        }
    }
}
