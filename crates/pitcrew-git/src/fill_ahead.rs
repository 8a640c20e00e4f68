//! Fills the checkout of a sub-task while the snapshot that it will start from is still being
//! taken.
//!
//! This is speculative: the folder is filled with the previous snapshot, which usually differs
//! little. `PrepareCheckout` then updates what differs, or starts from scratch. No agent has used
//! the folder, so it may be discarded at any time.

use crate::{
    CheckoutKind, PrepareCheckout, Vault,
    base_store::Store,
    error::FileError,
    files::{self, failed},
    names,
    records::{self, AheadRecord, Durability},
};
use pitcrew_model::{AttemptId, CommitId, TaskId, limits};
use pitcrew_process::{Cancel, Policy};
use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::{
        MutexGuard,
        mpsc::{self, Receiver, RecvTimeoutError},
    },
    time::{Duration, SystemTime},
};

/// The name of the branch until the checkout is used.
const BRANCH: &str = "pitcrew/ahead";
const SCRIPT: &str = include_str!("ahead.sh");

/// Nothing is filled ahead if there is less free space than this.
const FREE_BYTES_MIN: u64 = 4 * limits::FREE_BYTES_MIN;

/// How often to check for a cancellation.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

#[derive(Clone, Debug)]
pub struct FillAhead {
    /// The attempt whose snapshot is being taken.
    pub parent: AttemptId,
    /// The sub-task that waits for the snapshot.
    pub task: TaskId,
    pub slug: String,
    /// The previous snapshot.
    pub commit: CommitId,
}

/// A checkout that is being filled or has been filled.
#[derive(Debug)]
pub(crate) struct Ahead {
    task: TaskId,
    pub(crate) path: PathBuf,
    commit: CommitId,
    cancel: Cancel,
    /// Receives one value: whether the folder was filled completely.
    filled: Receiver<bool>,
}

/// All checkouts that are being filled ahead.
#[derive(Debug, Default)]
pub(crate) struct AllAhead {
    /// At most one for each parent attempt.
    of: BTreeMap<AttemptId, Ahead>,
    /// Set if no more checkouts may be filled ahead.
    is_over: bool,
}

impl Vault {
    /// Fills the checkout on this thread. Removes an unused checkout that was filled earlier for
    /// another sub-task of the same parent.
    pub fn fill_ahead(&self, order: &FillAhead, policy: &Policy) {
        let (sender, filled) = mpsc::channel();
        let cancel = Cancel::default();
        let (path, old) = {
            let mut all = self.all_ahead();
            let is_same = |it: &Ahead| it.task == order.task;
            // A slightly older state is updated when it is used.
            if all.is_over || all.of.get(&order.parent).is_some_and(is_same) {
                return;
            }
            let (old, path) = (all.of.remove(&order.parent), self.claim_ahead(order));
            if let Some(path) = path.clone() {
                let (task, commit, cancel) = (order.task, order.commit.clone(), cancel.clone());
                all.of.insert(order.parent, Ahead { task, path, commit, cancel, filled });
            }
            (path, old)
        };
        if let Some(old) = old {
            self.end_ahead(&old);
        }
        let Some(path) = path else { return };
        let made = self.lend(&path, &order.commit, &cancel).and_then(|store| {
            self.write_git_dir(&path, BRANCH, &order.commit, &store, &cancel)?;
            let policy = store.readable(policy);
            Ok(self.fill_tree(&path, &order.commit, &policy, &cancel)?)
        });
        if made.is_err() {
            files::remove_folder(&path).ok();
        }
        sender.send(made.is_ok()).ok();
    }

    /// Discards the checkout that was filled for a sub-task of this attempt.
    pub fn drop_ahead(&self, parent: AttemptId) {
        let ahead = self.all_ahead().of.remove(&parent);
        if let Some(ahead) = ahead {
            self.end_ahead(&ahead);
        }
    }

    /// Discards all of them and prevents new ones.
    pub fn drop_all_ahead(&self) {
        let all = {
            let mut all = self.all_ahead();
            all.is_over = true;
            std::mem::take(&mut all.of)
        };
        for ahead in all.values() {
            self.end_ahead(ahead);
        }
    }

    pub(crate) fn end_ahead(&self, ahead: &Ahead) {
        ahead.cancel.cancel();
        ahead.filled.recv().ok();
        // If this fails, the folder is removed the next time the vault is opened.
        if files::remove_folder(&ahead.path).is_ok() {
            self.give_back(&ahead.path).ok();
            files::remove_if_there(&self.records().ahead(ahead.task)).ok();
        }
    }

    /// Removes the folders that an earlier process has filled.
    pub(crate) fn sweep_ahead(&self) {
        for entry in fs::read_dir(self.records().all_ahead()).into_iter().flatten().flatten() {
            if let Ok(Some(AheadRecord { path })) = records::read(&entry.path())
                && files::remove_folder(Path::new(&path)).is_ok()
            {
                files::remove_if_there(&entry.path()).ok();
            }
        }
    }

    /// Takes the checkout that is being filled for this order, if any.
    pub(crate) fn take_ahead(&self, order: &PrepareCheckout) -> Option<Ahead> {
        let is_first = order.kind == CheckoutKind::Subtask && order.name.number <= 1;
        let all = &mut self.all_ahead().of;
        let (parent, _) = all.iter().find(|it| is_first && it.1.task == order.name.task)?;
        let parent = *parent;
        all.remove(&parent)
    }

    /// Removes the note of the folder, which now is the checkout of an attempt. The note must not
    /// reappear, even after a power loss, because noted folders are removed.
    pub(crate) fn forget_ahead(&self, task: TaskId) -> Result<(), FileError> {
        let note = self.records().ahead(task);
        if files::is_there(&note) {
            files::remove_if_there(&note)?;
            let folder = self.records().all_ahead();
            let synced = fs::File::open(&folder).and_then(|it| it.sync_all());
            synced.map_err(failed("sync", &folder))?;
        }
        Ok(())
    }

    /// Waits until the folder is filled and updates it to `start`. Returns whether the result
    /// equals a new checkout.
    pub(crate) fn catch_up(
        &self,
        ahead: &Ahead,
        start: &CommitId,
        store: &Store,
        policy: &Policy,
        cancel: &Cancel,
    ) -> bool {
        if !ahead.is_filled(cancel) {
            return false;
        }
        let is_there = ahead.commit == *start || {
            let words = [&ahead.commit, start].map(|it| it.0.as_str().into()).into();
            let call = self.git.fresh(policy, &ahead.path, "read-tree");
            let call = call.config("submodule.recurse=false").script(SCRIPT, words);
            let objects = ahead.path.join(".git/objects");
            self.supply(store, &objects, &start.0, cancel).is_ok()
                && ahead.date_index().is_ok()
                && call.done(cancel).is_ok()
        };
        let branch = ahead.path.join(".git/refs/heads").join(BRANCH);
        is_there && files::remove_if_there(&branch).is_ok()
    }

    /// Creates an empty folder that certainly belongs to Pitcrew. `None` in all but the simplest
    /// case.
    fn claim_ahead(&self, order: &FillAhead) -> Option<PathBuf> {
        let folder = names::folder(CheckoutKind::Subtask, order.task, &order.slug);
        let path = self.layout.checkouts.join(folder);
        files::create_private_folder(&self.layout.checkouts).ok()?;
        // The space is needed first for the snapshot that is being taken.
        let has_room = files::free_bytes(&self.layout.checkouts).ok()? >= FREE_BYTES_MIN;
        if files::is_there(&path) || !has_room {
            return None;
        }
        let note = self.records().ahead(order.task);
        let record = AheadRecord { path: path.to_str()?.to_owned() };
        records::write(&note, &record, Durability::Process).ok()?;
        let made = fs::create_dir(&path);
        if made.is_err() {
            files::remove_if_there(&note).ok();
        }
        made.ok().map(|()| path)
    }

    fn all_ahead(&self) -> MutexGuard<'_, AllAhead> {
        self.ahead.lock().expect("no holder of the lock panics")
    }
}

impl Ahead {
    /// Dates the index later than all files. Git compares whole seconds and reads every file again
    /// that may have been written after the index; none of these was.
    fn date_index(&self) -> io::Result<()> {
        let later = SystemTime::now() + Duration::from_secs(1);
        fs::File::open(self.path.join(".git/index"))?.set_modified(later)
    }

    fn is_filled(&self, cancel: &Cancel) -> bool {
        loop {
            match self.filled.recv_timeout(LOOK_AGAIN) {
                Ok(filled) => return filled,
                Err(RecvTimeoutError::Disconnected) => return false,
                Err(RecvTimeoutError::Timeout) => {
                    if cancel.is_cancelled() {
                        self.cancel.cancel();
                    }
                }
            }
        }
    }
}
