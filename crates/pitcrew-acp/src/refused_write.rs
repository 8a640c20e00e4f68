//! Finds writes that the sandbox refused in the output of an agent's tools.
//!
//! The agent's programs write files themselves, so the only trace of a refusal is the message of
//! the operating system. In a checkout, only the sandbox makes files read-only.

use crate::schema::{ContentBlock, ToolCall, ToolCallContent};
use pitcrew_model::RepoPath;
use std::{collections::BTreeSet, path::Path};

/// The message of the operating system without its first letter, which programs print in both
/// cases.
const MESSAGE: &str = "ead-only file system";
/// Messages of one output that are examined.
const LINES_MAX: usize = 20;
const LINE_BYTES_MAX: usize = 2_000;

/// The paths in the checkout at `root` that could not be written, according to a tool's output.
/// `None` if the output has no such message; empty if the message names no path.
pub(crate) fn named(output: &[ToolCallContent], root: &Path) -> Option<BTreeSet<String>> {
    let mut texts = output.iter().filter_map(text_of).filter(|it| it.contains(MESSAGE)).peekable();
    texts.peek()?;
    Some(texts.flat_map(|it| paths(it, root)).collect())
}

/// The paths that a call is about: a tool that writes one file need not repeat its name.
pub(crate) fn places(call: &ToolCall, root: &Path) -> BTreeSet<String> {
    let places = call.locations.iter().take(LINES_MAX);
    places.filter_map(|it| in_checkout(it.path.to_str()?, root)).collect()
}

fn text_of(content: &ToolCallContent) -> Option<&str> {
    let ToolCallContent::Content(content) = content else { return None };
    let ContentBlock::Text(text) = &content.content else { return None };
    Some(&text.text)
}

fn paths(text: &str, root: &Path) -> Vec<String> {
    let lines = text.lines().filter(|it| it.len() <= LINE_BYTES_MAX);
    let refusals = lines.filter_map(|it| {
        let at = it.find(MESSAGE)?.checked_sub(1).filter(|at| it.is_char_boundary(*at))?;
        Some((it, at))
    });
    let found = refusals.take(LINES_MAX).filter_map(|(line, at)| {
        // `touch: cannot touch 'a b': Read-only file system`, or
        // `Read-only file system: 'a b'`, or `sh: cannot create a: Read-only file system`.
        let named = quoted(line)
            .or_else(|| line[..at].trim_end_matches([':', ' ']).split(' ').next_back())?;
        in_checkout(named, root)
    });
    found.collect()
}

/// The last text in quotes.
fn quoted(line: &str) -> Option<&str> {
    let end = line.rfind(['\'', '"', '’', '`'])?;
    let close = line[end..].chars().next()?;
    let open = match close {
        '’' => '‘',
        '`' if line[..end].rfind('`').is_none() => return None,
        other => other,
    };
    let begin = line[..end].rfind(open)? + open.len_utf8();
    Some(&line[begin..end]).filter(|it| !it.is_empty())
}

/// The path from the root of the checkout.
fn in_checkout(named: &str, root: &Path) -> Option<String> {
    let path = Path::new(named);
    let below = if path.is_absolute() { path.strip_prefix(root).ok()? } else { path };
    let path = RepoPath::parse(below.to_str()?).ok()?;
    (!path.is_root()).then(|| path.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_paths_are_found_in_messages() {
        let found = |text: &str| paths(text, Path::new("/trees/one"));
        for (line, path) in [
            ("sh: 1: cannot create README.md: Read-only file system", "README.md"),
            ("bash: line 1: docs/z: Read-only file system", "docs/z"),
            ("touch: cannot touch 'docs/a b': Read-only file system", "docs/a b"),
            ("rm: cannot remove ‘x/y’: Read-only file system", "x/y"),
            ("OSError: [Errno 30] Read-only file system: '/trees/one/a.py'", "a.py"),
            ("Error: EROFS: read-only file system, open '/trees/one/src/b.ts'", "src/b.ts"),
        ] {
            assert_eq!(found(line), [path], "{line}");
        }
        for line in [
            "touch: cannot touch '/etc/x': Read-only file system",
            "cannot create ../x: Read-only file system",
            "cannot create x: Permission denied",
            "Read-only file system",
            "'",
            "",
        ] {
            assert_eq!(found(line), [""; 0], "{line}");
        }
    }
}
