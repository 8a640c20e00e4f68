//! A commit of everything in an agent's checkout.
//!
//! The commit is made with a separate git folder outside of the tree: the agent's `.git` may be
//! missing, broken or hostile, and that must not lose any of its work. Nested repositories can
//! still make git run their programs, so every call is confined.

use crate::{
    Vault, agent_git,
    base_store::Store,
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

/// The name of the branch in the snapshot's separate git folder.
pub(crate) const BRANCH: &str = "snapshot";

/// The steps after a tree was read that is to be kept.
pub(crate) const KEEPING: [Step; 4] = [Step::Tree, Step::Head, Step::Commit, Step::Pack];

/// The tree and the attempt to snapshot.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) attempt: AttemptId,
    pub(crate) path: &'a Path,
    /// The commit that the attempt started from.
    pub(crate) start: &'a CommitId,
    pub(crate) message: &'a str,
    pub(crate) nested: Nested,
    pub(crate) agent: Agent,
}

/// Whether a process of an agent may still run in a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Agent {
    /// It may still depend on files that it created there.
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

/// How to treat repositories that the agent created inside the tree.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nested {
    /// They are listed, but their files are not in the snapshot.
    Listed,
    /// Their files are in the snapshot as if they belonged to this repository.
    Flattened,
}

/// The result of listing the paths that differ from the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listed {
    /// Not listed, or there were too many paths or unusual ones.
    Not,
    Nothing,
    /// All of them were added to the index.
    All,
}

/// A snapshot in a temporary git folder, which is removed on drop.
pub(crate) struct Snapshot<'a> {
    pub(crate) vault: &'a Vault,
    pub(crate) source: Source<'a>,
    /// Allows to read the store.
    pub(crate) policy: Policy,
    pub(crate) store: Store,
    pub(crate) cancel: &'a Cancel,
    /// A box in which the steps wait, and the arguments of the steps.
    pub(crate) waiting: Option<(Vec<OsString>, Waiting)>,
    pub(crate) folder: TemporaryFolder,
    pub(crate) tree: String,
    /// The commit at the agent's HEAD, according to the agent's git folder.
    pub(crate) head: Option<CommitId>,
    /// The commit of the snapshot, which descends from the start.
    pub(crate) commit: CommitId,
    /// The reason if the commit cannot be packed.
    pub(crate) broken: Option<GitError>,
    pub(crate) listed: Listed,
    /// The agent's repositories that are not in the snapshot.
    pub(crate) left_out: Vec<String>,
    /// Files and folders that cannot be read and are not in the snapshot.
    pub(crate) unread: Vec<String>,
    /// Whether the index has only files of this tree, so that the next snapshot can start with it.
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

    /// Prepares a snapshot of a tree. Does not read the tree yet.
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

    /// Does the same in a folder that is complete except for the message.
    pub(crate) fn snapshot_in<'a>(
        &'a self,
        folder: TemporaryFolder,
        source: Source<'a>,
        policy: &'a Policy,
        cancel: &'a Cancel,
    ) -> Result<Snapshot<'a>, VaultError> {
        files::write(&folder.path().join("message"), message(source.message))?;
        let store = self.lender(source.path, source.start, cancel)?;
        Ok(Snapshot {
            vault: self,
            source,
            policy: store.readable(policy),
            store,
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

    /// A confined command that works on the tree with the separate git folder.
    pub(crate) fn call(&self, command: &'static str) -> Call<'_> {
        self.call_in(self.source.path, command)
    }

    /// Does the same for a folder of the tree, treated as a separate tree.
    pub(crate) fn call_in(&self, place: &Path, command: &'static str) -> Call<'_> {
        self.vault
            .git
            .confined(&self.policy, place, command)
            .within(self.source.path)
            .writing(self.folder.path())
            .git_dir(&self.git_dir())
            .option("--work-tree=.")
            .config("core.bigFileThreshold=16m")
            // The index is reliable only if all metadata of a file is compared.
            .config("core.trustctime=true")
            .config("core.checkStat=default")
            .config("advice.addEmbeddedRepo=false")
    }

    /// The record of this snapshot, for the next snapshot of the tree.
    pub(crate) fn record(&self) -> KeptRecord {
        let head = self.head.as_ref().unwrap_or(self.source.start).clone();
        KeptRecord { commit: self.commit.clone(), tree: self.tree.clone(), head }
    }

    /// Makes the commit without the agent's own commits, if those cannot be used.
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
        let objects = [self.store.objects()];
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

    /// Adds objects of the vault that are in neither the store nor the checkout.
    pub(crate) fn supply(&self, wanted: &str) -> Result<(), VaultError> {
        let objects = self.git_dir().join("objects");
        if !files::is_folder_below(self.folder.path(), "git/objects/pack") {
            let reason = "something in a box has replaced the folder of its packs".into();
            let kind = GitErrorKind::Unreadable { reason };
            return Err(GitError { command: "pack-objects", place: objects, kind }.into());
        }
        self.vault.supply(&self.store, &objects, wanted, self.cancel)
    }

    /// Finds the commit at the agent's HEAD without running git. If it is a commit of the agent,
    /// git reads the agent's objects too.
    pub(crate) fn find_head(&self) -> Result<(), FileError> {
        let folder = self.folder.path();
        let head = agent_git::head(self.source.path, self.source.start);
        let mut objects = vec![self.store.objects()];
        if head.as_ref().is_some_and(|it| it != self.source.start) {
            objects.push(self.source.path.join(".git/objects"));
        }
        // A program of the agent may have run in the box of earlier steps.
        files::write_below(folder, "git/objects/info/alternates", alternates(&objects))?;
        let head = head.map_or_else(String::new, |it| format!("{it}\n"));
        files::write_below(folder, "head", head)
    }

    /// Returns an error if anything could not be read that would be lost with the tree.
    pub(crate) fn require_all_read(&self) -> Result<(), GitError> {
        let mut paths = self.unread.clone();
        if self.source.nested == Nested::Flattened {
            // In the other mode, the gate refuses them by name.
            paths.extend(self.left_out.iter().cloned());
        }
        if paths.is_empty() {
            return Ok(());
        }
        let kind = GitErrorKind::Unread { paths };
        Err(GitError { command: "add", place: self.source.path.to_owned(), kind })
    }

    /// Starts with an index that shows which files are unchanged. If it is missing, the index of
    /// the start is used.
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

    /// Settles the index of the new checkout, which was written before any agent used it. Any other
    /// index is unsuitable, because a file may have changed twice within the same timestamp, once
    /// before git read it.
    fn settled(&self, index: &Path) -> Option<Vec<u8>> {
        let is_first = index == self.vault.records().index(self.source.attempt);
        is_first.then(|| index_file::settled(index, self.source.path, self.source.start)).flatten()
    }

    /// Creates a tree of everything but the given paths, and finds the agent's HEAD.
    pub(crate) fn look(&mut self, without: &[Vec<u8>]) -> Result<(), VaultError> {
        self.look_and(without, &[Step::Tree, Step::Head])
    }

    /// Does the same, and commits the tree.
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

    /// Commits the tree on top of the agent's commits, if those are valid and descend from the
    /// start.
    pub(crate) fn keep(&mut self) -> Result<(), VaultError> {
        self.take(&[Step::Commit, Step::Pack])
    }
}

/// Makes a message that git accepts: not empty, with a newline at its end, and without NUL bytes,
/// which would truncate it.
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

    /// Nested repositories make git run programs in the box of the steps, which can write to the
    /// temporary folder.
    #[test]
    fn links_left_in_the_snapshot_folder_are_not_followed() {
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
