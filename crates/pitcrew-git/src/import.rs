//! Takes a snapshot out of the agent's reach: a bundle, made confined, fetched into the vault
//! with every object checked.

#[cfg(test)]
mod damaged;

use crate::{
    error::{FileError, GitError, GitErrorKind},
    files,
    snapshot::{BRANCH, Snapshot},
};
use pitcrew_model::{Refusal, RefusalKind};
use std::path::{Path, PathBuf};

/// Whether objects are checked on their way.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Checking {
    Strict,
    Off,
}

/// Why a snapshot could not be taken into the vault.
#[derive(Debug)]
pub(crate) enum ImportError {
    /// It cannot be bundled: objects of the agent's commits are missing or broken.
    Broken(GitError),
    /// Objects are malformed.
    Refused(Vec<Refusal>),
    Git(GitError),
    File(FileError),
}

impl From<GitError> for ImportError {
    fn from(error: GitError) -> Self {
        Self::Git(error)
    }
}

impl Snapshot<'_> {
    /// Brings the snapshot into the vault, under `to`.
    pub(crate) fn import(&self, to: &str, checking: Checking) -> Result<(), ImportError> {
        let vault = self.vault;
        if vault.resolve(&self.commit.0, self.cancel).is_ok_and(|it| it.is_some()) {
            return Ok(vault.set_ref(to, &self.commit)?);
        }
        let branch = self.git_dir().join("refs/heads").join(BRANCH);
        files::write(&branch, format!("{}\n", self.commit)).map_err(ImportError::File)?;
        let bundle = self.fresh_bundle();
        let answer = self
            .call("bundle")
            .args(["create", "--quiet"])
            .arg(&bundle)
            .arg(format!("refs/heads/{BRANCH}"))
            .arg(format!("^{}", self.source.start))
            .finish(self.cancel)?;
        if !answer.finished.success() {
            return Err(ImportError::Broken(answer.error()));
        }
        fail::fail_point!("import-before", |_| std::process::abort());
        let mut result = self.fetch(&bundle, to, checking);
        fail::fail_point!("import-fetched", |_| std::process::abort());
        // Git looks at the refs one after another, and may miss one that another attempt's
        // integration moves just then. The commit is there: it finds it when it looks again.
        for _ in 0..LOOKS_MAX {
            if !result.as_ref().is_err_and(is_disconnected) {
                break;
            }
            result = self.fetch(&bundle, to, checking);
        }
        result.map_err(|error| match refusals(&error) {
            refusals if refusals.is_empty() => ImportError::Git(error),
            refusals => ImportError::Refused(refusals),
        })
    }

    /// A name that no try before had: one that was killed leaves its lock beside it.
    fn fresh_bundle(&self) -> PathBuf {
        let mut number = 1;
        loop {
            let bundle = self.folder.path().join(format!("{number}.bundle"));
            if !files::is_there(&bundle) && !files::is_there(&bundle.with_extension("bundle.lock"))
            {
                return bundle;
            }
            number += 1;
        }
    }

    fn fetch(&self, bundle: &Path, to: &str, checking: Checking) -> Result<(), GitError> {
        if checking == Checking::Strict {
            self.vault.take_pack(bundle, self.cancel)?;
        }
        self.vault
            .call("fetch")
            .config("fetch.unpackLimit=1")
            .config("transfer.fsckObjects=false")
            .args(["--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance"])
            .arg("--no-recurse-submodules")
            .arg(bundle)
            .arg(format!("+refs/heads/{BRANCH}:{to}"))
            .done(self.cancel)
    }
}

/// How often a fetch is repeated that missed a ref in motion.
const LOOKS_MAX: usize = 5;

fn is_disconnected(error: &GitError) -> bool {
    let GitErrorKind::Exit { stderr, .. } = &error.kind else { return false };
    stderr.contains("prerequisite commits")
}

/// What fsck found wrong, as the gate would say it.
fn refusals(error: &GitError) -> Vec<Refusal> {
    let GitErrorKind::Exit { stderr, .. } = &error.kind else { return Vec::new() };
    stderr.lines().filter_map(refusal).collect()
}

/// Reads a line such as `error: object 1234: hasDotgit: contains '.git'`.
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
    Some(Refusal { path: format!("object {}: {words}", object.get(..10).unwrap_or(object)), kind })
}
