//! Estimates the rank of a symbol without unpacking it, for names that thousands of symbols share.
//!
//! A path is read only if it contains a relevant name. Afterwards, the best candidates are compared
//! in full.

use super::{
    hints::{Hints, without_extension},
    names::QualifiedName,
    rank::is_in,
};
use crate::{
    Language,
    index::{Names, Sought, State, View},
    table::{Posting, Slot},
};
use std::cell::Cell;

/// Smaller values are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Guess(u64);

impl Guess {
    /// An estimate without hints about the caller.
    pub fn of_rank(posting: &Posting) -> Self {
        OfFile(0).guess(posting)
    }
}

/// The part of the estimate that all symbols of a file share.
#[derive(Clone, Copy, Debug)]
struct OfFile(u64);

impl OfFile {
    /// Combines the criteria of the full comparison, in the same order, into one number.
    fn new(qualified: u32, hinted: usize, is_same_family: bool, near: u32) -> Self {
        let qualified = 0xff - u64::from(qualified.min(0xff));
        let hinted = 0xffff - hinted.min(0xffff) as u64;
        let near = 0xff - u64::from(near.min(0xff));
        let is_foreign = u64::from(!is_same_family);
        Self(qualified << 40 | hinted << 24 | is_foreign << 16 | near << 8)
    }

    fn guess(self, posting: &Posting) -> Guess {
        Guess((self.0 | u64::from(posting.rank)) << 8 | u64::from(posting.path_length))
    }
}

pub struct Scout<'a> {
    state: &'a State,
    hints: &'a Hints,
    /// The required path, or empty if there is no constraint.
    path: &'a str,
    of_path: Names,
    qualifiers: Names,
    hinting: Names,
    /// For each language, whether the caller can use its files.
    kin: Vec<bool>,
    view: View,
    /// The files of the caller.
    own: Vec<Slot>,
    /// The last file and its estimate. Symbols of one file are mostly adjacent.
    last: Cell<Option<(Slot, Option<OfFile>)>>,
}

impl<'a> Scout<'a> {
    pub fn new(state: &'a State, wanted: &'a QualifiedName, hints: &'a Hints) -> Self {
        let mut sought = Sought::default();
        let qualifiers = wanted.qualifiers.iter().fold(0, |all, it| all | sought.add(it));
        let files = hints.files.iter().filter_map(|it| it.rsplit('/').next());
        let modules = hints.modules.iter().filter_map(|it| it.last().map(String::as_str));
        let hinting = modules.chain(files).fold(0, |all, it| all | sought.add(it));
        let last = wanted.path.rsplit('/').next().filter(|it| !it.is_empty());
        let of_path = last.map_or(0, |it| sought.add(it) | sought.add(without_extension(it)));
        let view = state.places().view(sought, &hints.from);
        let own = hints.from.iter().filter_map(|it| state.slot(&it.join("/"))).collect();
        let kin = Language::ALL.iter().map(|it| hints.is_same_family(*it)).collect();
        let (path, last) = (wanted.path.as_str(), Cell::new(None));
        Self { state, hints, path, of_path, qualifiers, hinting, kin, view, own, last }
    }

    /// Returns `None` if the symbol cannot match.
    pub fn guess(&self, posting: &Posting) -> Option<Guess> {
        let of_file = match self.last.get() {
            Some((file, known)) if file == posting.file => known,
            Some(_) | None => {
                let found = self.of_file(posting);
                self.last.set(Some((posting.file, found)));
                found
            }
        };
        of_file.map(|it| it.guess(posting))
    }

    fn of_file(&self, posting: &Posting) -> Option<OfFile> {
        let place = self.state.places().of(posting.file)?;
        let (names, near) = self.view.of(place);
        let near = near + u32::from(self.own.contains(&posting.file));
        let is_same_family = self.kin[place.language as usize];
        let is_any = self.path.is_empty() && self.state.pending().is_empty();
        if names == 0 && is_any {
            return Some(OfFile::new(0, 0, is_same_family, near));
        }
        if !self.path.is_empty() && names & self.of_path == 0 {
            return None;
        }
        let path = &*self.state.file_of(posting)?.path;
        if !is_in(path, self.path) {
            return None;
        }
        let qualified = (names & self.qualifiers).count_ones();
        let hinted = if names & self.hinting > 0 { self.hints.score(path) } else { 0 };
        Some(OfFile::new(qualified, hinted, is_same_family, near))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::Shape;

    #[test]
    fn estimates_are_ordered_by_weight() {
        let shape = Shape::of("gate");
        let of = |rank, path_length| Posting {
            name: 0,
            rank,
            path_length,
            file: 0,
            symbol: 0,
            owner: 0,
            shape,
        };
        let guesses = [
            OfFile::new(2, 0, false, 0).guess(&of(255, 255)),
            OfFile::new(1, 1_000, false, 0).guess(&of(255, 255)),
            OfFile::new(1, 3, true, 0).guess(&of(255, 255)),
            OfFile::new(1, 3, false, 4).guess(&of(255, 255)),
            OfFile::new(1, 3, false, 3).guess(&of(0, 9)),
            OfFile::new(1, 3, false, 3).guess(&of(0, 10)),
            OfFile::new(1, 3, false, 3).guess(&of(1, 9)),
            OfFile::new(0, usize::MAX, true, u32::MAX).guess(&of(0, 0)),
        ];
        assert!(guesses.is_sorted_by(|a, b| a < b), "{guesses:?}");
    }
}
