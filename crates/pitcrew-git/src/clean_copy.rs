//! A copy of a task's work that a person can open.
//!
//! The `.git` folder of an agent's checkout may name programs, which the person's git or shell
//! prompt would run. So a copy is made from the vault, with a `.git` folder that only Pitcrew has
//! written, in a place where no agent can write. A copy that the person has changed belongs to
//! them: it is never overwritten or removed.

use crate::{
    Vault,
    error::VaultError,
    files,
    records::{self, Durability},
    remove_checkout::process_in,
};
use pitcrew_model::{CommitId, TaskId};
use pitcrew_process::{Cancel, Policy};
use serde::{Deserialize, Serialize};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The maximum number of copies of one task. All but the last were changed by a person.
const COPIES_MAX: u32 = 100;
/// Sections of a checkout's git configuration that are meant for agents.
const FOR_AGENTS: [&str; 3] = ["user", "commit", "tag"];

#[derive(Clone, Debug)]
pub struct CleanCopy {
    pub task: TaskId,
    pub slug: String,
    /// The commit to copy.
    pub commit: CommitId,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    pub path: PathBuf,
    /// An older copy that the person has changed.
    pub kept: Option<PathBuf>,
}

/// The record of one copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct CopyRecord {
    task: TaskId,
    /// The copied commit. `None` while the copy is being made.
    commit: Option<CommitId>,
}

impl Vault {
    /// Creates a copy or updates the existing one. If a person has changed the existing copy, it is
    /// kept and a new copy is created beside it.
    pub fn clean_copy(
        &self,
        order: &CleanCopy,
        policy: &Policy,
        cancel: &Cancel,
    ) -> Result<Copied, VaultError> {
        let _copying = self.copying.lock().expect("no holder of the lock panics");
        files::create_folder(&self.copies())?;
        let name = format!("{}-{}", order.task, order.slug);
        let mut kept = None;
        for number in 1..COPIES_MAX {
            let name = if number == 1 { name.clone() } else { format!("{name}-{number}") };
            let path = self.copies().join(&name);
            if self.is_brought_to(order, &path, policy, cancel)? {
                return Ok(Copied { path, kept });
            }
            kept = Some(path);
        }
        let message = format!("there are {COPIES_MAX} changed copies: remove some");
        Err(files::failed("copy the work to", &self.copies().join(name))(std::io::Error::other(
            message,
        ))
        .into())
    }

    /// Removes the copies of a task, or of all tasks, that are unchanged and not in use.
    pub fn remove_copies(
        &self,
        task: Option<TaskId>,
        policy: &Policy,
        cancel: &Cancel,
    ) -> Result<(), VaultError> {
        let _copying = self.copying.lock().expect("no holder of the lock panics");
        for entry in fs::read_dir(self.copies()).into_iter().flatten().flatten() {
            let path = entry.path();
            let Some(record) = self.copy_record(&path)? else { continue };
            if task.is_some_and(|it| it != record.task) || process_in(&path).is_some() {
                continue;
            }
            let changed = match &record.commit {
                Some(commit) => self.is_changed_copy(&path, commit, policy, cancel)?,
                None => false,
            };
            if !changed {
                files::remove_folder(&path)?;
                self.give_back(&path)?;
                files::remove_if_there(&self.copy_note(&path))?;
            }
        }
        Ok(())
    }

    /// This folder is beside the vault, which is outside every agent's box.
    fn copies(&self) -> PathBuf {
        self.layout.vault.with_file_name("copies")
    }

    fn copy_note(&self, path: &Path) -> PathBuf {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        self.records().copies().join(format!("{name}.json"))
    }

    fn copy_record(&self, path: &Path) -> Result<Option<CopyRecord>, VaultError> {
        Ok(records::read(&self.copy_note(path))?)
    }

    /// Updates the copy if possible. Returns whether the folder is now a copy of the commit.
    fn is_brought_to(
        &self,
        order: &CleanCopy,
        path: &Path,
        policy: &Policy,
        cancel: &Cancel,
    ) -> Result<bool, VaultError> {
        if !files::is_there(path) {
            self.make_copy(order, path, policy, cancel)?;
            return Ok(true);
        }
        match self.copy_record(path)? {
            // The same state may be saved under several commits.
            Some(CopyRecord { commit: Some(commit), .. }) => Ok(self.tree(&commit, cancel)?
                == self.tree(&order.commit, cancel)?
                || !self.is_changed_copy(path, &commit, policy, cancel)?
                    && self.renew_copy(order, path, &commit, policy, cancel)?),
            // The path of this copy was never returned to a caller.
            Some(CopyRecord { commit: None, .. }) => {
                self.make_copy(order, path, policy, cancel)?;
                Ok(true)
            }
            None => Ok(false),
        }
    }

    fn make_copy(
        &self,
        order: &CleanCopy,
        path: &Path,
        policy: &Policy,
        cancel: &Cancel,
    ) -> Result<(), VaultError> {
        self.note_copy(order, path, None)?;
        files::remove_folder(path)?;
        files::create_folder(path)?;
        let branch = format!("pitcrew/{}", order.task);
        let store = self.lend(path, &order.commit, cancel)?;
        let policy = store.readable(policy);
        self.make_tree(path, &branch, &order.commit, &store, &policy, cancel)?;
        for section in FOR_AGENTS {
            let call = self.git.ours(path, "config");
            call.args(["--local", "--remove-section", section]).done(cancel)?;
        }
        self.note_copy(order, path, Some(&order.commit))
    }

    /// Updates an unchanged copy from one commit to another. Ignored files in it are kept.
    fn renew_copy(
        &self,
        order: &CleanCopy,
        path: &Path,
        from: &CommitId,
        policy: &Policy,
        cancel: &Cancel,
    ) -> Result<bool, VaultError> {
        let store = self.lender(path, from, cancel)?;
        let policy = store.readable(policy);
        let call = |command| self.git.confined(&policy, path, command);
        call("update-index").args(["-q", "--refresh"]).finish(cancel)?;
        self.supply(&store, &path.join(".git/objects"), &order.commit.0, cancel)?;
        let moved =
            call("read-tree").args(["-m", "-u", &from.0, &order.commit.0]).finish(cancel)?;
        // Git checks everything before it changes anything, such as for an ignored file in the way.
        if !moved.finished.success() {
            return Ok(false);
        }
        call("update-ref").args(["HEAD", &order.commit.0]).done(cancel)?;
        self.note_copy(order, path, Some(&order.commit))?;
        Ok(true)
    }

    fn note_copy(
        &self,
        order: &CleanCopy,
        path: &Path,
        commit: Option<&CommitId>,
    ) -> Result<(), VaultError> {
        let record = CopyRecord { task: order.task, commit: commit.cloned() };
        Ok(records::write(&self.copy_note(path), &record, Durability::Process)?)
    }

    /// Whether a person has changed files or made commits.
    fn is_changed_copy(
        &self,
        path: &Path,
        commit: &CommitId,
        policy: &Policy,
        cancel: &Cancel,
    ) -> Result<bool, VaultError> {
        let policy = self.lender(path, commit, cancel)?.readable(policy);
        let call = |command| self.git.confined(&policy, path, command);
        let status = call("status").args(["--porcelain", "--untracked-files=all"]);
        let refs = call("for-each-ref").args(["--format=%(objectname)"]);
        let head = call("rev-parse").args(["--verify", "HEAD"]);
        // A copy that git cannot read counts as changed.
        for (call, expected) in [(status, ""), (refs, commit.0.as_str()), (head, commit.0.as_str())]
        {
            let answer = call.finish(cancel)?;
            let said = String::from_utf8_lossy(&answer.finished.stdout);
            if !answer.finished.success() || said.lines().any(|it| it != expected) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
