//! Takes a snapshot of a checkout while a worker writes to it.
//!
//! Usually little or nothing has changed, which the index of the last snapshot shows quickly. The
//! agent's index, HEAD and tree are not changed. Changes that are made during a snapshot are in the
//! next one.

use crate::{
    Vault,
    error::{FileError, VaultError},
    files::{self, require_free_space},
    names,
    records::{self, Durability, KeptRecord},
    snapshot::{Agent, Listed, Nested, Snapshot, Source},
    steps::Step,
};
use pitcrew_model::{AttemptId, CommitId, Failure, limits};
use pitcrew_process::{Cancel, Policy};
use std::{
    ffi::OsStr,
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    thread,
};

#[derive(Clone, Debug)]
pub struct TakeSnapshot {
    pub attempt: AttemptId,
    pub path: PathBuf,
    /// The commit that the attempt started from.
    pub start: CommitId,
    /// The commit that the size is compared with.
    pub base: CommitId,
    pub number: u32,
    /// The last kept state.
    pub last: Option<CommitId>,
}

impl TakeSnapshot {
    /// Whether the commit is a new state. The start and the last state must not be stored under
    /// this number, because they would block all later states.
    fn is_news(&self, commit: &CommitId) -> bool {
        *commit != self.start && Some(commit) != self.last.as_ref()
    }
}

impl Vault {
    /// Commits everything in the checkout and imports it into the vault. Returns `None` if nothing
    /// has changed since the last snapshot or if the checkout is back at the start.
    ///
    /// Ignored files and files that are too large for any attempt are left out. A repeated call
    /// with the same number returns the same snapshot.
    pub fn take_snapshot(
        &self,
        order: &TakeSnapshot,
        policy: &Policy,
        cancel: &Cancel,
    ) -> Result<Option<pitcrew_model::Snapshot>, Failure> {
        let name = names::snapshot_ref(order.attempt, order.number);
        let kept = self.keep_changes(order, &name, policy, cancel)?;
        // A snapshot that was made before a crash is reported like a new one.
        Ok(match kept {
            Some(Kept::Now(snapshot)) => Some(snapshot),
            Some(Kept::Before(commit)) => Some(self.sized(order, commit, cancel)?),
            None => None,
        })
    }

    fn sized(
        &self,
        order: &TakeSnapshot,
        commit: CommitId,
        cancel: &Cancel,
    ) -> Result<pitcrew_model::Snapshot, Failure> {
        let counted = self.count_changes(&order.base, &commit, cancel)?;
        Ok(pitcrew_model::Snapshot {
            commit,
            files_count: counted.changes.len() as u64,
            insertions: counted.insertions,
            deletions: counted.deletions,
        })
    }

    fn keep_changes(
        &self,
        order: &TakeSnapshot,
        name: &str,
        policy: &Policy,
        cancel: &Cancel,
    ) -> Result<Option<Kept>, Failure> {
        if !files::is_folder(&order.path) {
            if let Some(made) = self.resolve(name, cancel)?.filter(|it| order.is_news(it)) {
                return Ok(Some(Kept::Before(made)));
            }
            let message = format!("`{}` is gone", order.path.display());
            return Err(Failure::Checkout { message });
        }
        let source = Source {
            attempt: order.attempt,
            path: &order.path,
            start: &order.start,
            message: "Snapshot of a Pitcrew worker",
            nested: Nested::Flattened,
            agent: Agent::Working,
        };
        let mut snapshot = self.look_at(source, policy, cancel)?;
        let last = self.last_kept(order, cancel)?;
        if last.is_kept_index {
            snapshot.supply(&last.record.commit.0)?;
        }
        snapshot.begin_with(&last.index)?;
        let is_same_head =
            |it: &Snapshot<'_>| it.head.as_ref().unwrap_or(&order.start) == &last.record.head;
        // The snapshot may have been made before a crash. Later changes of the tree will be in the
        // next one.
        let made = if self.may_have(name)? { self.resolve(name, cancel)? } else { None };
        let made = made.filter(|it| order.is_news(it));
        let room = require_free_space(&self.layout.vault);
        if made.is_none() && room.is_ok() {
            snapshot.list_and_keep()?;
        }
        if snapshot.listed == Listed::Nothing && is_same_head(&snapshot) {
            return Ok(None);
        }
        if snapshot.listed != Listed::All {
            let (large, changed): (Vec<_>, Vec<_>) =
                snapshot.changed()?.into_iter().partition(|it| is_large(&order.path, it));
            if changed.is_empty() && is_same_head(&snapshot) {
                return Ok(None);
            }
            if made.is_some() {
                return Ok(made.map(Kept::Before));
            }
            room?;
            snapshot.look_and_keep(&large)?;
        }
        if snapshot.tree == last.record.tree && is_same_head(&snapshot) {
            self.keep_index(&snapshot)?;
            return Ok(None);
        }
        let head = snapshot.head.clone().unwrap_or_else(|| order.start.clone());
        if order.is_news(&snapshot.commit) {
            snapshot.deliver_anyhow()?;
        }
        // Without the agent's invalid commits, the result may equal the start.
        if !order.is_news(&snapshot.commit) {
            self.remember(order, &snapshot, &last, head)?;
            return Ok(None);
        }
        // The two are independent of each other.
        let made = thread::scope(|scope| {
            let commit = snapshot.commit.clone();
            let sizing = scope.spawn(move || self.sized(order, commit, cancel));
            self.set_ref(name, &snapshot.commit)?;
            self.remember(order, &snapshot, &last, head)?;
            drop(snapshot);
            sizing.join().expect("it does not panic")
        })?;
        self.gather_packs(cancel)?;
        Ok(Some(Kept::Now(made)))
    }

    /// Saves the results for the next snapshot.
    fn remember(
        &self,
        order: &TakeSnapshot,
        snapshot: &Snapshot<'_>,
        last: &LastKept,
        head: CommitId,
    ) -> Result<(), FileError> {
        if order.is_news(&snapshot.commit) || snapshot.commit == last.record.commit {
            // Written before the index, because the index alone would show no changes.
            let (commit, tree) = (snapshot.commit.clone(), snapshot.tree.clone());
            let record = KeptRecord { commit, tree, head };
            records::write(&self.records().kept(order.attempt), &record, Durability::Process)?;
        }
        self.keep_index(snapshot)
    }

    /// Whether the ref may exist. Running git takes longer, and usually the ref does not exist.
    pub(crate) fn may_have(&self, name: &str) -> Result<bool, FileError> {
        let vault = &self.layout.vault;
        if files::is_there(&vault.join(name)) || files::is_folder(&vault.join("reftable")) {
            return Ok(true);
        }
        let packed = files::read_if_there(&vault.join("packed-refs"))?.unwrap_or_default();
        Ok(String::from_utf8_lossy(&packed).contains(name))
    }

    /// The last kept state of the checkout.
    fn last_kept(&self, order: &TakeSnapshot, cancel: &Cancel) -> Result<LastKept, VaultError> {
        let records = self.records();
        let last = order.last.as_ref().unwrap_or(&order.start);
        let record = records::read::<KeptRecord>(&records.kept(order.attempt))?;
        let kept = records.kept_index(order.attempt);
        match record.filter(|it| it.commit == *last) {
            Some(record) if files::is_there(&kept) => {
                Ok(LastKept { record, index: kept, is_kept_index: true })
            }
            Some(record) => {
                let index = records.index(order.attempt);
                Ok(LastKept { record, index, is_kept_index: false })
            }
            None => {
                let (tree, commit) = (self.tree(last, cancel)?, last.clone());
                let record = KeptRecord { commit, tree, head: order.start.clone() };
                if order.last.is_none() {
                    // This runs every half minute, so the result is saved for the next time.
                    files::remove_if_there(&kept)?;
                    records::write(&records.kept(order.attempt), &record, Durability::Process)?;
                }
                let index = records.index(order.attempt);
                Ok(LastKept { record, index, is_kept_index: false })
            }
        }
    }

    fn keep_index(&self, snapshot: &Snapshot<'_>) -> Result<(), FileError> {
        let kept = self.records().kept_index(snapshot.source.attempt);
        if !snapshot.is_plain {
            return files::remove_if_there(&kept);
        }
        files::create_folder(&self.records().attempt(snapshot.source.attempt))?;
        let new = kept.with_extension("new");
        files::copy_from_below(snapshot.folder.path(), "git/index", &new)?;
        files::rename(&new, &kept)
    }
}

/// A snapshot in the vault.
enum Kept {
    Now(pitcrew_model::Snapshot),
    Before(CommitId),
}

struct LastKept {
    record: KeptRecord,
    index: PathBuf,
    /// Whether the index refers to objects of the kept commit that only the vault has.
    is_kept_index: bool,
}

impl Snapshot<'_> {
    /// Lists and commits the changes in one run, if there are few.
    fn list_and_keep(&mut self) -> Result<(), VaultError> {
        self.take(&[Step::Head, Step::Listed, Step::Tree, Step::Commit, Step::Pack])?;
        self.is_plain = self.listed == Listed::All;
        Ok(())
    }

    /// The paths that differ from the index: changed, new or deleted. Also finds the agent's HEAD.
    fn changed(&mut self) -> Result<Vec<Vec<u8>>, VaultError> {
        self.take(&[Step::Changed, Step::Head])?;
        let listed = self.written(Step::Changed)?;
        let paths = listed.split(|it| *it == 0).filter(|it| !it.is_empty());
        Ok(paths.map(<[u8]>::to_vec).collect())
    }
}

fn is_large(checkout: &Path, path: &[u8]) -> bool {
    let path = checkout.join(Path::new(OsStr::from_bytes(path)));
    fs::symlink_metadata(path).is_ok_and(|it| it.is_file() && it.len() > limits::BLOB_BYTES_MAX)
}
