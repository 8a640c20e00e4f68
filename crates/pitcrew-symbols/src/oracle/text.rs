//! Renders answers as text, for people and for agents.

use super::{
    Answer, Match, SkippedFile,
    rank::{Hit, Matches},
};
use crate::{Kind, Symbol, index::State};
use std::fmt::{self, Write as _};

/// The maximum number of fields, variants, parameters and methods of the best match, and of the
/// others.
const MEMBERS_MAX: (usize, usize) = (40, 8);
/// The maximum number of files listed as not indexed in one answer.
const SKIPPED_MAX: usize = 4;
/// The maximum length of one line.
const LINE_BYTES_MAX: usize = 400;
/// The maximum length of all lines about one match.
const MATCH_BYTES_MAX: usize = 6_000;

pub fn found(state: &State, found: &Matches<'_>) -> Answer {
    let (mut text, mut matches) = (String::new(), Vec::new());
    for (index, hit) in found.best.iter().enumerate() {
        let Some(symbol) = hit.file.packed.symbol(hit.file.language, hit.index) else { continue };
        let members_max = if index == 0 { MEMBERS_MAX.0 } else { MEMBERS_MAX.1 };
        describe(&mut text, hit, &symbol, members_max);
        let (path, file_bytes) = (hit.file.path.to_string(), hit.file.stamp.size);
        matches.push(Match { path, symbol, digest: hit.file.key.to_string(), file_bytes });
    }
    if found.more_count > 0 {
        let count = found.more_count;
        let _ = writeln!(text, "and {count} more of that name; `path:name` asks for one of them");
    }
    if !state.pending().is_empty() {
        let count = state.pending().len();
        let _ = writeln!(text, "({count} files are still being read)");
    }
    let read = matches.first().map_or(0, |it| it.file_bytes);
    let bytes_saved = read.saturating_sub(text.len() as u64);
    Answer { matches, more_count: found.more_count, text, bytes_saved, ..Answer::default() }
}

/// The answer if nothing has this name, with similar names and the files that are not indexed.
pub fn not_found(symbol: &str, nearest: Vec<String>, skipped: Vec<SkippedFile>) -> Answer {
    let symbol = OneLine(symbol);
    let mut text =
        format!("Symbol '{symbol}' not found in workspace symbol tree or active agents.\n");
    if !nearest.is_empty() {
        let _ = writeln!(text, "Nearest names: {}", nearest.join(", "));
    }
    text.push_str(&not_indexed(&skipped));
    Answer { text, nearest, skipped, ..Answer::default() }
}

/// Lines about files that are not indexed.
pub fn not_indexed(files: &[SkippedFile]) -> String {
    let mut text = String::new();
    for file in files.iter().take(SKIPPED_MAX) {
        let _ = writeln!(text, "Not indexed: {}: {}", OneLine(&file.path), file.why.reason());
    }
    if files.len() > SKIPPED_MAX {
        let _ = writeln!(text, "Not indexed: {} more files", files.len() - SKIPPED_MAX);
    }
    text
}

fn describe(text: &mut String, hit: &Hit<'_>, symbol: &Symbol, members_max: usize) {
    let (kind, (first, last)) = (symbol.kind.word(), symbol.lines);
    let (name, path) = (OneLine(&symbol.name), OneLine(&hit.file.path));
    let _ = writeln!(text, "{kind} {name} ({path}:{first}-{last})");
    let start = text.len();
    if let Some(container) = &symbol.container {
        add(text, start, "in ", container);
    }
    add(text, start, "", &symbol.signature);
    let members = || symbol.members.iter().filter(|it| it.kind != Kind::Parameter);
    for member in members().take(members_max) {
        add_kind(text, start, member.kind, &member.text);
    }
    let members_count = members().count();
    let methods = methods(hit, symbol);
    for index in methods.iter().take(members_max.saturating_sub(members_count)) {
        if let Some((kind, signature)) = hit.file.packed.line(*index) {
            add_kind(text, start, kind, signature);
        }
    }
    let all_count = members_count + methods.len();
    if all_count > members_max {
        add(text, start, "", &format!("and {} more", all_count - members_max));
    }
    if let Some(doc) = &symbol.doc {
        add(text, start, "doc: ", doc);
    }
}

/// The methods of a type that are defined in the same file.
fn methods(hit: &Hit<'_>, symbol: &Symbol) -> Vec<usize> {
    if symbol.kind.is_type() { hit.file.packed.callables(&symbol.qualified()) } else { Vec::new() }
}

fn add_kind(text: &mut String, start: usize, kind: Kind, line: &str) {
    if text.len() - start < MATCH_BYTES_MAX {
        let _ = writeln!(text, "  {} {}", kind.word(), OneLine(line));
    }
}

fn add(text: &mut String, start: usize, before: &str, line: &str) {
    if text.len() - start < MATCH_BYTES_MAX {
        let _ = writeln!(text, "  {before}{}", OneLine(line));
    }
}

/// Renders text of a source so that it cannot imitate other lines of the answer.
#[derive(Clone, Copy)]
pub struct OneLine<'a>(pub &'a str);

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = &self.0[..self.0.floor_char_boundary(LINE_BYTES_MAX)];
        for (number, part) in text.split(char::is_control).enumerate() {
            f.write_str(if number > 0 { " " } else { "" })?;
            f.write_str(part)?;
        }
        f.write_str(if text.len() < self.0.len() { " ..." } else { "" })
    }
}
