//! Looks whether a person has merged the separate branch of a plan by hand.
//!
//! The look is made when somebody wants to see the board, so `pitcrew status` is never behind the
//! repository. It costs a git command only if a ref has changed since the last look.

use crate::Orchestrator;
use pitcrew_model::{CommitId, PlanId, Signal};
use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    sync::{Mutex, PoisonError},
    time::SystemTime,
};

/// The base branches when they were last looked at.
#[derive(Debug, Default)]
pub struct MergeWatch(Mutex<BTreeMap<PlanId, Seen>>);

/// What changes when a branch moves: the file of the ref, and the files of all refs.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    landed: CommitId,
    loose: Option<Vec<u8>>,
    shared: Vec<Option<SystemTime>>,
}

impl Seen {
    fn now(git_dir: &Path, branch: &str, landed: &CommitId) -> Self {
        let changed = |it: &&str| fs::metadata(git_dir.join(it)).and_then(|it| it.modified()).ok();
        Self {
            landed: landed.clone(),
            loose: fs::read(git_dir.join("refs/heads").join(branch)).ok(),
            shared: ["packed-refs", "reftable/tables.list"].iter().map(changed).collect(),
        }
    }
}

impl Orchestrator {
    /// Records every result on a separate branch that the base branch contains now.
    pub async fn find_merges(&self) {
        let results = self.handle().views().board.side_branches();
        for (plan, branch, landed) in results {
            let now = Seen::now(self.vault.user().common_dir(), &branch, &landed);
            let is_known = self.seen(|it| it.get(&plan) == Some(&now));
            if is_known {
                continue;
            }
            let (vault, cancel) = (self.vault.clone(), self.looks.clone());
            let (name, commit) = (branch.clone(), landed.clone());
            let look = move || vault.branch_contains(&name, &commit, &cancel);
            // If git fails, the next look tries again.
            let Ok(Ok(contains)) = tokio::task::spawn_blocking(look).await else { continue };
            if contains {
                let merged = Signal::MergedByHand { plan, branch, landed };
                self.handle().signal_and_wait(merged).await;
            }
            self.seen(|it| it.insert(plan, now));
        }
    }

    fn seen<T>(&self, with: impl FnOnce(&mut BTreeMap<PlanId, Seen>) -> T) -> T {
        with(&mut self.merges.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
