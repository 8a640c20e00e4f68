//! Ids of rows, and their notation in a text: single or as a range.

use std::fmt;

/// Printed as `S`, the series, `-`, and three digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id {
    pub series: u8,
    pub number: u16,
}

/// The ids of one series are numbered from 1 without a gap.
#[derive(Clone, Copy)]
pub struct Series {
    pub number: u8,
    pub ids_count: u16,
}

impl Series {
    pub fn ids(self) -> impl Iterator<Item = Id> {
        (1..=self.ids_count).map(move |number| Id { series: self.number, number })
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "S{}-{:03}", self.series, self.number)
    }
}

impl Id {
    /// The id at the start of `text`, and the rest.
    pub fn split_from(text: &str) -> Option<(Self, &str)> {
        let (series, rest) = split_digits(text.strip_prefix('S')?, 1)?;
        let (number, rest) = split_digits(rest.strip_prefix('-')?, 3)?;
        let id = Self { series: u8::try_from(series).ok()?, number };
        (!rest.starts_with(is_of_a_word)).then_some((id, rest))
    }
}

fn split_digits(text: &str, count: usize) -> Option<(u16, &str)> {
    let (digits, rest) = text.split_at_checked(count)?;
    let is_number = digits.bytes().all(|it| it.is_ascii_digit());
    Some((digits.parse().ok().filter(|_| is_number)?, rest))
}

fn is_of_a_word(it: char) -> bool {
    it.is_alphanumeric() || it == '_'
}

/// An id, or the ids from the first to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    pub first: Id,
    pub last: Id,
}

impl Range {
    /// Every id of the range; `None` if it runs backwards or spans two series.
    pub fn ids(self) -> Option<impl Iterator<Item = Id>> {
        let Self { first, last } = self;
        let ids = (first.number..=last.number).map(move |number| Id { number, ..first });
        (first.series == last.series && first.number <= last.number).then_some(ids)
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.first)?;
        if self.last != self.first {
            write!(f, "..{}", self.last)?;
        }
        Ok(())
    }
}

/// The ids in `text`, in order.
pub fn named(text: &str) -> Vec<Range> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('S') {
        let in_word = rest[..at].ends_with(is_of_a_word);
        match Id::split_from(&rest[at..]).filter(|_| !in_word) {
            Some((first, after)) => {
                let (last, after) = end_of_range(after).unwrap_or((first, after));
                found.push(Range { first, last });
                rest = after;
            }
            None => rest = &rest[at + 1..],
        }
    }
    found
}

fn end_of_range(text: &str) -> Option<(Id, &str)> {
    let rest = text.trim_start().strip_prefix("..")?;
    Id::split_from(rest.strip_prefix('=').unwrap_or(rest).trim_start())
}

/// Merges adjacent ids; `ids` are sorted.
pub fn ranges(ids: &[Id]) -> Vec<Range> {
    let mut ranges: Vec<Range> = Vec::new();
    for &id in ids {
        let next = |it: &&mut Range| Id { number: it.last.number + 1, ..it.last } == id;
        match ranges.last_mut().filter(next) {
            Some(range) => range.last = id,
            None => ranges.push(Range { first: id, last: id }),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written with another letter, so that the rule does not find its own samples.
    fn shown(text: &str) -> String {
        let ranges: Vec<String> =
            named(&text.replace('R', "S")).iter().map(ToString::to_string).collect();
        ranges.join(" ").replace('S', "R")
    }

    #[test]
    fn finds_ids_and_ranges_in_text() {
        assert_eq!(shown("/// R1-002, R1-004: it holds (R0-066)."), "R1-002 R1-004 R0-066");
        assert_eq!(shown("R4-119..R4-123, R4-126 .. R4-128, R2-001..=R2-002"), {
            "R4-119..R4-123 R4-126..R4-128 R2-001..R2-002"
        });
        assert_eq!(shown("R4-119...and R4-120"), "R4-119 R4-120");
    }

    #[test]
    fn similar_text_is_not_an_id() {
        assert_eq!(shown("R1-02 R12-002 R1-0023 xR1-002 R1_002 R1-002b R1-\u{e4}02 RR"), "");
    }

    #[test]
    fn a_range_goes_forwards_in_one_series() {
        let ids_count = |text: &str| {
            let range = named(&text.replace('R', "S"))[0];
            range.ids().map(Iterator::count)
        };
        assert_eq!(ids_count("R4-119..R4-123"), Some(5));
        assert_eq!(ids_count("R4-119"), Some(1));
        assert_eq!(ids_count("R4-123..R4-119"), None);
        assert_eq!(ids_count("R3-119..R4-123"), None);
    }
}
