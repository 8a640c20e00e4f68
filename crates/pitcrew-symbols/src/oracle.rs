//! Answers questions about symbols: signature, fields, doc line and place, best match first.
//!
//! A question is a name, a qualified name, a path with a name, an import line, or words with names
//! in them. Nothing here guesses: what is told was read, and what is not there is said not to be.

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
pub use outline::{Outline, outline};

use crate::{Symbol, index::State};
use question::Asked;

/// Matches that are told in full.
pub const MATCHES_MAX: usize = 5;

/// What somebody wants to know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Question<'a> {
    pub symbol: &'a str,
    /// Where it is used or imported: lines of source, or paths.
    pub context: &'a str,
    /// The path or the region of whoever asks.
    pub from: Option<&'a str>,
}

/// What is known about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Best first; empty where nothing was found.
    pub matches: Vec<Match>,
    /// Matches beyond those.
    pub more_count: usize,
    /// For whoever asked.
    pub text: String,
    /// Names that may have been meant, where nothing was found.
    pub nearest: Vec<String>,
    /// What did not have to be read: the file of the best match, without this answer.
    pub bytes_saved: u64,
}

/// One symbol and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    pub path: String,
    pub symbol: Symbol,
    /// Of the content that this was read from. Another one is another answer.
    pub digest: String,
    /// Of the whole file.
    pub file_bytes: u64,
}

/// The names that a question asks for.
pub fn names_of(question: &Question<'_>) -> Vec<String> {
    let asked = Asked::new(question, Vec::new());
    let mut names: Vec<String> =
        asked.wanted.first().into_iter().flatten().map(|it| it.name.clone()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Answers from what is known.
pub fn answer(state: &State, question: &Question<'_>) -> Answer {
    let asker = question.from.and_then(|it| state.file(it));
    let asked = Asked::new(question, asker.map(|it| it.packed.imports()).unwrap_or_default());
    for wanted in &asked.wanted {
        let found = rank::matches(state, wanted, &asked.hints);
        if !found.best.is_empty() {
            return text::found(state, &found);
        }
    }
    let nearest = nearest::names(state, &asked);
    text::not_found(question.symbol, nearest)
}
