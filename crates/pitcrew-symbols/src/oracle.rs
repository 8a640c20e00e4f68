//! Answers questions about symbols: signature, fields, doc line and location, best match first.
//!
//! A question is a name, a qualified name, a path with a name, an import line, or words with names
//! in them. Nothing here guesses: an answer contains only what is in a file.

mod question;
mod names;
mod hints;
mod rank;
mod scout;
mod nearest;
mod text;
mod outline;
mod cache;

pub use cache::Answers;
pub use hints::{shared, without_extension};
pub use names::segments;
pub use outline::{Outline, outline, outline_with};
pub use text::not_indexed;

use crate::{
    Parser, Skipped, Symbol,
    index::{File, State},
};
use question::ParsedQuestion;

/// The number of matches that are shown in full.
pub const MATCHES_MAX: usize = 5;

/// A question about a symbol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Question<'a> {
    pub symbol: &'a str,
    /// Where the symbol is used or imported: lines of source, or paths.
    pub context: &'a str,
    /// The path or the region of the caller.
    pub from: Option<&'a str>,
}

/// The answer to a question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Best first; empty if nothing was found.
    pub matches: Vec<Match>,
    /// The number of matches that are not in `matches`.
    pub more_count: usize,
    /// The answer as text.
    pub text: String,
    /// Similar names, if nothing was found.
    pub nearest: Vec<String>,
    /// Files that are not indexed, if nothing was found. The symbol may be in one of them.
    pub skipped: Vec<SkippedFile>,
    /// The size of the file of the best match, minus that of this answer.
    pub bytes_saved: u64,
}

/// A file that is not indexed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SkippedFile {
    pub path: String,
    pub why: Skipped,
}

/// One symbol and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    pub path: String,
    pub symbol: Symbol,
    /// Digest of the content that the symbol was read from.
    pub digest: String,
    /// The size of the whole file.
    pub file_bytes: u64,
}

/// The names in a question.
pub fn names_of(question: &Question<'_>, parser: &dyn Parser) -> Vec<String> {
    let asked = ParsedQuestion::new(question, Vec::new(), parser);
    let mut names: Vec<String> =
        asked.wanted.first().into_iter().flatten().map(|it| it.name.clone()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Answers from the indexed files.
pub fn answer(state: &State, question: &Question<'_>, parser: &dyn Parser) -> Answer {
    let asker = question.from.and_then(|it| state.file(it));
    let of_asker = asker.map(|it| it.packed.imports()).unwrap_or_default();
    let asked = ParsedQuestion::new(question, of_asker, parser);
    for wanted in &asked.wanted {
        let found = rank::matches(state, wanted, &asked.hints);
        if !found.best.is_empty() {
            return text::found(state, &found);
        }
    }
    let nearest = nearest::names(state, &asked);
    text::not_found(question.symbol, nearest, skipped(state))
}

/// The files that are not indexed, ordered by path.
fn skipped(state: &State) -> Vec<SkippedFile> {
    let of_file =
        |it: &File| Some(SkippedFile { path: it.path.to_string(), why: it.packed.why_skipped()? });
    let mut skipped: Vec<SkippedFile> = state.files().filter_map(of_file).collect();
    skipped.sort_unstable();
    skipped
}
