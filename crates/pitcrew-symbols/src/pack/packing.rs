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

/// Symbols and imports on their way to bytes, in the order in which they are found.
#[derive(Default)]
pub struct Packing {
    /// Where each symbol begins, and whether it is callable in its highest bit.
    places: Vec<u32>,
    /// What each symbol stands in, by the order in which containers came; 0 if that is nothing.
    owners: Vec<u16>,
    containers: BTreeMap<Box<str>, u16>,
    /// The one that came last.
    container: Box<str>,
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

    /// The number of a container. Most symbols stand where the one before does.
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

    /// Makes those public that stand in nothing and have one of these names.
    pub fn publish(&mut self, names: &HashSet<String>) {
        if names.is_empty() {
            return;
        }
        for (place, owner) in self.places.iter().zip(&self.owners) {
            let start = (place & !CALLABLE_BIT) as usize;
            let mut reader = Reader::new(&self.symbols.bytes[start..]);
            let named = reader.text().is_some_and(|it| names.contains(it));
            if named && *owner == 0 {
                // Behind the name and the kind.
                let at = self.symbols.bytes.len() - reader.len() + 1;
                self.symbols.bytes[at] = number_of_visibility(Visibility::Public);
            }
        }
    }

    /// What was found, in a part of this thread's block. The next file begins with nothing.
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
