//! A commit of everything in an agent's checkout.
//!
//! It is made with a git folder of our own beside the tree: the agent's `.git` may be gone, broken or
//! hostile, and none of that may cost a line of its work. Nested repositories can still make git run
//! their programs, so every call is confined.

use crate::{
    Vault, agent_git,
    error::{FileError, GitError, GitErrorKind, VaultError},
    files::{self, TemporaryFolder},
    git::{Call, Waiting},
    git_dir::{GitDir, alternates},
    index_file,
    ready::Ready,
    records::KeptRecord,
    steps::Step,
};
use pitcrew_model::{AttemptId, CommitId, text};
use pitcrew_process::{Cancel, Policy};
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

/// The name of the snapshot's branch in its own git folder.
pub(crate) const BRANCH: &str = "snapshot";

/// What follows the look at a tree that is to be kept.
pub(crate) const KEEPING: [Step; 4] = [Step::Tree, Step::Head, Step::Commit, Step::Pack];

/// What is to be snapshotted.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) attempt: AttemptId,
    pub(crate) path: &'a Path,
    /// What the attempt started from.
    pub(crate) start: &'a CommitId,
    pub(crate) message: &'a str,
    pub(crate) nested: Nested,
    pub(crate) agent: Agent,
}

/// Whether anything of an agent may still run in a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Agent {
    /// It may rely on what it has made there.
    Working,
    Gone,
}

impl Agent {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::Gone => "gone",
        }
    }
}

/// What becomes of repositories that the agent made inside the tree.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nested {
    /// They are listed; what is in them is not in the snapshot.
    Listed,
    /// Their files are in the snapshot as if they were files of this repository.
    Flattened,
}

/// What became of a list of the paths that are not as in the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listed {
    /// There is none, or they were too many or too odd to be taken by it.
    Not,
    Nothing,
    /// All of them are in the index now.
    All,
}

/// A snapshot in a git folder of its own. It is gone when this is dropped.
pub(crate) struct Snapshot<'a> {
    pub(crate) vault: &'a Vault,
    pub(crate) source: Source<'a>,
    pub(crate) policy: &'a Policy,
    pub(crate) cancel: &'a Cancel,
    /// A box in which steps wait, and their words.
    pub(crate) waiting: Option<(Vec<OsString>, Waiting)>,
    pub(crate) folder: TemporaryFolder,
    pub(crate) tree: String,
    /// The commit that the agent is at, as it says.
    pub(crate) head: Option<CommitId>,
    /// Descends from the start.
    pub(crate) commit: CommitId,
    /// Why the commit cannot be packed.
    pub(crate) broken: Option<GitError>,
    pub(crate) listed: Listed,
    /// Repositories of the agent's that are not in the snapshot.
    pub(crate) left_out: Vec<String>,
    /// Files and folders that cannot be read, and are not in the snapshot.
    pub(crate) unread: Vec<String>,
    /// The index is of files of this tree only, so that the next snapshot may begin with it.
    pub(crate) is_plain: bool,
}

impl Vault {
    pub(crate) fn snapshot<'a>(
        &'a self,
        source: Source<'a>,
        ready: Option<Ready>,
        policy: &'a Policy,
        cancel: &'a Cancel,
    ) -> Result<Snapshot<'a>, VaultError> {
        let mut snapshot = match ready.filter(|it| it.is_for(&source)) {
            Some(ready) => self.begin(source, ready, policy, cancel)?,
            None => {
                let snapshot = self.look_at(source, policy, cancel)?;
                snapshot.begin_with(&self.records().index(source.attempt))?;
                snapshot
            }
        };
        snapshot.look_and_keep(&[])?;
        Ok(snapshot)
    }

    /// Prepares a snapshot of a tree. Reads nothing of it yet.
    pub(crate) fn look_at<'a>(
        &'a self,
        source: Source<'a>,
        policy: &'a Policy,
        cancel: &'a Cancel,
    ) -> Result<Snapshot<'a>, VaultError> {
        let folder = TemporaryFolder::new(&self.layout.scratch, &source.attempt.to_string())?;
        let snapshot = self.snapshot_in(folder, source, policy, cancel)?;
        snapshot.write_git_dir()?;
        Ok(snapshot)
    }

    /// The same in a folder that has all that it needs but for the message.
    pub(crate) fn snapshot_in<'a>(
        &'a self,
        folder: TemporaryFolder,
        source: Source<'a>,
        policy: &'a Policy,
        cancel: &'a Cancel,
    ) -> Result<Snapshot<'a>, VaultError> {
        files::write(&folder.path().join("message"), message(source.message))?;
        Ok(Snapshot {
            vault: self,
            source,
            policy,
            cancel,
            waiting: None,
            folder,
            tree: String::new(),
            head: None,
            commit: source.start.clone(),
            broken: None,
            listed: Listed::Not,
            left_out: Vec::new(),
            unread: Vec::new(),
            is_plain: false,
        })
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
            // What the index knows of a file is only enough if all of it is looked at.
            .config("core.trustctime=true")
            .config("core.checkStat=default")
            .config("advice.addEmbeddedRepo=false")
    }

    /// The record of it, for the next snapshot of the tree.
    pub(crate) fn record(&self) -> KeptRecord {
        let head = self.head.as_ref().unwrap_or(self.source.start).clone();
        KeptRecord { commit: self.commit.clone(), tree: self.tree.clone(), head }
    }

    /// The snapshot without the agent's own commits, where those cannot be used.
    pub(crate) fn squash(&mut self) -> Result<(), VaultError> {
        self.head = None;
        self.keep()
    }

    fn write_git_dir(&self) -> Result<(), VaultError> {
        let records = self.vault.records();
        let exclude = match files::read_if_there(&records.exclude(self.source.attempt))? {
            Some(exclude) => exclude,
            None => self.vault.settings.excludes(&self.vault.user)?,
        };
        let objects = [self.vault.borrowed()];
        let git_dir = self.git_dir();
        GitDir {
            branch: BRANCH,
            commit: self.source.start,
            objects: &objects,
            settings: &self.vault.settings,
            exclude: &exclude,
        }
        .write(&git_dir)?;
        self.supply(&self.source.start.0)
    }

    /// Makes objects of the vault readable that neither the base store nor the checkout has.
    pub(crate) fn supply(&self, wanted: &str) -> Result<(), VaultError> {
        let objects = self.git_dir().join("objects");
        if !files::is_folder_below(self.folder.path(), "git/objects/pack") {
            let reason = "something in a box has replaced the folder of its packs".into();
            let kind = GitErrorKind::Unreadable { reason };
            return Err(GitError { command: "pack-objects", place: objects, kind }.into());
        }
        self.vault.supply(&objects, wanted, self.cancel)
    }

    /// Finds out which commit the agent is at, without a git. Where that is one of its own, git
    /// looks for it among the agent's objects too.
    pub(crate) fn find_head(&self) -> Result<(), FileError> {
        let folder = self.folder.path();
        let head = agent_git::head(self.source.path, self.source.start);
        let mut objects = vec![self.vault.borrowed()];
        if head.as_ref().is_some_and(|it| it != self.source.start) {
            objects.push(self.source.path.join(".git/objects"));
        }
        // A program of the agent's may have been in the box of earlier steps.
        files::write_below(folder, "git/objects/info/alternates", alternates(&objects))?;
        let head = head.map_or_else(String::new, |it| format!("{it}\n"));
        files::write_below(folder, "head", head)
    }

    /// An error where something could not be read that would be lost with the tree.
    pub(crate) fn require_all_read(&self) -> Result<(), GitError> {
        let mut paths = self.unread.clone();
        if self.source.nested == Nested::Flattened {
            // Elsewhere the gate refuses them by name.
            paths.extend(self.left_out.iter().cloned());
        }
        if paths.is_empty() {
            return Ok(());
        }
        let kind = GitErrorKind::Unread { paths };
        Err(GitError { command: "add", place: self.source.path.to_owned(), kind })
    }

    /// Takes an index that says which files are as they were; the start's where there is none.
    pub(crate) fn begin_with(&self, index: &Path) -> Result<(), VaultError> {
        let own = self.git_dir().join("index");
        if !files::is_there(index) {
            self.call("read-tree").arg(&self.source.start.0).done(self.cancel)?;
        } else if let Some(settled) = self.settled(index) {
            files::write(&own, settled)?;
        } else {
            files::copy_with_times(index, &own)?;
        }
        Ok(())
    }

    /// The index of the fresh checkout, written before any agent used it. For any other index, a
    /// file may have changed twice within the same time stamp, once before git read it.
    fn settled(&self, index: &Path) -> Option<Vec<u8>> {
        let is_first = index == self.vault.records().index(self.source.attempt);
        is_first.then(|| index_file::settled(index, self.source.path, self.source.start)).flatten()
    }

    /// Makes a tree of everything but the given paths, and finds out where the agent is.
    pub(crate) fn look(&mut self, without: &[Vec<u8>]) -> Result<(), VaultError> {
        self.look_and(without, &[Step::Tree, Step::Head])
    }

    /// The same, and commits it.
    pub(crate) fn look_and_keep(&mut self, without: &[Vec<u8>]) -> Result<(), VaultError> {
        self.look_and(without, &KEEPING)
    }

    fn look_and(&mut self, without: &[Vec<u8>], then: &[Step]) -> Result<(), VaultError> {
        match self.source.nested {
            Nested::Listed => {
                self.add_all(without, &[&[Step::Add], then].concat())?;
                self.is_plain = self.left_out.is_empty();
            }
            Nested::Flattened => {
                self.add_all(without, &[&[Step::Add, Step::Nested], then].concat())?;
                self.is_plain = self.left_out.is_empty();
                if self.flatten_nested()? {
                    self.is_plain = false;
                    self.take(then)?;
                }
            }
        }
        Ok(())
    }

    /// Commits the tree on top of the agent's commits, if those are valid and descend from the start.
    pub(crate) fn keep(&mut self) -> Result<(), VaultError> {
        self.take(&[Step::Commit, Step::Pack])
    }
}

/// A message that git takes: not empty, with a line end, without what ends it early.
fn message(text: &str) -> String {
    let text = text.replace('\0', " ");
    let text = text::cut(text.trim(), pitcrew_model::limits::SUMMARY_BYTES_MAX);
    if text.is_empty() { "Work of a Pitcrew worker\n".into() } else { format!("{text}\n") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::{Lab, attempt, read, write};
    use std::{fs, os::unix::fs::symlink};

    /// Nested repositories make git run programs in the box of the steps, and our folder is in it.
    #[test]
    fn what_a_program_in_the_box_left_in_our_folder_leads_nowhere() {
        let lab = Lab::new();
        let vault = lab.vault();
        let start = lab.plan(&vault).start;
        let path = lab.checkout(&vault, &attempt(1), &start).path;
        let outside = lab.home().join("kept");
        write(&outside, "kept\n");
        let (path, message, nested) = (path.as_path(), "did it", Nested::Listed);
        let (attempt, agent) = (attempt(1).attempt, Agent::Gone);
        let source = Source { attempt, path, start: &start, message, nested, agent };
        let names = ["git/objects/info/alternates", "head", "paths"];
        let put = |snapshot: &Snapshot<'_>, name: &str, target: &Path| {
            let place = snapshot.folder.path().join(name);
            files::remove_folder(&place).or_else(|_| files::remove_if_there(&place)).unwrap();
            symlink(target, &place).unwrap();
        };
        let mut snapshot = vault.look_at(source, &lab.policy, &lab.cancel).unwrap();
        snapshot.begin_with(&vault.records().index(attempt)).unwrap();
        for name in names {
            put(&snapshot, name, &outside);
        }
        snapshot.look(&[]).unwrap();
        assert_eq!(read(&outside), "kept\n");
        let index = vault.records().index(attempt);
        let copied = lab.home().join("copied");
        put(&snapshot, "git/index", &index);
        let folder = snapshot.folder.path();
        files::copy_from_below(folder, "git/index", &copied).unwrap_err();
        assert!(!copied.exists());
        let packs = lab.home().join("packs");
        fs::create_dir(&packs).unwrap();
        put(&snapshot, "git/objects/pack", &packs);
        let error = snapshot.supply(&start.0).unwrap_err();
        assert!(error.to_string().contains("pack-objects"), "{error}");
    }
}
