//! Differences between two trees, parsed from git's raw format.

use crate::{Vault, error::GitError, git::Call};
use pitcrew_model::{CommitId, FileChange, Work, limits};
use pitcrew_process::Cancel;

/// One changed path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) mode_before: String,
    pub(crate) mode_after: String,
    /// The object before the change. All zeros if the path was added.
    pub(crate) object_before: String,
    /// The object after the change. All zeros if the path was deleted.
    pub(crate) object: String,
    /// The status letter that git prints: A, M, D or T.
    pub(crate) letter: char,
    pub(crate) path: Vec<u8>,
}

pub(crate) const MODE_NONE: &str = "000000";
pub(crate) const MODE_LINK: &str = "120000";
pub(crate) const MODE_REPOSITORY: &str = "160000";

impl Change {
    pub(crate) fn path_text(&self) -> String {
        String::from_utf8_lossy(&self.path).into_owned()
    }

    /// Whether the change adds a repository at a path that had none.
    pub(crate) fn embeds_repository(&self) -> bool {
        self.mode_after == MODE_REPOSITORY && self.mode_before != MODE_REPOSITORY
    }
}

/// The number of lines that a change added and removed. `None` for a binary file.
pub(crate) type Lines = Option<(u64, u64)>;

/// Changes with their size in lines.
pub(crate) struct Counted {
    pub(crate) changes: Vec<Change>,
    /// One entry for each change.
    pub(crate) lines: Vec<Lines>,
    pub(crate) insertions: u64,
    pub(crate) deletions: u64,
}

impl Counted {
    pub(crate) fn listed(&self) -> Vec<FileChange> {
        self.changes
            .iter()
            .take(limits::FILES_LISTED_MAX)
            .map(|it| FileChange { path: it.path_text(), change: it.letter })
            .collect()
    }

    pub(crate) fn into_work(self, commit: CommitId) -> Work {
        Work {
            commit,
            files_count: self.changes.len() as u64,
            insertions: self.insertions,
            deletions: self.deletions,
            files: self.listed(),
        }
    }
}

/// Parses the output of `--raw -z --no-abbrev --no-renames`. `None` unless all of it can be parsed.
pub(crate) fn parse_raw(output: &[u8]) -> Option<Vec<Change>> {
    let (changes, rest) = split_raw(output)?;
    rest.is_empty().then_some(changes)
}

/// Parses the output of the same options with `--numstat`, which lists each change again, in the
/// same order, with its line counts.
pub(crate) fn parse_counted(output: &[u8]) -> Option<(Vec<Change>, Vec<Lines>)> {
    let (changes, mut rest) = split_raw(output)?;
    let lines =
        changes.iter().map(|it| parse_lines(field(&mut rest)?, it)).collect::<Option<_>>()?;
    rest.is_empty().then_some((changes, lines))
}

/// Parses the changes at the beginning and returns the remaining output.
fn split_raw(mut output: &[u8]) -> Option<(Vec<Change>, &[u8])> {
    let mut changes = Vec::new();
    while output.starts_with(b":") {
        let head = field(&mut output)?;
        changes.push(parse_change(head, field(&mut output)?)?);
    }
    Some((changes, output))
}

/// Splits off the first field, which ends with a zero byte.
fn field<'a>(output: &mut &'a [u8]) -> Option<&'a [u8]> {
    let end = output.iter().position(|it| *it == 0)?;
    let field = &output[..end];
    *output = &output[end + 1..];
    Some(field)
}

fn parse_change(head: &[u8], path: &[u8]) -> Option<Change> {
    let head = std::str::from_utf8(head.strip_prefix(b":")?).ok()?;
    let [mode_before, mode_after, object_before, object, letter] =
        head.split(' ').collect::<Vec<_>>().try_into().ok()?;
    Some(Change {
        mode_before: mode_before.into(),
        mode_after: mode_after.into(),
        object_before: object_before.into(),
        object: object.into(),
        letter: letter.chars().next()?,
        path: (!path.is_empty()).then(|| path.to_vec())?,
    })
}

/// Parses an entry of `--numstat`. Binary files have dashes instead of numbers.
fn parse_lines(entry: &[u8], change: &Change) -> Option<Lines> {
    let mut parts = entry.splitn(3, |it| *it == b'\t');
    let (added, removed, path) = (parts.next()?, parts.next()?, parts.next()?);
    if path != change.path {
        return None;
    }
    if (added, removed) == (b"-", b"-") {
        return Some(None);
    }
    Some(Some((number(added)?, number(removed)?)))
}

fn number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Options for a plain comparison of trees: no rename detection and no external programs.
pub(crate) const PLAIN_DIFF: [&str; 6] =
    ["-r", "-z", "--no-abbrev", "--no-renames", "--no-ext-diff", "--no-textconv"];

impl Call<'_> {
    /// Runs the command and expects exit code 0 and changes in the raw format.
    pub(crate) fn changes(self, cancel: &Cancel) -> Result<Vec<Change>, GitError> {
        self.parsed(cancel, parse_raw)
    }

    /// The gate judges work by this list, so output that is only partly understood is an error.
    fn parsed<T>(
        self,
        cancel: &Cancel,
        parse: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Result<T, GitError> {
        let answer = self.finish(cancel)?;
        if !answer.finished.success() {
            return Err(answer.error());
        }
        parse(&answer.finished.stdout)
            .ok_or_else(|| answer.unreadable("it is not a list of changed paths"))
    }
}

impl Vault {
    /// The differences between two commits of the vault.
    pub(crate) fn count_changes(
        &self,
        from: &CommitId,
        to: &CommitId,
        cancel: &Cancel,
    ) -> Result<Counted, GitError> {
        let (changes, lines) = self
            .foreign("diff-tree")
            .args(PLAIN_DIFF)
            .args(["--raw", "--numstat", &from.0, &to.0])
            .parsed(cancel, parse_counted)?;
        let counted = || lines.iter().flatten();
        let insertions = counted().map(|it| it.0).sum();
        let deletions = counted().map(|it| it.1).sum();
        Ok(Counted { changes, lines, insertions, deletions })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDED: &[u8] = b":000000 100644 0000 1234 A\0:odd\tname\0";
    const CHANGED: &[u8] = b":100644 120000 1234 5678 T\0link\0";

    #[test]
    fn changes_with_any_names_are_parsed() {
        let changes = parse_raw(&[ADDED, CHANGED].concat()).expect("changes");
        let paths: Vec<&[u8]> = changes.iter().map(|it| it.path.as_slice()).collect();
        assert_eq!(paths, [&b":odd\tname"[..], b"link"]);
        assert_eq!((changes[1].letter, changes[1].mode_after.as_str()), ('T', MODE_LINK));
        assert_eq!(parse_raw(b""), Some(Vec::new()));
    }

    /// The gate would accept any change that is missing from the list.
    #[test]
    fn incomplete_output_is_rejected() {
        let unreadable: [&[u8]; 7] = [
            b"garbage",
            b"\0",
            b":000000 100644 0000 1234\0path\0",
            b"::000000 100644 000000 0000 0000 1234 MM\0path\0",
            b":100644 100644 0000 1234 M\0",
            b":100644 100644 0000 1234 M\0cut off",
            b":100644 100644 0000 1234 M\0\0",
        ];
        for rest in unreadable {
            let output = [ADDED, rest, CHANGED].concat();
            assert_eq!(parse_raw(&output), None, "{}", String::from_utf8_lossy(&output));
            assert_eq!(parse_raw(&[ADDED, rest].concat()), None);
        }
    }

    #[test]
    fn every_change_is_counted_exactly_once() {
        let counted = |lines: &[u8]| parse_counted(&[ADDED, CHANGED, lines].concat());
        let (changes, lines) = counted(b"3\t0\t:odd\tname\0-\t-\tlink\0").expect("counts");
        assert_eq!((changes.len(), lines), (2, vec![Some((3, 0)), None]));
        for wrong in [
            &b""[..],
            b"3\t0\t:odd\tname\0",
            b"3\t0\tother\0-\t-\tlink\0",
            b"3\tx\t:odd\tname\0-\t-\tlink\0",
            b"3\t0\t:odd\tname\0-\t-\tlink\x001\t1\tmore\0",
        ] {
            assert!(counted(wrong).is_none(), "{}", String::from_utf8_lossy(wrong));
        }
    }
}
