//! Mutations of a text that keep most of its structure.
//!
//! They know brackets, quotes, words and lines, so they work for JSON, TOML and scripts.

use proptest::{
    prelude::*,
    sample::{Index, select},
};
use std::ops::Range;

/// Replacements for a value.
const NASTY: &[&[u8]] = &[
    b"null",
    b"true",
    b"0",
    b"-0",
    b"-1",
    b"1e999",
    b"-1e999",
    b"1e-999",
    b"0.1",
    b"NaN",
    b"9223372036854775808",
    b"18446744073709551615",
    b"18446744073709551616",
    b"340282366920938463463374607431768211456",
    b"\"\"",
    b"\"x\"",
    b"\"\\ud800\"",
    b"\"\\udc00\\ud800\"",
    b"\"\\u0000\"",
    b"\"\\u202e\\u001b[2J\"",
    b"\"\0\"",
    b"{}",
    b"[]",
    b"[[]]",
    b"{\"\":null}",
    b"[null]",
    b"\"task-18446744073709551615\"",
    b"\"plan-99999999999999999999\"",
    b"\"..\"",
    b"\"../..\"",
    b"\".git\"",
    b"\"/etc/passwd\"",
    b"\"a\\\\b\"",
    b"\"a\\u0000b\"",
    b"file:///etc",
    b"~",
    b"\xff",
    b"\xc0\xaf",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\xef\xbb\xbf",
    b"\0",
    b"\r\n",
    b"\n\n",
    b"\t",
    b"\\",
    b"\"",
    b"'",
    b"`",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"=",
    b"#",
    b"<<",
    b"%",
    b"\xe2\x80\xae",
    b"\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa9",
    b"\x1b]0;x",
    b"\xc2\x9b",
];

/// Separators between a part and its copy.
const BETWEEN: &[&[u8]] = &[b",", b"\n", b""];

/// One mutation. Positions are chosen among the parts of the text when it is applied.
#[derive(Clone, Debug)]
pub enum Change {
    Replace(Index, &'static [u8]),
    Insert(Index, &'static [u8]),
    Remove(Index),
    /// Duplicates a part, after a comma, a line feed or nothing; this also duplicates keys.
    Repeat(Index, &'static [u8], usize),
    Swap(Index, Index),
    /// Replaces a part by a part of another sample.
    Graft(Index, Index, Index),
    Deepen(Index, usize, &'static [u8], &'static [u8]),
    Lengthen(Index, usize),
    SetByte(Index, u8),
    Cut(Index),
    Behead(Index),
    CarriageReturns,
    Mark,
}

pub fn change() -> impl Strategy<Value = Change> {
    let place = any::<Index>;
    let nasty = || select(NASTY);
    let repeats = prop_oneof![8 => 1..4usize, 1 => Just(300)];
    let depth = prop_oneof![4 => 1..20usize, 3 => 100..300usize, 1 => Just(20_000)];
    let brackets = prop_oneof![
        Just((&b"["[..], &b"]"[..])),
        Just((&b"{\"a\":"[..], &b"}"[..])),
        Just((&b"["[..], &b""[..])),
    ];
    prop_oneof![
        6 => (place(), nasty()).prop_map(|(at, it)| Change::Replace(at, it)),
        3 => (place(), nasty()).prop_map(|(at, it)| Change::Insert(at, it)),
        2 => place().prop_map(Change::Remove),
        2 => (place(), select(BETWEEN), repeats)
            .prop_map(|(at, between, count)| Change::Repeat(at, between, count)),
        2 => (place(), place()).prop_map(|(a, b)| Change::Swap(a, b)),
        3 => (place(), place(), place()).prop_map(|(at, other, part)| Change::Graft(at, other, part)),
        1 => (place(), depth, brackets).prop_map(|(at, depth, it)| Change::Deepen(at, depth, it.0, it.1)),
        1 => (place(), prop_oneof![3 => 1..300usize, 1 => Just(70_000)])
            .prop_map(|(at, count)| Change::Lengthen(at, count)),
        3 => (place(), any::<u8>()).prop_map(|(at, byte)| Change::SetByte(at, byte)),
        1 => place().prop_map(Change::Cut),
        1 => place().prop_map(Change::Behead),
        1 => Just(Change::CarriageReturns),
        1 => Just(Change::Mark),
    ]
}

impl Change {
    pub fn apply(&self, bytes: &mut Vec<u8>, samples: &[Vec<u8>]) {
        let part = |at: &Index, of: &[u8]| at.get(&parts(of)).clone();
        let anywhere = |at: &Index, of: &[u8]| at.index(of.len() + 1);
        match self {
            Self::Replace(at, nasty) => {
                bytes.splice(part(at, bytes), nasty.iter().copied());
            }
            Self::Insert(at, nasty) => {
                let at = anywhere(at, bytes);
                bytes.splice(at..at, nasty.iter().copied());
            }
            Self::Remove(at) => drop(bytes.drain(part(at, bytes))),
            Self::Repeat(at, between, count) => {
                let range = part(at, bytes);
                let one = [between, &bytes[range.clone()]].concat();
                bytes.splice(range.end..range.end, one.repeat(*count));
            }
            Self::Swap(left, right) => swap(bytes, part(left, bytes), part(right, bytes)),
            Self::Graft(at, other, from) => {
                let other = other.get(samples);
                bytes.splice(part(at, bytes), other[part(from, other)].iter().copied());
            }
            Self::Deepen(at, depth, open, close) => {
                let range = part(at, bytes);
                let inner = bytes[range.clone()].to_vec();
                bytes.splice(range, [open.repeat(*depth), inner, close.repeat(*depth)].concat());
            }
            Self::Lengthen(at, count) => {
                let at = anywhere(at, bytes);
                let byte = bytes.get(at).copied().unwrap_or(b'a');
                bytes.splice(at..at, std::iter::repeat_n(byte, *count));
            }
            Self::SetByte(at, byte) => {
                let at = at.index(bytes.len().max(1));
                if let Some(place) = bytes.get_mut(at) {
                    *place = *byte;
                }
            }
            Self::Cut(at) => bytes.truncate(anywhere(at, bytes)),
            Self::Behead(at) => drop(bytes.drain(..anywhere(at, bytes))),
            Self::CarriageReturns => {
                *bytes = bytes.split(|it| *it == b'\n').collect::<Vec<_>>().join(&b"\r\n"[..]);
            }
            Self::Mark => drop(bytes.splice(..0, *b"\xef\xbb\xbf")),
        }
    }
}

/// Exchanges two parts; if they are nested, the inner one stays.
fn swap(bytes: &mut Vec<u8>, left: Range<usize>, right: Range<usize>) {
    let (first, second) = if left.start <= right.start { (left, right) } else { (right, left) };
    if first.end <= second.start {
        let (one, other) = (bytes[first.clone()].to_vec(), bytes[second.clone()].to_vec());
        bytes.splice(second, one);
        bytes.splice(first, other);
    }
}

/// The parts of a text: contents of brackets and quotes, words and numbers, lines, everything.
fn parts(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut parts = vec![Range { start: 0, end: bytes.len() }];
    let mut open = Vec::new();
    let (mut at, mut line) = (0, 0);
    let is_word = |it: &u8| it.is_ascii_alphanumeric() || b"_-+./".contains(it);
    while let Some(byte) = bytes.get(at) {
        let start = at;
        at += 1;
        match byte {
            b'"' => {
                while let Some(byte) = bytes.get(at).filter(|it| **it != b'"' && **it != b'\n') {
                    at += if *byte == b'\\' { 2 } else { 1 };
                }
                at = (at + 1).min(bytes.len());
                parts.push(start..at);
            }
            b'{' | b'[' => open.push(start),
            b'}' | b']' => parts.extend(open.pop().map(|it| it..at)),
            b'\n' => {
                parts.push(line..at);
                line = at;
            }
            _ if is_word(byte) => {
                at += bytes[at..].iter().take_while(|it| is_word(it)).count();
                parts.push(start..at);
            }
            _ => {}
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_words_and_lines_are_parts() {
        let text = b"a = [1, \"x]\"]\n{\"k\": {}}";
        let parts: Vec<&str> =
            parts(text).into_iter().map(|it| str::from_utf8(&text[it]).expect("UTF-8")).collect();
        for part in ["a", "1", "\"x]\"", "[1, \"x]\"]", "a = [1, \"x]\"]\n", "{}", "{\"k\": {}}"] {
            assert!(parts.contains(&part), "{part} is not in {parts:?}");
        }
    }
}
