//! What differs between two trees, as git's raw format tells it.

use crate::{Vault, error::GitError};
use pitcrew_model::{CommitId, FileChange, Work, limits};
use pitcrew_process::Cancel;

/// One changed path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) mode_before: String,
    pub(crate) mode_after: String,
    /// The object after the change; all zeros when it was deleted.
    pub(crate) object: String,
    /// git's letter: A, M, D, T.
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

    /// A repository where none was.
    pub(crate) fn embeds_repository(&self) -> bool {
        self.mode_after == MODE_REPOSITORY && self.mode_before != MODE_REPOSITORY
    }
}

/// Changes with their size in lines.
pub(crate) struct Counted {
    pub(crate) changes: Vec<Change>,
    /// Lines that each of the changes added and removed; absent for a binary file.
    pub(crate) lines: Vec<Option<(u64, u64)>>,
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

/// Reads `--raw -z --no-abbrev --no-renames`. What is not in that format ends the reading.
pub(crate) fn parse_raw(output: &[u8]) -> Vec<Change> {
    let mut fields = output.split(|it| *it == 0);
    let mut changes = Vec::new();
    while let Some(change) = fields.next().and_then(|it| parse_entry(it, &mut fields)) {
        changes.push(change);
    }
    changes
}

fn parse_entry<'a>(head: &[u8], rest: &mut impl Iterator<Item = &'a [u8]>) -> Option<Change> {
    let head = std::str::from_utf8(head.strip_prefix(b":")?).ok()?;
    let [mode_before, mode_after, _, object, letter] =
        head.split(' ').collect::<Vec<_>>().try_into().ok()?;
    Some(Change {
        mode_before: mode_before.into(),
        mode_after: mode_after.into(),
        object: object.into(),
        letter: letter.chars().next()?,
        path: rest.next()?.to_vec(),
    })
}

/// The options that make git compare trees and nothing else.
pub(crate) const PLAIN_DIFF: [&str; 6] =
    ["-r", "-z", "--no-abbrev", "--no-renames", "--no-ext-diff", "--no-textconv"];

impl Vault {
    /// What differs between two commits of the vault.
    pub(crate) fn count_changes(
        &self,
        from: &CommitId,
        to: &CommitId,
        cancel: &Cancel,
    ) -> Result<Counted, GitError> {
        let output = self
            .call("diff-tree")
            .args(PLAIN_DIFF)
            .args(["--raw", "--numstat", &from.0, &to.0])
            .output(cancel)?;
        let changes = parse_raw(&output);
        let lines: Vec<Option<(u64, u64)>> = output
            .split(|it| *it == 0)
            .skip(changes.len() * 2)
            .filter(|it| !it.is_empty())
            .map(lines)
            .collect();
        let counted = || lines.iter().flatten();
        let insertions = counted().map(|it| it.0).sum();
        let deletions = counted().map(|it| it.1).sum();
        Ok(Counted { changes, lines, insertions, deletions })
    }
}

/// Reads an entry of `--numstat`. Binary files have dashes for numbers.
fn lines(entry: &[u8]) -> Option<(u64, u64)> {
    let mut numbers = entry.split(|it| *it == b'\t').map(number);
    numbers.next().flatten().zip(numbers.next().flatten())
}

fn number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}
