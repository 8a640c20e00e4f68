//! Merges the work of a sub-task into its parent's checkout.
//!
//! The work is merged with everything in the tree, committed or not. The agent's index and HEAD are
//! not changed. On a conflict, the tree stays unchanged. Changes are recorded before they are made,
//! so that a crash in the middle can be repaired, and a failure in the middle is undone.

use crate::{
    Vault,
    changes::{Change, Counted, PLAIN_DIFF},
    error::{GitError, GitErrorKind, VaultError},
    files::{self, require_free_space},
    merge::Merge,
    names,
    records::{self, Durability},
    snapshot::{Agent, Nested, Snapshot, Source},
};
use pitcrew_model::{AttemptId, CommitId, Failure, Work, Zone};
use pitcrew_process::{Cancel, Policy};
use serde::{Deserialize, Serialize};
use std::{ffi::OsStr, os::unix::ffi::OsStrExt, path::PathBuf};

/// How many times to try if the tree changes during the merge.
const LOOKS_MAX: usize = 3;

#[derive(Clone, Debug)]
pub struct PullWork {
    /// The attempt whose checkout receives the work.
    pub attempt: AttemptId,
    pub path: PathBuf,
    /// The commit that the sub-task started from.
    pub base: CommitId,
    /// The result of the sub-task. Two orders with the same work are the same order.
    pub work: CommitId,
    /// The paths that the sub-task may change.
    pub zone: Zone,
}

/// The changes of one order to the tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct PullRecord {
    state: PullState,
    /// The trees before and after the change.
    before: String,
    after: String,
    pulled: Work,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum PullState {
    /// Some of the changes may be in the tree.
    Applying,
    Done,
}

impl Vault {
    /// Merges the work into the tree. Returns the changes there, with the commit of the work.
    ///
    /// A repeated call finishes an interrupted one, or returns the same result.
    pub fn pull(
        &self,
        order: &PullWork,
        policy: &Policy,
        cancel: &Cancel,
    ) -> Result<Work, Failure> {
        if !files::is_folder(&order.path) {
            let message = format!("`{}` is gone", order.path.display());
            return Err(Failure::Checkout { message });
        }
        require_free_space(&self.layout.vault)?;
        require_free_space(&order.path)?;
        let record = self.records().checkout(order.attempt)?;
        let start = record.map_or_else(|| order.base.clone(), |it| it.start);
        let pulling = Pulling { vault: self, order, start, policy, cancel };
        let note = self.records().pull(order.attempt, &order.work);
        match records::read::<PullRecord>(&note)? {
            Some(record) if record.state == PullState::Done => Ok(record.pulled),
            Some(record) => pulling.finish(record),
            None => pulling.begin(),
        }
    }

    /// Deletes the refs of the states before something was pulled.
    pub(crate) fn drop_pulls(&self, attempt: AttemptId, cancel: &Cancel) -> Result<(), VaultError> {
        let refs = names::pull_refs(attempt);
        if !self.may_have(&refs)? {
            return Ok(());
        }
        let names = self.call("for-each-ref").args(["--format=%(refname)", &refs]).line(cancel)?;
        for name in names.lines() {
            self.delete_ref(name)?;
        }
        Ok(())
    }
}

/// One order in progress.
struct Pulling<'a> {
    vault: &'a Vault,
    order: &'a PullWork,
    /// The commit that the attempt started from.
    start: CommitId,
    policy: &'a Policy,
    cancel: &'a Cancel,
}

impl Pulling<'_> {
    fn begin(&self) -> Result<Work, Failure> {
        for _ in 1..LOOKS_MAX {
            match self.try_once() {
                Err(Tried::Moved(_)) => {}
                Err(Tried::Failed(failure)) => return Err(failure),
                Ok(pulled) => return Ok(pulled),
            }
        }
        self.try_once().map_err(|it| match it {
            Tried::Moved(error) => VaultError::Git(error).into(),
            Tried::Failed(failure) => failure,
        })
    }

    fn try_once(&self) -> Result<Work, Tried> {
        let Self { vault, order, .. } = self;
        let mut snapshot = self.look()?;
        let name = format!("{}{}", names::pull_refs(order.attempt), order.work);
        snapshot.import_anyhow(&name)?;
        let pulled = self.merge_into(&snapshot);
        // The earlier state is needed only to finish an interrupted change.
        if !files::is_there(&self.note_file()) || pulled.is_ok() {
            vault.delete_ref(&name)?;
        }
        pulled
    }

    fn merge_into(&self, snapshot: &Snapshot<'_>) -> Result<Work, Tried> {
        let Self { vault, order, cancel, .. } = self;
        let (base, zone) = (Some(&order.base), Some(&order.zone));
        let merge = vault.merge(&snapshot.commit, &order.work, base, zone, cancel)?;
        let after = match merge {
            Merge::Clean(tree) => tree,
            Merge::Conflict(paths) => {
                return Err(Failure::Conflict { paths, with: Vec::new() }.into());
            }
        };
        let before = snapshot.tree.clone();
        let (from, to) = (CommitId(before.clone()), CommitId(after.clone()));
        let counted = vault.count_changes(&from, &to, cancel)?;
        self.require_room(&counted)?;
        snapshot.supply(&after)?;
        let pulled = counted.into_work(order.work.clone());
        let mut record = PullRecord { state: PullState::Applying, before, after, pulled };
        self.note(&record)?;
        match self.apply(snapshot, &record.before, &record.after) {
            Err(Tried::Moved(error)) => {
                files::remove_if_there(&self.note_file())?;
                return Err(Tried::Moved(error));
            }
            Err(Tried::Failed(failure)) => return Err(self.take_back(&record, failure).into()),
            Ok(()) => {}
        }
        record.state = PullState::Done;
        self.note(&record)?;
        Ok(record.pulled)
    }

    /// Finishes an interrupted change. Some files may be old, some new, and one may be incomplete.
    /// The current state is saved in the vault, and then each file gets its new content.
    fn finish(&self, mut record: PullRecord) -> Result<Work, Failure> {
        let order = self.order;
        let mut snapshot = self.look()?;
        let torn = format!("{}{}-torn", names::pull_refs(order.attempt), order.work);
        snapshot.import_anyhow(&torn)?;
        self.go(&snapshot, &record.before, &record.after)?;
        record.state = PullState::Done;
        self.note(&record)?;
        Ok(record.pulled)
    }

    /// Undoes a change that failed in the middle. If that fails too, the record is kept, and the
    /// next order for the same work finishes the change.
    fn take_back(&self, record: &PullRecord, failure: Failure) -> Failure {
        let back = || -> Result<(), Failure> {
            let snapshot = self.look()?;
            self.go(&snapshot, &record.after, &record.before)?;
            Ok(files::remove_if_there(&self.note_file())?)
        };
        match back() {
            Ok(()) => failure,
            Err(again) => Failure::Checkout {
                message: format!(
                    "{failure}; a part of it is in the checkout, and that could not be taken back \
                     ({again}): fix what failed, then pull again"
                ),
            },
        }
    }

    /// Sets every path that differs between two trees to its state in `to`, whatever its current
    /// state.
    fn go(&self, now: &Snapshot<'_>, from: &str, to: &str) -> Result<(), Failure> {
        let changes = self
            .vault
            .foreign("diff-tree")
            .args(PLAIN_DIFF)
            .args(["--raw", from, to])
            .changes(self.cancel)?;
        now.supply(to)?;
        let wanted = self.with_changes(now, &changes)?;
        self.apply(now, &now.tree, &wanted).map_err(|it| match it {
            Tried::Moved(error) => VaultError::Git(error).into(),
            Tried::Failed(failure) => failure,
        })
    }

    /// A snapshot of the current tree, with a separate index.
    fn look(&self) -> Result<Snapshot<'_>, VaultError> {
        let Self { vault, order, start, policy, cancel } = self;
        let source = Source {
            attempt: order.attempt,
            path: &order.path,
            start,
            message: "State before the work of a sub-task was pulled",
            nested: Nested::Listed,
            agent: Agent::Working,
        };
        let mut snapshot = vault.look_at(source, policy, cancel)?;
        snapshot.begin_with(&vault.records().index(order.attempt))?;
        snapshot.look_and_keep(&[])?;
        Ok(snapshot)
    }

    /// Git would overwrite an ignored file, so this check rejects added paths that already exist.
    fn require_room(&self, counted: &Counted) -> Result<(), Failure> {
        let is_added = |it: &&Change| it.letter == 'A';
        let is_taken =
            |it: &&Change| files::is_there(&self.order.path.join(OsStr::from_bytes(&it.path)));
        let taken = counted.changes.iter().filter(is_added).filter(is_taken);
        let paths: Vec<String> = taken.map(Change::path_text).collect();
        if paths.is_empty() { Ok(()) } else { Err(Failure::Conflict { paths, with: Vec::new() }) }
    }

    /// Updates the tree from one state to another. Changes only what differs, and nothing if any of
    /// these files does not match the first state.
    fn apply(&self, snapshot: &Snapshot<'_>, from: &str, to: &str) -> Result<(), Tried> {
        let applied = snapshot
            .call("read-tree")
            .config("submodule.recurse=false")
            .args(["-m", "-u", from, to])
            .done(self.cancel);
        applied.map_err(|error| {
            let GitErrorKind::Exit { stderr, .. } = &error.kind else { return error.into() };
            // Git checks everything before it changes anything.
            let is_untouched =
                stderr.contains("not uptodate") || stderr.contains("would be overwritten");
            if is_untouched { Tried::Moved(error) } else { error.into() }
        })
    }

    /// The tree of the snapshot with these changes.
    fn with_changes(
        &self,
        snapshot: &Snapshot<'_>,
        changes: &[Change],
    ) -> Result<String, VaultError> {
        let index = snapshot.folder.path().join("after.index");
        files::copy_from_below(snapshot.folder.path(), "git/index", &index)?;
        let mut lines = Vec::new();
        for change in changes {
            lines.extend(format!("{} {}\t", change.mode_after, change.object).into_bytes());
            lines.extend(&change.path);
            lines.push(0);
        }
        snapshot
            .call("update-index")
            .env("GIT_INDEX_FILE", &index)
            .args(["-z", "--index-info"])
            .stdin(lines)
            .done(self.cancel)?;
        Ok(snapshot.call("write-tree").env("GIT_INDEX_FILE", &index).line(self.cancel)?)
    }

    fn note(&self, record: &PullRecord) -> Result<(), Failure> {
        Ok(records::write(&self.note_file(), record, Durability::Process)?)
    }

    fn note_file(&self) -> PathBuf {
        self.vault.records().pull(self.order.attempt, &self.order.work)
    }
}

/// Why the work was not merged into the tree.
enum Tried {
    /// The tree changed during the merge.
    Moved(GitError),
    Failed(Failure),
}

impl<T: Into<Failure>> From<T> for Tried {
    fn from(error: T) -> Self {
        Self::Failed(error.into())
    }
}
