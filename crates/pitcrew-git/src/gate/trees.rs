//! Judges tree objects byte by byte: a comparison of trees hides malformed entries.

use super::Verdict;
use pitcrew_model::RefusalKind;
use std::cmp::Ordering;

const MODES: [&[u8]; 5] = [b"100644", b"100755", b"120000", b"160000", b"40000"];

/// One entry of a tree: mode and name.
type Entry<'a> = (&'a [u8], &'a [u8]);

/// Judges the content of one tree; `head` says which.
pub(super) fn judge(head: &str, content: &[u8], hash_bytes: usize, verdict: &mut Verdict) {
    let mut rest = content;
    let mut before: Option<Entry<'_>> = None;
    while !rest.is_empty() {
        let Some((entry, after)) = read_entry(rest, hash_bytes) else {
            verdict.refuse(format!("object {head}"), RefusalKind::BadName);
            return;
        };
        let (mode, name) = entry;
        let shown = || String::from_utf8_lossy(name).into_owned();
        if !MODES.contains(&mode) {
            verdict.refuse(shown(), RefusalKind::BadMode);
        }
        let is_odd = name.is_empty() || name == b"." || name == b".." || name.contains(&b'/');
        let is_sorted = before.is_none_or(|it| order(it, entry) == Ordering::Less);
        if is_odd || !is_sorted {
            verdict.refuse(shown(), RefusalKind::BadName);
        }
        before = Some(entry);
        rest = after;
    }
}

fn read_entry(bytes: &[u8], hash_bytes: usize) -> Option<(Entry<'_>, &[u8])> {
    let space = bytes.iter().position(|it| *it == b' ')?;
    let (mode, rest) = (&bytes[..space], &bytes[space + 1..]);
    let end = rest.iter().position(|it| *it == 0)?;
    Some(((mode, &rest[..end]), rest.get(end + 1 + hash_bytes..)?))
}

/// The order of entries: a folder sorts as if its name ended with a slash. The same name is
/// refused whatever it is, so that a file and a folder cannot share it.
fn order(left: Entry<'_>, right: Entry<'_>) -> Ordering {
    if left.1 == right.1 {
        return Ordering::Equal;
    }
    let key = |entry: Entry<'_>| {
        let mut key = entry.1.to_vec();
        if entry.0 == b"40000" {
            key.push(b'/');
        }
        key
    };
    key(left).cmp(&key(right))
}
