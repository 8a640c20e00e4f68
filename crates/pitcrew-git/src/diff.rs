//! Compares commits. Reads only the vault.

use crate::{Vault, error::VaultError, snapshot::Agent};
use pitcrew_model::{AttemptId, CommitId, FileChange, RepoPath};
use pitcrew_process::{Cancel, Policy};
use std::path::PathBuf;

/// The size of the difference between two commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffStat {
    pub files_count: u64,
    pub insertions: u64,
    pub deletions: u64,
    /// The first of the changed files, up to a limit.
    pub files: Vec<FileStat>,
}

/// The size of the difference in one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileStat {
    pub file: FileChange,
    /// The number of added and removed lines. `None` for a binary file.
    pub lines: Option<(u64, u64)>,
}

/// A checkout in which an agent may be working.
#[derive(Clone, Debug)]
pub struct LiveCheckout {
    pub attempt: AttemptId,
    pub path: PathBuf,
    /// The commit that the attempt started from.
    pub start: CommitId,
}

impl Vault {
    /// The differences as a patch. If `paths` is empty, of all paths.
    pub fn diff(
        &self,
        from: &CommitId,
        to: &CommitId,
        paths: &[RepoPath],
        cancel: &Cancel,
    ) -> Result<String, VaultError> {
        let output = self
            .foreign("diff")
            .args(["--no-color", "--no-ext-diff", "--no-textconv", &from.0, &to.0, "--"])
            .args(paths.iter().map(|it| format!(":(top,literal){}", it.as_str())))
            .output(cancel)?;
        Ok(String::from_utf8_lossy(&output).into_owned())
    }

    pub fn diff_stat(
        &self,
        from: &CommitId,
        to: &CommitId,
        cancel: &Cancel,
    ) -> Result<DiffStat, VaultError> {
        let counted = self.count_changes(from, to, cancel)?;
        let files = counted.listed().into_iter().zip(&counted.lines);
        Ok(DiffStat {
            files_count: counted.changes.len() as u64,
            insertions: counted.insertions,
            deletions: counted.deletions,
            files: files.map(|(file, lines)| FileStat { file, lines: *lines }).collect(),
        })
    }

    /// Saves the current state of a checkout in the vault so that it can be compared.
    pub fn save_live(
        &self,
        checkout: &LiveCheckout,
        policy: &Policy,
        cancel: &Cancel,
    ) -> Result<CommitId, VaultError> {
        let LiveCheckout { attempt, path, start } = checkout;
        self.save_tree(*attempt, path, start, Agent::Working, policy, cancel)
    }
}
