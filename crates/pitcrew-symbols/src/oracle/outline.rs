//! What a file has in it: one line for each symbol.

use super::text::one_line;
use crate::{
    Language, Skipped, Symbol,
    digest::Key,
    index::whatever_happens,
    pack::Packed,
    pool::Pool,
    source::{Read, Root},
};
use std::{fmt::Write as _, path::Path};

/// Lines of one outline.
const LINES_MAX: usize = 500;

/// None where there is no such file.
pub fn outline(root: &Path, pool: &Pool, path: &str) -> Option<String> {
    let read = Root::open(root)?.read(path)?;
    let Some(language) = Language::of(Path::new(path)) else {
        return Some(no_source(path, &read));
    };
    let Some(content) = &read.content else {
        return Some(format!("{path}: {} bytes, too large to be read\n", read.stamp.size));
    };
    let key = Key::of(language, content);
    let packed = pool.get_or_parse(key, || Packed::new(&whatever_happens(language, content)));
    let lines_count = lines_count(content);
    let mut text = format!("{path} ({}, {lines_count} lines)\n", language.name());
    let mut symbols: Vec<Symbol> = packed.symbols(language).collect();
    symbols.sort_by_key(|it| (it.lines.0, std::cmp::Reverse(it.lines.1)));
    for symbol in symbols.iter().take(LINES_MAX) {
        write_symbol(&mut text, symbol);
    }
    if symbols.len() > LINES_MAX {
        let _ = writeln!(text, "and {} more", symbols.len() - LINES_MAX);
    }
    match packed.flags() {
        (_, Some(Skipped::TooLarge)) => text.push_str("it is too large to be read\n"),
        (_, Some(Skipped::TooSlow)) => text.push_str("it takes too long to be read\n"),
        (true, None) => text.push_str("parts of it cannot be understood\n"),
        (false, None) if symbols.is_empty() => text.push_str("it defines nothing\n"),
        (false, None) => {}
    }
    Some(text)
}

fn write_symbol(text: &mut String, symbol: &Symbol) {
    let depth =
        symbol.container.as_deref().map_or(0, |it| it.split(symbol.language.separator()).count());
    let (first, last) = symbol.lines;
    let lines = format!("{first}-{last}");
    let indent = depth.min(8) * 2;
    let _ = writeln!(text, "{lines:>9}  {:indent$}{}", "", one_line(&symbol.signature));
}

fn no_source(path: &str, read: &Read) -> String {
    let bytes = read.stamp.size;
    match &read.content {
        Some(content) if !content.contains(&0) => {
            let lines_count = lines_count(content);
            format!("{path}: no source that can be read, {lines_count} lines, {bytes} bytes\n")
        }
        Some(_) | None => format!("{path}: no source that can be read, {bytes} bytes\n"),
    }
}

fn lines_count(content: &[u8]) -> usize {
    let ends = content.iter().filter(|it| **it == b'\n').count();
    ends + usize::from(content.last().is_some_and(|it| *it != b'\n'))
}
