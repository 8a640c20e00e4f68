//! The user's uncommitted work: what a plan takes with it, and what stays behind because it looks
//! like a secret.

use crate::{
    Repository,
    error::GitError,
    secrets::{SEARCHED_BYTES_MAX, beginning, has_secret_name, secrets_in},
};
use pitcrew_model::RepoPath;
use pitcrew_process::Cancel;
use std::{
    ffi::OsStr,
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

/// How much of the content of all uncommitted files is searched for secrets.
const SEARCHED_IN_ALL_BYTES_MAX: u64 = 512 * SEARCHED_BYTES_MAX;

/// The uncommitted files that a plan would start with, and the ones that it would not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Uncommitted {
    pub files: Vec<UncommittedFile>,
    pub left_behind: Vec<UncommittedFile>,
    /// Included paths that name no uncommitted file.
    pub unmatched: Vec<RepoPath>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UncommittedFile {
    pub path: String,
    /// Absent if it was deleted.
    pub bytes: Option<u64>,
    /// Why it looks like a secret.
    pub sign: Option<&'static str>,
}

/// Decides which uncommitted files stay behind.
pub(crate) struct Judge<'a> {
    repository: &'a Repository,
    /// Paths that do not stay behind, whatever they look like.
    include: &'a [RepoPath],
    searched_bytes: u64,
}

impl<'a> Judge<'a> {
    pub(crate) fn new(repository: &'a Repository, include: &'a [RepoPath]) -> Self {
        Self { repository, include, searched_bytes: 0 }
    }

    pub(crate) fn is_named(&self, path: &str) -> bool {
        self.include.iter().any(|it| it.contains(path))
    }

    /// Why a file of the working tree looks like a secret. `base` is the commit that its content is
    /// compared with: what is already committed is no reason.
    pub(crate) fn sign(
        &mut self,
        path: &[u8],
        base: Option<&str>,
        cancel: &Cancel,
    ) -> Option<&'static str> {
        if has_secret_name(&String::from_utf8_lossy(path)) {
            return Some("its name");
        }
        if self.searched_bytes >= SEARCHED_IN_ALL_BYTES_MAX {
            return None;
        }
        let content = beginning(&place(self.repository, path))?;
        self.searched_bytes += content.len() as u64;
        let found = secrets_in(&content);
        if found.is_empty() {
            return None;
        }
        let committed = base.and_then(|it| self.committed(it, path, cancel)).unwrap_or_default();
        let known = secrets_in(&committed);
        found.iter().find(|it| !known.contains(it)).map(|it| it.sign)
    }

    fn committed(&self, base: &str, path: &[u8], cancel: &Cancel) -> Option<Vec<u8>> {
        let mut name = format!("{base}:").into_bytes();
        name.extend_from_slice(path);
        let call = self.repository.call("cat-file").arg("blob").arg(OsStr::from_bytes(&name));
        call.output(cancel).ok()
    }
}

fn place(repository: &Repository, path: &[u8]) -> PathBuf {
    repository.root().join(Path::new(OsStr::from_bytes(path)))
}

impl Repository {
    /// The uncommitted files of the working tree. `base` is the base of the plan: work is taken
    /// along only if that is what the user has checked out.
    pub fn uncommitted(
        &self,
        base: Option<&str>,
        include: &[RepoPath],
        cancel: &Cancel,
    ) -> Result<Uncommitted, GitError> {
        if !self.is_checked_out(base, cancel)? {
            return Ok(Uncommitted { unmatched: include.to_vec(), ..Uncommitted::default() });
        }
        // Without locks, so that not even the timestamps in the user's index change.
        let output = self
            .call("status")
            .args(["--porcelain", "-z", "--no-renames", "--untracked-files=all"])
            .arg("--ignore-submodules=dirty")
            .output(cancel)?;
        let mut judge = Judge::new(self, include);
        let mut found = Uncommitted::default();
        for entry in output.split(|it| *it == 0) {
            let Some((kind, path)) = entry.split_at_checked(3) else { continue };
            // A repository of its own.
            if path.ends_with(b"/") {
                continue;
            }
            let metadata = fs::symlink_metadata(place(self, path)).ok();
            let committed = (kind != b"?? ").then_some("HEAD");
            let sign = metadata.as_ref().and_then(|_| judge.sign(path, committed, cancel));
            let path = String::from_utf8_lossy(path).into_owned();
            let is_behind = sign.is_some() && !judge.is_named(&path);
            let bytes = metadata.map(|it| if it.is_dir() { 0 } else { it.len() });
            let list = if is_behind { &mut found.left_behind } else { &mut found.files };
            list.push(UncommittedFile { path, bytes, sign });
        }
        let is_matched = |path: &RepoPath| found.files.iter().any(|it| path.contains(&it.path));
        found.unmatched = include.iter().filter(|it| !is_matched(it)).cloned().collect();
        Ok(found)
    }

    /// Whether a plan with this base starts from the working tree.
    fn is_checked_out(&self, base: Option<&str>, cancel: &Cancel) -> Result<bool, GitError> {
        let Some(name) = base.filter(|it| *it != "HEAD") else { return Ok(true) };
        let branch = name.strip_prefix("refs/heads/").unwrap_or(name);
        Ok(self.current_branch(cancel)?.as_deref() == Some(branch))
    }

    /// The checked-out branch. `None` on a detached HEAD.
    pub(crate) fn current_branch(&self, cancel: &Cancel) -> Result<Option<String>, GitError> {
        self.call("symbolic-ref").args(["--quiet", "--short", "HEAD"]).maybe(cancel)
    }
}
