//! What a file has in it: one line for each symbol.

use super::text::OneLine;
use crate::{
    FileSymbols, Language, Skipped, Symbol,
    index::whatever_happens,
    source::{Read, Root},
};
use std::{cmp::Reverse, fmt::Write as _, path::Path};

/// Lines of one outline.
const LINES_MAX: usize = 500;

/// What a file of a checkout defines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outline {
    /// None where it is no source.
    pub language: Option<Language>,
    /// In the order of the file.
    pub symbols: Vec<Symbol>,
    /// For whoever asked.
    pub text: String,
}

/// None where there is no such file below the root.
pub fn outline(root: &Path, path: &str) -> Option<Outline> {
    let mut buffer = Vec::new();
    let read = Root::open(root)?.read(path, &mut buffer)?;
    let language = Language::of(Path::new(path));
    let path = OneLine(path);
    let (Some(language), Some(content)) = (language, read.content) else {
        let text = no_source(path, &read, language);
        return Some(Outline { language, symbols: Vec::new(), text });
    };
    let mut file = FileSymbols::from(whatever_happens(language, content));
    file.symbols.sort_by_key(|it| (it.lines.0, Reverse(it.lines.1)));
    let (count, language_name) = (lines_count(content), language.name());
    let noun = if count == 1 { "line" } else { "lines" };
    let title = format!("{path} ({language_name}, {count} {noun})\n");
    let text = title + &lines(&file);
    Some(Outline { language: Some(language), symbols: file.symbols, text })
}

fn lines(file: &FileSymbols) -> String {
    let mut text = String::new();
    for symbol in file.symbols.iter().take(LINES_MAX) {
        write_symbol(&mut text, symbol);
    }
    if file.symbols.len() > LINES_MAX {
        let _ = writeln!(text, "and {} more", file.symbols.len() - LINES_MAX);
    }
    text.push_str(match (file.skipped, file.broken) {
        (Some(Skipped::TooLarge), _) => "it is too large to be read\n",
        (Some(Skipped::TooSlow), _) => "it takes too long to be read\n",
        (None, true) => "parts of it cannot be understood\n",
        (None, false) if file.symbols.is_empty() => "it defines nothing\n",
        (None, false) => "",
    });
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
