//! Imports a snapshot into the vault as a pack that was made in a box, and checks every object.

#[cfg(test)]
mod damaged;

use crate::{
    error::{GitError, GitErrorKind},
    snapshot::Snapshot,
};
use pitcrew_model::{Refusal, RefusalKind};

/// Whether objects are checked during the import.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Checking {
    Strict,
    Off,
}

/// Why a snapshot could not be imported.
#[derive(Debug)]
pub(crate) enum ImportError {
    /// The commit cannot be packed: objects of the agent's commits are missing or broken.
    Broken(GitError),
    /// Objects are malformed.
    Refused(Vec<Refusal>),
    Git(GitError),
}

impl From<GitError> for ImportError {
    fn from(error: GitError) -> Self {
        Self::Git(error)
    }
}

impl Snapshot<'_> {
    /// Imports the objects of the snapshot into the vault.
    pub(crate) fn deliver(&mut self, checking: Checking) -> Result<(), ImportError> {
        if let Some(error) = self.broken.take() {
            return Err(ImportError::Broken(error));
        }
        fail::fail_point!("import-before", |_| std::process::abort());
        if self.commit != *self.source.start {
            let taken =
                self.vault.take_pack(&self.folder.path().join("pack"), checking, self.cancel);
            taken.map_err(|error| match refusals(&error) {
                refusals if refusals.is_empty() => ImportError::Git(error),
                refusals => ImportError::Refused(refusals),
            })?;
        }
        fail::fail_point!("import-fetched", |_| std::process::abort());
        Ok(())
    }
}

/// Converts the errors of fsck to refusals of the gate.
fn refusals(error: &GitError) -> Vec<Refusal> {
    let GitErrorKind::Exit { stderr, .. } = &error.kind else { return Vec::new() };
    stderr.lines().filter_map(refusal).collect()
}

/// Parses a line such as `error: object 1234: hasDotgit: contains '.git'`.
fn refusal(line: &str) -> Option<Refusal> {
    let (_, rest) = line.split_once("object ")?;
    let (object, rest) = rest.split_once(": ")?;
    let (name, words) = rest.split_once(": ")?;
    let kind = match name {
        "hasDotgit" => RefusalKind::GitDir,
        "badFilemode" | "zeroPaddedFilemode" => RefusalKind::BadMode,
        it if it.starts_with("gitmodules") || it.starts_with("gitattributes") => {
            RefusalKind::Executes
        }
        _ => RefusalKind::BadName,
    };
    Some(Refusal::new(format!("object {}: {words}", object.get(..10).unwrap_or(object)), kind))
}
