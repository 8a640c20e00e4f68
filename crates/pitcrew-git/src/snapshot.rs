//! A commit of everything in an agent's checkout.
//!
//! Made with a git folder of our own beside the tree: the agent's may be gone, broken or full of
//! traps, and none of that may cost a line of its work. Nested repositories of the agent's can
//! still make git run their programs, so every call is confined.

use crate::{
    Vault,
    error::{GitError, VaultError},
    files::{self, TemporaryFolder},
    git::Call,
    git_dir::{GitDir, WORKER},
};
use pitcrew_model::{AttemptId, CommitId, text};
use pitcrew_process::{Cancel, Policy};
use std::path::{Path, PathBuf};

/// The name of the snapshot's branch in its own git folder.
pub(crate) const BRANCH: &str = "snapshot";

/// What is to be snapshotted.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) attempt: AttemptId,
    pub(crate) path: &'a Path,
    /// What the attempt started from.
    pub(crate) start: &'a CommitId,
    pub(crate) message: &'a str,
    pub(crate) nested: Nested,
}

/// What becomes of repositories that the agent made inside the tree.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nested {
    /// They are listed; what is in them is not in the snapshot.
    Listed,
    /// Their files are in the snapshot as if they were files of this repository.
    Flattened,
}

/// A snapshot in a git folder of its own. It is gone when this is dropped.
pub(crate) struct Snapshot<'a> {
    pub(crate) vault: &'a Vault,
    pub(crate) source: Source<'a>,
    pub(crate) policy: &'a Policy,
    pub(crate) cancel: &'a Cancel,
    pub(crate) folder: TemporaryFolder,
    pub(crate) tree: String,
    /// Descends from the start.
    pub(crate) commit: CommitId,
    /// Repositories of the agent's that are not in the snapshot.
    pub(crate) left_out: Vec<String>,
}

impl Vault {
    pub(crate) fn snapshot<'a>(
        &'a self,
        source: Source<'a>,
        policy: &'a Policy,
        cancel: &'a Cancel,
    ) -> Result<Snapshot<'a>, VaultError> {
        let folder = TemporaryFolder::new(&self.layout.scratch, &source.attempt.to_string())?;
        let mut snapshot = Snapshot {
            vault: self,
            source,
            policy,
            cancel,
            folder,
            tree: String::new(),
            commit: source.start.clone(),
            left_out: Vec::new(),
        };
        snapshot.write_git_dir()?;
        snapshot.left_out = snapshot.add_all()?;
        if source.nested == Nested::Flattened {
            snapshot.flatten_nested()?;
        }
        snapshot.tree = snapshot.call("write-tree").line(cancel)?;
        let parent = snapshot.agents_head()?.unwrap_or_else(|| source.start.clone());
        snapshot.commit = snapshot.commit_on(&parent)?;
        Ok(snapshot)
    }
}

impl Snapshot<'_> {
    pub(crate) fn git_dir(&self) -> PathBuf {
        self.folder.path().join("git")
    }

    /// A confined command on the tree with our own git folder.
    pub(crate) fn call(&self, command: &'static str) -> Call<'_> {
        self.call_in(self.source.path, command)
    }

    /// The same for a folder of the tree, seen as a tree of its own.
    pub(crate) fn call_in(&self, place: &Path, command: &'static str) -> Call<'_> {
        self.vault
            .git
            .confined(self.policy, place, command)
            .git_dir(&self.git_dir())
            .option("--work-tree=.")
            .config("core.bigFileThreshold=16m")
            .config("advice.addEmbeddedRepo=false")
    }

    /// The snapshot without the agent's own commits, where those cannot be used.
    pub(crate) fn squash(&mut self) -> Result<(), GitError> {
        self.commit = self.commit_on(self.source.start)?;
        Ok(())
    }

    fn write_git_dir(&self) -> Result<(), VaultError> {
        let records = self.vault.records();
        let exclude = match files::read_if_there(&records.exclude(self.source.attempt))? {
            Some(exclude) => exclude,
            None => self.vault.settings.excludes(&self.vault.user)?,
        };
        let mut objects = vec![self.vault.objects()];
        if files::is_folder(&self.source.path.join(".git")) {
            objects.push(self.source.path.join(".git/objects"));
        }
        let git_dir = self.git_dir();
        GitDir {
            branch: BRANCH,
            commit: self.source.start,
            objects: &objects,
            settings: &self.vault.settings,
            exclude: &exclude,
        }
        .write(&git_dir)?;
        let index = records.index(self.source.attempt);
        if files::is_there(&index) {
            files::copy_with_times(&index, &git_dir.join("index"))?;
        } else {
            self.call("read-tree").arg(&self.source.start.0).done(self.cancel)?;
        }
        Ok(())
    }

    /// Puts the whole tree into the index; returns the folders that git would not look into.
    fn add_all(&self) -> Result<Vec<String>, GitError> {
        let answer =
            self.call("add").args(["--all", "--ignore-errors", "--", "."]).finish(self.cancel)?;
        match answer.finished.code {
            Some(0) => Ok(Vec::new()),
            // Some of it could not be read; everything else is in.
            Some(1) => Ok(answer
                .stderr()
                .lines()
                .filter_map(|it| it.strip_prefix("error: '"))
                .filter_map(|it| it.strip_suffix("/' does not have a commit checked out"))
                .map(str::to_owned)
                .collect()),
            _ => Err(answer.error()),
        }
    }

    /// The commit that the agent is at, if it is sound and goes on from the start.
    fn agents_head(&self) -> Result<Option<CommitId>, GitError> {
        let git_dir = self.source.path.join(".git");
        if !files::is_folder(&git_dir) {
            return Ok(None);
        }
        let head = self
            .vault
            .git
            .confined(self.policy, self.source.path, "rev-parse")
            .git_dir(&git_dir)
            .args(["--verify", "--quiet", "HEAD^{commit}"])
            .finish(self.cancel)?;
        let head = String::from_utf8_lossy(&head.finished.stdout).trim().to_owned();
        if head.is_empty() || !head.bytes().all(|it| it.is_ascii_hexdigit()) {
            return Ok(None);
        }
        let goes_on = self
            .call("merge-base")
            .args(["--is-ancestor", &self.source.start.0, &head])
            .finish(self.cancel)?;
        Ok(goes_on.finished.success().then_some(CommitId(head)))
    }

    /// Commits the tree on top of `parent`, where it differs.
    fn commit_on(&self, parent: &CommitId) -> Result<CommitId, GitError> {
        let before = self
            .call("rev-parse")
            .args(["--verify", "--quiet", &format!("{parent}^{{tree}}")])
            .line(self.cancel)?;
        if before == self.tree {
            return Ok(parent.clone());
        }
        let mut call = self.call("commit-tree").args([self.tree.as_str(), "-p", &parent.0]);
        for (name, value) in WORKER.env() {
            call = call.env(name, value);
        }
        call.stdin(message(self.source.message)).object(self.cancel)
    }
}

/// A message that git takes: not empty, with a line end, without what ends it early.
fn message(text: &str) -> String {
    let text = text.replace('\0', " ");
    let text = text::cut(text.trim(), pitcrew_model::limits::SUMMARY_BYTES_MAX);
    if text.is_empty() { "Work of a Pitcrew worker\n".into() } else { format!("{text}\n") }
}
