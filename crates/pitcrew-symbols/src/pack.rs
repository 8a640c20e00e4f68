//! The symbols of one file as bytes, in memory and on disk.
//!
//! A symbol takes about as many bytes as its texts have, and each can be read without the others.
//!
//! ```text
//! symbols_count:u32  imports_at:u32  symbol_at:u32 ...  symbol ...  import ...
//! ```

use crate::{
    FileSymbols, Import, Kind, Language, Member, Symbol, Visibility,
    bytes::{Reader, Writer},
};
use std::sync::Arc;

/// More of one file are not kept; it was made by a program.
pub const SYMBOLS_PER_FILE_MAX: usize = u16::MAX as usize;

const HEADER_BYTES: usize = 8;
/// In the last byte of a symbol's place: it is a function that stands in something.
const CALLABLE: u8 = 0x80;

/// The symbols of one file; a part of a larger buffer where they come from disk.
#[derive(Clone, Debug)]
pub struct Packed {
    buffer: Arc<Vec<u8>>,
    start: usize,
    end: usize,
}

/// What the table needs to know of a symbol.
pub struct Head<'a> {
    pub name: &'a str,
    pub container: Option<&'a str>,
    pub kind: Kind,
    pub visibility: Visibility,
}

impl Packed {
    pub fn new(file: &FileSymbols) -> Self {
        let bytes = pack(file);
        Self { start: 0, end: bytes.len(), buffer: Arc::new(bytes) }
    }

    /// A part of a buffer, which may be garbage.
    pub fn within(buffer: &Arc<Vec<u8>>, start: usize, end: usize) -> Option<Self> {
        buffer.get(start..end)?;
        Some(Self { buffer: buffer.clone(), start, end })
    }

    pub fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
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

fn pack(file: &FileSymbols) -> Vec<u8> {
    let symbols = &file.symbols[..file.symbols.len().min(SYMBOLS_PER_FILE_MAX)];
    let mut writer = Writer::default();
    writer.fixed(short(symbols.len()));
    writer.fixed(0);
    writer.bytes.resize(HEADER_BYTES + symbols.len() * 4, 0);
    for (index, symbol) in symbols.iter().enumerate() {
        let mut at = short(writer.bytes.len()).to_le_bytes();
        if symbol.container.is_some() && matches!(symbol.kind, Kind::Method | Kind::Function) {
            at[3] |= CALLABLE;
        }
        writer.bytes[HEADER_BYTES + index * 4..][..4].copy_from_slice(&at);
        write_symbol(&mut writer, symbol);
    }
    let at = short(writer.bytes.len()).to_le_bytes();
    writer.bytes[4..8].copy_from_slice(&at);
    writer.count(file.imports.len());
    for import in &file.imports {
        write_import(&mut writer, import);
    }
    writer.bytes.shrink_to_fit();
    writer.bytes
}

/// A place or a number; its highest bit is free.
fn short(value: usize) -> u32 {
    let value = i32::try_from(value).expect("a file is limited, and so are its symbols");
    value.unsigned_abs()
}

fn write_symbol(writer: &mut Writer, symbol: &Symbol) {
    writer.text(&symbol.name);
    writer.text(symbol.container.as_deref().unwrap_or_default());
    writer.byte(number_of(symbol.kind));
    writer.byte(match symbol.visibility {
        Visibility::Public => 0,
        Visibility::Restricted => 1,
        Visibility::Private => 2,
    });
    writer.number(symbol.lines.0.into());
    writer.number(symbol.lines.1.saturating_sub(symbol.lines.0).into());
    writer.text(&symbol.signature);
    writer.text(symbol.doc.as_deref().unwrap_or_default());
    writer.count(symbol.members.len());
    for member in &symbol.members {
        writer.byte(number_of(member.kind));
        writer.text(&member.text);
    }
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

fn number_of(kind: Kind) -> u8 {
    let index = Kind::ALL.iter().position(|it| *it == kind).expect("it is one of all");
    u8::try_from(index).expect("there are few")
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

    #[test]
    fn what_is_packed_is_unpacked() {
        let file = extract(Language::Rust, SOURCE.as_bytes());
        assert!(file.symbols.len() >= 4 && !file.imports.is_empty(), "{file:?}");
        let packed = Packed::new(&file);
        assert_eq!(unpacked(&packed), file.symbols);
        assert_eq!(packed.imports(), file.imports);
    }

    proptest! {
        #[test]
        fn garbage_is_survived(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20), cut in any::<prop::sample::Index>()) {
            let mut bytes = pack(&extract(Language::Rust, SOURCE.as_bytes()));
            for (at, value) in changes {
                let at = at.index(bytes.len());
                bytes[at] = value;
            }
            bytes.truncate(cut.index(bytes.len()));
            let buffer = Arc::new(bytes);
            let packed = Packed::within(&buffer, 0, buffer.len()).expect("it is inside");
            unpacked(&packed);
            packed.imports();
        }
    }
}
