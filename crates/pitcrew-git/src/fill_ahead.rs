//! Fills the checkout of a sub-task while the state that it will begin with is still being kept.
//!
//! It is a guess: filled with the state that was kept last, of which hardly anything differs. Whoever
//! makes the checkout changes that and nothing else, or begins anew. Nobody has been in it before, so
//! it may be thrown away at any time.

use crate::{
    CheckoutKind, PrepareCheckout, Vault,
    error::FileError,
    files::{self, failed, require_free_space},
    names,
    records::{self, AheadRecord, Durability},
};
use pitcrew_model::{AttemptId, CommitId, TaskId};
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

/// What the tree is on until it is somebody's.
const BRANCH: &str = "pitcrew/ahead";
const SCRIPT: &str = include_str!("ahead.sh");

/// How soon it is noticed that nobody wants it any more.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

#[derive(Clone, Debug)]
pub struct FillAhead {
    /// Whose state is being kept.
    pub parent: AttemptId,
    /// The sub-task that waits for it.
    pub task: TaskId,
    pub slug: String,
    /// The state that was kept last.
    pub commit: CommitId,
}

/// A checkout that is being filled, or was.
#[derive(Debug)]
pub(crate) struct Ahead {
    parent: AttemptId,
    task: TaskId,
    pub(crate) path: PathBuf,
    commit: CommitId,
    cancel: Cancel,
    /// Says once whether all of it is there.
    filled: Receiver<bool>,
}

/// At most one for each parent.
pub(crate) type AllAhead = BTreeMap<AttemptId, Ahead>;

impl Vault {
    /// Fills it, on this thread. What was filled before for a sub-task of the same parent and was not
    /// taken is removed.
    pub fn fill_ahead(&self, order: &FillAhead, policy: &Policy) {
        self.drop_ahead(order.parent);
        let Some(path) = self.claim_ahead(order) else { return };
        let (sender, filled) = mpsc::channel();
        let (parent, task, commit) = (order.parent, order.task, order.commit.clone());
        let cancel = Cancel::default();
        let ahead =
            Ahead { parent, task, path: path.clone(), commit, cancel: cancel.clone(), filled };
        self.all_ahead().insert(parent, ahead);
        let made = self.write_git_dir(&path, BRANCH, &order.commit).and_then(|_| {
            // The other cores are for what is being kept.
            let fill = self.fill_tree(&path, &order.commit, policy).config("checkout.workers=1");
            Ok(fill.done(&cancel)?)
        });
        sender.send(made.is_ok()).ok();
    }

    /// Nobody will take what was filled for a sub-task of this attempt.
    pub fn drop_ahead(&self, parent: AttemptId) {
        let ahead = self.all_ahead().remove(&parent);
        if let Some(ahead) = ahead {
            ahead.cancel.cancel();
            ahead.filled.recv().ok();
            self.remove_ahead(parent, &ahead.path);
        }
    }

    /// The same for all of them.
    pub fn drop_all_ahead(&self) {
        let parents: Vec<AttemptId> = self.all_ahead().keys().copied().collect();
        for parent in parents {
            self.drop_ahead(parent);
        }
    }

    /// Removes what an earlier process has filled.
    pub(crate) fn sweep_ahead(&self) {
        for entry in fs::read_dir(self.records().all_ahead()).into_iter().flatten().flatten() {
            let Ok(Some(AheadRecord { parent, path })) = records::read(&entry.path()) else {
                continue;
            };
            if is_nobodys(Path::new(&path)) {
                self.remove_ahead(parent, Path::new(&path));
            } else {
                files::remove_if_there(&entry.path()).ok();
            }
        }
    }

    /// What is being filled for the checkout that is ordered.
    pub(crate) fn take_ahead(&self, order: &PrepareCheckout) -> Option<Ahead> {
        let is_first = order.kind == CheckoutKind::Subtask && order.name.number <= 1;
        let mut all = self.all_ahead();
        let parent = all.values().find(|it| is_first && it.task == order.name.task)?.parent;
        all.remove(&parent)
    }

    /// From now on it is known as the checkout of an attempt.
    pub(crate) fn forget_ahead(&self, ahead: &Ahead) -> Result<(), FileError> {
        files::remove_if_there(&self.records().ahead(ahead.parent))
    }

    /// Waits until it is filled and takes it to the state that is asked for; whether that is what a
    /// new folder would have become.
    pub(crate) fn catch_up(
        &self,
        ahead: &Ahead,
        start: &CommitId,
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
            ahead.date_index().is_ok() && call.done(cancel).is_ok()
        };
        let branch = ahead.path.join(".git/refs/heads").join(BRANCH);
        is_there && files::remove_if_there(&branch).is_ok()
    }

    /// Makes an empty folder that is surely ours; nothing where that is not as easy as it mostly is.
    fn claim_ahead(&self, order: &FillAhead) -> Option<PathBuf> {
        let folder = names::folder(CheckoutKind::Subtask, order.task, &order.slug);
        let path = self.layout.checkouts.join(folder);
        files::create_folder(&self.layout.checkouts).ok()?;
        require_free_space(&self.layout.checkouts).ok()?;
        if files::is_there(&path) {
            return None;
        }
        let note = self.records().ahead(order.parent);
        let record = AheadRecord { parent: order.parent, path: path.to_str()?.to_owned() };
        records::write(&note, &record, Durability::Process).ok()?;
        let made = fs::create_dir(&path).map_err(failed("create the folder", &path));
        if made.is_err() {
            files::remove_if_there(&note).ok();
        }
        made.ok().map(|()| path)
    }

    fn remove_ahead(&self, parent: AttemptId, path: &Path) {
        // What cannot be removed now is removed when the vault is opened the next time.
        if files::remove_folder(path).is_ok() {
            files::remove_if_there(&self.records().ahead(parent)).ok();
        }
    }

    fn all_ahead(&self) -> MutexGuard<'_, AllAhead> {
        self.ahead.lock().expect("no holder of the lock panics")
    }
}

/// Whether nobody was let into it. A power loss may bring back the note of one that is somebody's.
fn is_nobodys(path: &Path) -> bool {
    match fs::read_to_string(path.join(".git/HEAD")) {
        Ok(head) => head.trim_end() == format!("ref: refs/heads/{BRANCH}"),
        Err(_) => fs::read_dir(path)
            .is_ok_and(|entries| entries.flatten().all(|it| it.file_name() == ".git")),
    }
}

impl Ahead {
    /// Git reads files again that may have been written after the index, and knows only seconds. None
    /// of these was.
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
