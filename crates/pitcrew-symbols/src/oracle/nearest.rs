//! Finds similar names.
//!
//! Every name is compared once, and most of them only by their letters, so the time is bounded by
//! the number of names.

use super::question::ParsedQuestion;
use crate::{digest::Shape, index::State};
use std::collections::BTreeSet;

/// The maximum number of names in one answer.
const NEAREST_MAX: usize = 5;
/// How much longer a name that contains the requested one may be.
const LONGER_MAX: usize = 16;
/// Longer names are not compared.
const NAME_BYTES_MAX: usize = Shape::LENGTH_MAX;
/// Names that contain the requested one rank after names with almost the same spelling.
const CONTAINS: usize = 2;

/// Returns the most similar names, best first.
pub fn names(state: &State, asked: &ParsedQuestion) -> Vec<String> {
    let mut found: BTreeSet<(usize, usize, String)> = BTreeSet::new();
    for wanted in asked.wanted.first().into_iter().flatten() {
        let spelling = Spelling::new(&wanted.name);
        for run in state.table().names(|it| spelling.may_be(it)) {
            let live = run.iter().find_map(|it| Some((it, state.file_of(it)?)));
            let Some((posting, file)) = live else { continue };
            let Some(name) = file.packed.name(usize::from(posting.symbol)) else { continue };
            if let Some(distance) = spelling.distance(name) {
                found.insert((distance, name.len(), name.to_owned()));
            }
            if found.len() > NEAREST_MAX * 2 {
                found.pop_last();
            }
        }
    }
    let mut names: Vec<String> = Vec::new();
    for (_, _, name) in found {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.truncate(NEAREST_MAX);
    names
}

struct Spelling {
    folded: Vec<u8>,
    shape: Shape,
    changes_max: usize,
}

impl Spelling {
    fn new(name: &str) -> Self {
        let folded = name.to_ascii_lowercase().into_bytes();
        let changes_max = (1 + folded.len() / 4).min(3);
        Self { shape: Shape::of(name), changes_max, folded }
    }

    /// Whether a name of this shape can be similar at all.
    fn may_be(&self, other: Shape) -> bool {
        let (length, own) = (other.length(), self.shape.length());
        if length.abs_diff(own) <= self.changes_max {
            let lacks = self.shape.lacks(other).max(other.lacks(self.shape));
            return lacks <= self.changes_max || self.shape.may_be_in(other);
        }
        length > own && length <= own + LONGER_MAX && self.shape.may_be_in(other)
    }

    /// The distance to a name, or `None` if it is too large.
    fn distance(&self, name: &str) -> Option<usize> {
        let name = name.to_ascii_lowercase().into_bytes();
        let spelt = changes(&self.folded, &name, self.changes_max);
        let own = &self.folded;
        let may_contain = own.len() > 2 && name.len() <= own.len() + LONGER_MAX;
        let contains = may_contain && name.windows(own.len()).any(|it| it == own);
        let begins = name.starts_with(own);
        match (spelt, contains) {
            (Some(changes), _) if changes <= 1 => Some(changes),
            (_, true) => Some(if begins { CONTAINS } else { CONTAINS + 1 }),
            (spelt, false) => spelt.map(|it| it + CONTAINS),
        }
    }
}

/// The number of letters to change, add, remove or swap, or `None` if it exceeds `max`.
fn changes(a: &[u8], b: &[u8], max: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > max || b.len() > NAME_BYTES_MAX {
        return None;
    }
    let mut rows = [[0_u8; NAME_BYTES_MAX + 1]; 3];
    for (column, changes) in (0..).zip(&mut rows[0]) {
        *changes = column;
    }
    for (row, letter) in a.iter().enumerate() {
        let [last, next, before] = &mut rows;
        next[0] = last[0] + 1;
        for (column, other) in b.iter().enumerate() {
            let changed = last[column] + u8::from(letter != other);
            let mut least = changed.min(last[column + 1] + 1).min(next[column] + 1);
            if row > 0 && column > 0 && *letter == b[column - 1] && a[row - 1] == *other {
                least = least.min(before[column - 1] + 1);
            }
            next[column + 1] = least;
        }
        if next[..=b.len()].iter().all(|it| usize::from(*it) > max) {
            return None;
        }
        rows.rotate_left(1);
    }
    Some(usize::from(rows[0][b.len()])).filter(|it| *it <= max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swapped_letters_are_one_change() {
        assert_eq!(changes(b"validator", b"valdiator", 3), Some(1));
        assert_eq!(changes(b"validator", b"validator", 3), Some(0));
        assert_eq!(changes(b"gate", b"gates", 3), Some(1));
        assert_eq!(changes(b"gate", b"mill", 3), None);
        assert_eq!(changes(b"", b"", 1), Some(0));
    }

    #[test]
    fn similar_names_pass_the_comparison_by_letters() {
        let asked = Spelling::new("AuthValidator");
        for name in ["authvalidator", "AuthValidater", "AuthValidators", "MyAuthValidator"] {
            assert!(asked.may_be(Shape::of(name)), "{name}");
            assert!(asked.distance(name).is_some(), "{name}");
        }
        assert_eq!(asked.distance("Gate"), None);
        assert!(!asked.may_be(Shape::of("Gate")));
    }
}
