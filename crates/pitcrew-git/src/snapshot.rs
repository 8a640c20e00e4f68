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
    /// The index is of files of this tree only, so that the next snapshot may begin with it.
    pub(crate) is_plain: bool,
}

impl Vault {
    pub(crate) fn snapshot<'a>(
        &'a self,
        source: Source<'a>,
        policy: &'a Policy,
        cancel: &'a Cancel,
    ) -> Result<Snapshot<'a>, VaultError> {
        let mut snapshot = self.look_at(source, policy, cancel)?;
        let index = self.records().index(source.attempt);
        snapshot.begin_with(&index)?;
        snapshot.write_tree(&[])?;
        let head = snapshot.agents_head()?;
        snapshot.commit_after(head)?;
        Ok(snapshot)
    }

    /// Gets ready to look at a tree. Nothing was looked at yet.
    pub(crate) fn look_at<'a>(
        &'a self,
        source: Source<'a>,
        policy: &'a Policy,
        cancel: &'a Cancel,
    ) -> Result<Snapshot<'a>, VaultError> {
        let folder = TemporaryFolder::new(&self.layout.scratch, &source.attempt.to_string())?;
        let snapshot = Snapshot {
            vault: self,
            source,
            policy,
            cancel,
            folder,
            tree: String::new(),
            commit: source.start.clone(),
            left_out: Vec::new(),
            is_plain: false,
        };
        snapshot.write_git_dir()?;
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
            .within(self.source.path)
            .writing(self.folder.path())
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
        Ok(())
    }

    /// Takes an index that says which files are as they were; the start's where there is none.
    pub(crate) fn begin_with(&self, index: &Path) -> Result<(), VaultError> {
        if files::is_there(index) {
            files::copy_with_times(index, &self.git_dir().join("index"))?;
        } else {
            self.call("read-tree").arg(&self.source.start.0).done(self.cancel)?;
        }
        Ok(())
    }

    /// Puts everything but the given paths into the index and makes a tree of it.
    pub(crate) fn write_tree(&mut self, without: &[Vec<u8>]) -> Result<(), VaultError> {
        let (cancel, nested) = (self.cancel, self.source.nested);
        self.left_out = self.add_all(without)?;
        self.is_plain = self.left_out.is_empty();
        if nested == Nested::Flattened {
            self.is_plain &= !self.flatten_nested()?;
        }
        self.tree = self.call("write-tree").line(cancel)?;
        Ok(())
    }

    /// The commit that the agent is at, as it says.
    pub(crate) fn agents_head(&self) -> Result<Option<CommitId>, GitError> {
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
        let is_name = !head.is_empty() && head.bytes().all(|it| it.is_ascii_hexdigit());
        Ok(is_name.then_some(CommitId(head)))
    }

    /// Commits the tree on top of what the agent committed, if that is sound and goes on from the
    /// start.
    pub(crate) fn commit_after(&mut self, head: Option<CommitId>) -> Result<(), GitError> {
        let start = self.source.start;
        let mut parent = start.clone();
        if let Some(head) = head.filter(|it| it != start) {
            let goes_on = self
                .call("merge-base")
                .args(["--is-ancestor", &start.0, &head.0])
                .finish(self.cancel)?;
            if goes_on.finished.success() {
                parent = head;
            }
        }
        self.commit = self.commit_on(&parent)?;
        Ok(())
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
