//! Ranks the symbols of a name, best first.
//!
//! The criteria are qualifiers, imports, the language of the caller and the distance to it, then
//! visibility, definition before declaration, and the shorter path. The order is deterministic.

use super::{
    MATCHES_MAX,
    hints::{Hints, is_same, module_parts, without_extension},
    names::{self, QualifiedName},
    scout::{Guess, Scout},
};
use crate::{
    Kind,
    digest::{Shape, of_name},
    index::{File, State},
    table::Posting,
};
use std::cmp::Reverse;

/// The maximum number of symbols of one name that are compared in full.
const COMPARED_MAX: usize = 64;
/// The maximum for unqualified names with more symbols. Their estimate is wrong only if hashes
/// collide.
const GUESSED_MAX: usize = 16;

/// A candidate for the answer.
#[derive(Clone, Copy)]
pub struct Hit<'a> {
    pub file: &'a File,
    pub index: usize,
}

impl Hit<'_> {
    fn is_called(&self, name: &str) -> bool {
        self.file.packed.name(self.index) == Some(name)
    }
}

#[derive(Default)]
pub struct Matches<'a> {
    pub best: Vec<Hit<'a>>,
    pub more_count: usize,
}

/// Smaller values are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Worth {
    qualified: Reverse<usize>,
    hinted: Reverse<usize>,
    kin: Reverse<bool>,
    near: Reverse<usize>,
    rank: u8,
}

/// The best symbols for several names, looked up together.
pub fn matches<'a>(state: &'a State, wanted: &[QualifiedName], hints: &Hints) -> Matches<'a> {
    let each: Vec<Vec<Hit<'a>>> = wanted.iter().map(|it| ordered(state, it, hints)).collect();
    let all_count: usize =
        wanted.iter().zip(&each).map(|(it, found)| count(state, it, found)).sum();
    let share = MATCHES_MAX.div_ceil(each.iter().filter(|it| !it.is_empty()).count().max(1));
    let mut best: Vec<Hit<'a>> = Vec::new();
    for found in each {
        for hit in found.into_iter().take(share) {
            let is_same = |it: &Hit<'_>| it.file.path == hit.file.path && it.index == hit.index;
            if !best.iter().any(is_same) {
                best.push(hit);
            }
        }
    }
    best.truncate(MATCHES_MAX);
    let more_count = all_count.saturating_sub(best.len());
    Matches { best, more_count }
}

/// The number of matches, including symbols that were not compared in full.
fn count(state: &State, wanted: &QualifiedName, found: &[Hit<'_>]) -> usize {
    let all_count: usize = state.table().named(&wanted.name).iter().map(|it| it.len()).sum();
    if all_count <= COMPARED_MAX || !wanted.qualifiers.is_empty() || !wanted.path.is_empty() {
        return found.len();
    }
    state.live_count(&wanted.name)
}

fn ordered<'a>(state: &'a State, wanted: &QualifiedName, hints: &Hints) -> Vec<Hit<'a>> {
    let mut postings = likeliest(state, wanted, hints);
    let shape = Shape::of(&wanted.name);
    postings.retain(|it| it.shape == shape);
    let mut found: Vec<(Worth, &str, Hit<'a>)> = Vec::new();
    for posting in postings {
        let Some(file) = state.file_of(&posting) else { continue };
        let hit = Hit { file, index: usize::from(posting.symbol) };
        if !is_in(&file.path, &wanted.path) {
            continue;
        }
        let worth = Worth {
            qualified: Reverse(qualified(wanted, &hit)),
            hinted: Reverse(hints.score(&file.path)),
            kin: Reverse(hints.is_same_family(file.language)),
            near: Reverse(hints.nearness(&file.path)),
            rank: posting.rank,
        };
        found.push((worth, &*file.path, hit));
    }
    let all = wanted.qualifiers.len();
    if found.iter().any(|it| it.0.qualified.0 > 0) {
        // Keeps only the matches with the most qualifiers.
        let best = found.iter().map(|it| it.0.qualified.0).max().unwrap_or_default();
        found.retain(|it| it.0.qualified.0 == best);
    } else if all > 0 && is_known_type(state, &wanted.qualifiers[all - 1]) {
        return with_member(state, wanted, hints);
    }
    found.sort_unstable_by(|a, b| {
        let place = |it: &Hit<'_>| it.index;
        (a.0, a.1.len(), a.1, place(&a.2)).cmp(&(b.0, b.1.len(), b.1, place(&b.2)))
    });
    let mut found: Vec<Hit<'a>> = found.into_iter().map(|it| it.2).collect();
    // Unpacking a symbol is expensive, so only candidates for the answer are unpacked.
    let mut told_count = 0;
    found.retain(|it| {
        let is_it = told_count == MATCHES_MAX || it.is_called(&wanted.name);
        told_count += usize::from(is_it && told_count < MATCHES_MAX);
        is_it
    });
    found
}

/// The symbols of a name. If there are too many, only those that rank first by an estimate without
/// reading them.
fn likeliest(state: &State, wanted: &QualifiedName, hints: &Hints) -> Vec<Posting> {
    let runs = state.table().named(&wanted.name);
    if runs.iter().map(|it| it.len()).sum::<usize>() <= COMPARED_MAX {
        return runs.concat();
    }
    let is_plain = wanted.qualifiers.is_empty() && wanted.path.is_empty();
    let max = if is_plain { GUESSED_MAX } else { COMPARED_MAX };
    if is_plain && hints.is_empty() {
        let first = runs.into_iter().flat_map(|it| first(state, it));
        return best(state, max, first.map(|it| (Guess::of_rank(it), it)));
    }
    let scout = Scout::new(state, wanted, hints);
    let owner = wanted.qualifiers.last().map(|it| of_name(it));
    let owner = owner.filter(|owner| runs.iter().any(|it| it.iter().any(|it| it.owner == *owner)));
    let owned = |it: &&Posting| owner.is_none_or(|owner| owner == it.owner);
    let all = runs.into_iter().flatten().filter(owned);
    best(state, max, all.filter_map(|it| Some((scout.guess(it)?, it))))
}

/// The first symbols of a run, and all that differ from the last of them only in their path.
fn first<'a>(state: &State, run: &'a [Posting]) -> impl Iterator<Item = &'a Posting> {
    let live = run.iter().filter(|it| state.is_live(it));
    let (mut count, mut last) = (0, None);
    live.take_while(move |it| {
        let guess = Guess::of_rank(it);
        let is_first = count < GUESSED_MAX || last == Some(guess);
        (count, last) = (count + 1, Some(guess));
        is_first
    })
}

/// The best of a very large number of symbols.
fn best<'a>(
    state: &State,
    max: usize,
    all: impl Iterator<Item = (Guess, &'a Posting)>,
) -> Vec<Posting> {
    let mut best: Vec<(Guess, &Posting)> = Vec::with_capacity(max * 4);
    let mut worst = None;
    for (guess, posting) in all {
        // An equal estimate may rank first by its path.
        if worst.is_some_and(|it| guess > it) {
            continue;
        }
        best.push((guess, posting));
        if best.len() == max * 4 {
            keep(state, max, &mut best);
            worst = best.iter().map(|it| it.0).max();
        }
    }
    keep(state, max, &mut best);
    best.into_iter().map(|it| *it.1).collect()
}

/// Keeps the best by estimate, then by path. The number of a file depends on when it was read.
fn keep(state: &State, max: usize, best: &mut Vec<(Guess, &Posting)>) {
    if best.len() > max {
        let path = |it: &Posting| state.file_of(it).map(|file| (&*file.path, it.symbol));
        best.select_nth_unstable_by(max - 1, |a, b| {
            a.0.cmp(&b.0).then_with(|| path(a.1).cmp(&path(b.1)))
        });
        best.truncate(max);
    }
}

/// Whether a path ends with `wanted`, with or without an extension, or is below it.
pub fn is_in(path: &str, wanted: &str) -> bool {
    let ends =
        |path: &str| path.strip_suffix(wanted).is_some_and(|it| it.is_empty() || it.ends_with('/'));
    let below = || path.strip_prefix(wanted).is_some_and(|it| it.starts_with('/'));
    wanted.is_empty() || ends(path) || ends(without_extension(path)) || below()
}

/// The number of qualifiers, counted from the last, that match the containers and the file.
fn qualified(wanted: &QualifiedName, hit: &Hit<'_>) -> usize {
    if wanted.qualifiers.is_empty() {
        return 0;
    }
    let container = hit.file.packed.head(hit.index).and_then(|it| it.container);
    let inner = names::pieces(container.unwrap_or_default()).rev();
    let chain = inner.chain(module_parts(&hit.file.path).rev());
    chain.zip(wanted.qualifiers.iter().rev()).take_while(|(a, b)| is_same(a, b)).count()
}

fn is_known_type(state: &State, name: &str) -> bool {
    state.table().named(name).into_iter().flatten().take(COMPARED_MAX).any(|it| {
        let head = state.file_of(it).and_then(|file| file.packed.head(usize::from(it.symbol)));
        head.is_some_and(|it| it.name == name && it.kind.is_type() && it.kind != Kind::TypeAlias)
    })
}

/// The types with a field or variant of this name.
fn with_member<'a>(state: &'a State, wanted: &QualifiedName, hints: &Hints) -> Vec<Hit<'a>> {
    let Some((name, qualifiers)) = wanted.qualifiers.split_last() else { return Vec::new() };
    let owner = QualifiedName {
        name: name.clone(),
        qualifiers: qualifiers.to_vec(),
        path: wanted.path.clone(),
    };
    let mut owners = ordered(state, &owner, hints);
    owners.retain(|it| {
        let symbol = it.file.packed.symbol(it.file.language, it.index);
        symbol.is_some_and(|it| {
            it.kind.is_type()
                && *it.name == **name
                && it.members.iter().any(|it| names_it(&it.text, &wanted.name))
        })
    });
    owners
}

/// Whether a member has this name: `pub limit: u32` has the name `limit`.
fn names_it(member: &str, name: &str) -> bool {
    let words = member.split(|it: char| !(it.is_alphanumeric() || it == '_'));
    words.into_iter().any(|it| it == name)
}
