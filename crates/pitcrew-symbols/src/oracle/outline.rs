//! Outlines a file: one line for each symbol.

use super::text::OneLine;
use crate::{
    FileSymbols, Language, Parsed, Parser, Request, Skipped, Symbol,
    source::{Read, Root},
};
use std::{cmp::Reverse, fmt::Write as _, path::Path};

/// The maximum number of lines in one outline.
const LINES_MAX: usize = 500;

/// The definitions of a file in a checkout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outline {
    /// `None` if the file is not a source.
    pub language: Option<Language>,
    /// In file order.
    pub symbols: Vec<Symbol>,
    /// The reason if the file is not indexed.
    pub skipped: Option<Skipped>,
    /// The outline as text.
    pub text: String,
}

/// Returns `None` if there is no such file below the root.
pub fn outline(root: &Path, path: &str, parser: &dyn Parser) -> Option<Outline> {
    outline_with(root, path, |language, content| parser.parse(&Request::File { language, content }))
}

/// Like `outline`, with the given function as parser.
pub fn outline_with(
    root: &Path,
    path: &str,
    parse: impl FnOnce(Language, &[u8]) -> Parsed,
) -> Option<Outline> {
    let mut buffer = Vec::new();
    let read = Root::open(root)?.read(path, &mut buffer)?;
    let language = Language::of(Path::new(path));
    let path = OneLine(path);
    let (Some(language), Some(content)) = (language, read.content) else {
        let text = no_source(path, &read, language);
        let skipped = language.map(|_| Skipped::TooLarge);
        return Some(Outline { language, symbols: Vec::new(), skipped, text });
    };
    let mut file = FileSymbols::from(parse(language, content));
    file.symbols.sort_by_key(|it| (it.lines.0, Reverse(it.lines.1)));
    let (count, language_name) = (lines_count(content), language.name());
    let noun = if count == 1 { "line" } else { "lines" };
    let title = format!("{path} ({language_name}, {count} {noun})\n");
    let text = title + &lines(&file);
    Some(Outline { language: Some(language), symbols: file.symbols, skipped: file.skipped, text })
}

fn lines(file: &FileSymbols) -> String {
    let mut text = String::new();
    for symbol in file.symbols.iter().take(LINES_MAX) {
        write_symbol(&mut text, symbol);
    }
    if file.symbols.len() > LINES_MAX {
        let _ = writeln!(text, "and {} more", file.symbols.len() - LINES_MAX);
    }
    match (file.skipped, file.broken) {
        (Some(why), _) => {
            let _ = writeln!(text, "it is not indexed: {}", why.reason());
        }
        (None, true) => text.push_str("parts of it cannot be understood\n"),
        (None, false) if file.symbols.is_empty() => text.push_str("it defines nothing\n"),
        (None, false) => {}
    }
    text
}

fn write_symbol(text: &mut String, symbol: &Symbol) {
    let container = symbol.container.as_deref();
    let depth = container.map_or(0, |it| it.split(symbol.language.separator()).count());
    let (first, last) = symbol.lines;
    let lines = format!("{first}-{last}");
    let indent = depth.min(8) * 2;
    let _ = writeln!(text, "{lines:>9}  {:indent$}{}", "", OneLine(&symbol.signature));
}

fn no_source(path: OneLine<'_>, read: &Read<'_>, language: Option<Language>) -> String {
    let bytes = read.stamp.size;
    match (read.content, language) {
        (None, Some(_)) => format!("{path}: {bytes} bytes, too large to be read\n"),
        (Some(content), _) if !content.contains(&0) => {
            let lines_count = lines_count(content);
            format!("{path}: no source that can be read, {lines_count} lines, {bytes} bytes\n")
        }
        (Some(_) | None, _) => format!("{path}: no source that can be read, {bytes} bytes\n"),
    }
}

fn lines_count(content: &[u8]) -> usize {
    let ends = content.iter().filter(|it| **it == b'\n').count();
    ends + usize::from(content.last().is_some_and(|it| *it != b'\n'))
}
