//! Judges tree objects byte by byte, because a comparison of trees hides malformed entries.

use super::Verdict;
use pitcrew_model::RefusalKind;
use std::{cmp::Ordering, fmt::Write};

const MODES: [&[u8]; 5] = [b"100644", b"100755", b"120000", b"160000", b"40000"];

/// No file system supports longer names.
const NAME_BYTES_MAX: usize = 255;

const TREE: &[u8] = b"40000";

/// One entry of a tree.
#[derive(Clone, Copy)]
pub(super) struct Entry<'a> {
    mode: &'a [u8],
    name: &'a [u8],
    object: &'a [u8],
}

impl Entry<'_> {
    /// Whether git treats the entry as a folder, regardless of the other bits of its mode.
    pub(super) fn is_tree(&self) -> bool {
        let digit = |mode: u32, it: &u8| mode.wrapping_shl(3).wrapping_add(u32::from(it & 7));
        self.mode.iter().fold(0, digit) & 0o170_000 == 0o040_000
    }

    pub(super) fn object_name(&self) -> String {
        self.object.iter().fold(String::new(), |mut name, byte| {
            write!(name, "{byte:02x}").expect("a string takes everything");
            name
        })
    }
}

/// The entries of a tree, up to the first malformed one.
pub(super) struct Entries<'a> {
    rest: &'a [u8],
    hash_bytes: usize,
}

pub(super) fn entries(content: &[u8], hash_bytes: usize) -> Entries<'_> {
    Entries { rest: content, hash_bytes }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        let (entry, rest) = read_entry(self.rest, self.hash_bytes)?;
        self.rest = rest;
        Some(entry)
    }
}

/// Judges the content of the tree that `head` describes.
pub(super) fn judge(head: &str, content: &[u8], hash_bytes: usize, verdict: &mut Verdict) {
    let mut entries = entries(content, hash_bytes);
    let mut before: Option<Entry<'_>> = None;
    for entry in entries.by_ref() {
        let name = entry.name;
        let shown = || String::from_utf8_lossy(name).into_owned();
        if !MODES.contains(&entry.mode) {
            verdict.refuse(shown(), RefusalKind::BadMode);
        }
        let is_dots = matches!(name, b"" | b"." | b"..");
        let is_odd = is_dots || name.contains(&b'/') || name.len() > NAME_BYTES_MAX;
        let is_sorted = before.is_none_or(|it| order(it, entry) == Ordering::Less);
        if is_odd || !is_sorted {
            verdict.refuse(shown(), RefusalKind::BadName);
        }
        before = Some(entry);
    }
    if !entries.rest.is_empty() {
        verdict.refuse(format!("object {head}"), RefusalKind::BadName);
    }
}

fn read_entry(bytes: &[u8], hash_bytes: usize) -> Option<(Entry<'_>, &[u8])> {
    let space = bytes.iter().position(|it| *it == b' ')?;
    let (mode, rest) = (&bytes[..space], &bytes[space + 1..]);
    let end = rest.iter().position(|it| *it == 0)?;
    let (name, rest) = (&rest[..end], &rest[end + 1..]);
    let (object, rest) = rest.split_at_checked(hash_bytes)?;
    Some((Entry { mode, name, object }, rest))
}

/// The order of entries: a folder sorts as if its name ended with a slash. Equal names are refused
/// whatever their kind, so that a file and a folder cannot share a name.
fn order(left: Entry<'_>, right: Entry<'_>) -> Ordering {
    if left.name == right.name {
        return Ordering::Equal;
    }
    let key = |entry: Entry<'_>| {
        let mut key = entry.name.to_vec();
        if entry.mode == TREE {
            key.push(b'/');
        }
        key
    };
    key(left).cmp(&key(right))
}
