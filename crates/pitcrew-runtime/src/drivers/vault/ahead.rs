//! Checkouts of sub-tasks that are filled while the state that they begin with is still being kept.
//!
//! A guess at the order to make one. It costs a core where one is idle, and nothing relies on it.

use super::VaultDriver;
use crate::Handle;
use pitcrew_git::FillAhead;
use pitcrew_kernel::State;
use pitcrew_model::{AttemptId, CommitId, TaskId, TaskStatus, WorkspaceMode, text};

impl VaultDriver {
    /// A state of this attempt is about to be kept, and differs little from the one that was kept
    /// last. The first of those who wait for it is given a checkout.
    pub async fn expect_checkout(&self, handle: &Handle, parent: AttemptId, last: CommitId) {
        let next = handle.look(move |state| next(state, parent)).await.flatten();
        let (vault, policy) = (self.vault.clone(), self.policy.clone());
        // The vault knows of it, and ends it.
        tokio::task::spawn_blocking(move || match next {
            Some((task, slug)) => {
                vault.fill_ahead(&FillAhead { parent, task, slug, commit: last }, &policy);
            }
            None => vault.drop_ahead(parent),
        });
    }

    /// Nobody is handed out work by this attempt any more.
    pub(super) fn expect_no_checkout(&self, parent: AttemptId) {
        let vault = self.vault.clone();
        tokio::task::spawn_blocking(move || vault.drop_ahead(parent));
    }

    /// The same for all of them, for a shutdown; it waits until nothing of it is left.
    pub async fn end_ahead(&self) {
        let vault = self.vault.clone();
        tokio::task::spawn_blocking(move || vault.drop_all_ahead()).await.ok();
    }
}

/// Who will work in a checkout of its own as soon as the state is kept, and what it is called.
fn next(state: &State, parent: AttemptId) -> Option<(TaskId, String)> {
    let waiters = state.attempts.get(parent)?.family.waiters.iter();
    let mut waiters = waiters.filter_map(|it| state.tasks.get(*it));
    let task = waiters.find(|it| {
        let is_isolated = |it: WorkspaceMode| it == WorkspaceMode::Isolated;
        it.status == TaskStatus::Pending
            && it.delegation.as_ref().is_some_and(|it| is_isolated(it.workspace))
    })?;
    let has_slot = state.agenda.slots_used < state.agents_max;
    has_slot.then(|| (task.id, text::slug(&task.spec.key)))
}
