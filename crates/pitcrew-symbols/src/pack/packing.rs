//! Packs definitions into bytes, file by file.

use super::{
    BROKEN, CALLABLE_BIT, Entry, HEADER_BYTES, IMPORTS_AT, Packed, SYMBOLS_PER_FILE_MAX, WHOLE,
    number_of, number_of_visibility,
};
use crate::{
    Import, Kind, Visibility,
    bytes::{Reader, Writer},
};
use bytes::BytesMut;
use std::collections::{BTreeMap, HashSet};

const BLOCK_BYTES: usize = 256 << 10;

/// Symbols and imports that are being packed, in file order.
#[derive(Default)]
pub struct Packing {
    /// The position of each symbol. The highest bit marks callable symbols.
    places: Vec<u32>,
    /// The container of each symbol, numbered by first use, or 0 if there is none.
    owners: Vec<u16>,
    containers: BTreeMap<Box<str>, u16>,
    /// The container of the previous symbol.
    container: Box<str>,
    symbols: Writer,
    imports: Writer,
    imports_count: usize,
    head: Writer,
    /// Collects the packed form of many files. One allocation for each file would make the
    /// allocator merge the memory freed by parsing after every file.
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
        let owner = head.container.map_or(0, |it| self.owner(it));
        self.owners.push(owner);
        let writer = &mut self.symbols;
        self.places.push(short(writer.bytes.len()) | flag);
        writer.text(head.name);
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

    /// The number of a container. Most symbols have the same container as the one before.
    fn owner(&mut self, container: &str) -> u16 {
        if let Some(last) = self.owners.last()
            && *last > 0
            && *self.container == *container
        {
            return *last;
        }
        self.container = container.into();
        if let Some(known) = self.containers.get(container) {
            return *known;
        }
        let number = u16::try_from(self.containers.len() + 1).expect("each has a symbol");
        self.containers.insert(container.into(), number);
        number
    }

    /// Makes symbols without a container public if they have one of these names.
    pub fn publish(&mut self, names: &HashSet<String>) {
        if names.is_empty() {
            return;
        }
        for (place, owner) in self.places.iter().zip(&self.owners) {
            let start = (place & !CALLABLE_BIT) as usize;
            let mut reader = Reader::new(&self.symbols.bytes[start..]);
            let named = reader.text().is_some_and(|it| names.contains(it));
            if named && *owner == 0 {
                // The position after the name and the kind.
                let at = self.symbols.bytes.len() - reader.len() + 1;
                self.symbols.bytes[at] = number_of_visibility(Visibility::Public);
            }
        }
    }

    /// Returns the packed symbols in a part of this thread's block and resets the state for the
    /// next file.
    pub fn finish(&mut self, is_broken: bool) -> Packed {
        let Self { head, symbols, imports, .. } = self;
        let (symbols_count, containers_count) = (self.places.len(), self.containers.len());
        let base = HEADER_BYTES + (symbols_count + containers_count) * 4 + symbols_count * 2;
        head.bytes.clear();
        head.fixed(short(symbols_count));
        head.fixed(short(containers_count));
        head.fixed(0);
        head.fixed(u32::from(if is_broken { BROKEN } else { WHOLE }));
        for place in self.places.drain(..) {
            head.fixed(place + short(base));
        }
        let mut numbers = vec![0; containers_count + 1];
        for (number, (container, came)) in (1..).zip(std::mem::take(&mut self.containers)) {
            head.fixed(short(base + symbols.bytes.len()));
            symbols.text(&container);
            numbers[usize::from(came)] = number;
        }
        for came in self.owners.drain(..) {
            head.bytes.extend_from_slice(&u16::to_le_bytes(numbers[usize::from(came)]));
        }
        let imports_at = short(base + symbols.bytes.len());
        head.bytes[IMPORTS_AT..IMPORTS_AT + 4].copy_from_slice(&imports_at.to_le_bytes());
        symbols.count(std::mem::take(&mut self.imports_count));
        let parts = [&head.bytes, &symbols.bytes, &imports.bytes];
        let bytes_count = parts.iter().map(|it| it.len()).sum();
        if self.block.capacity() < bytes_count {
            self.block = BytesMut::with_capacity(bytes_count.max(BLOCK_BYTES));
        }
        for part in parts {
            self.block.extend_from_slice(part);
        }
        let bytes = self.block.split().freeze();
        for writer in [symbols, imports] {
            writer.bytes.clear();
            writer.bytes.shrink_to(BLOCK_BYTES);
        }
        Packed { bytes }
    }
}

/// A position or number whose highest bit is free.
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
