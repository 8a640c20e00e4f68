//! Fills checkouts of sub-tasks while their initial state is still being saved.
//!
//! This predicts the order that creates the checkout. It uses an idle core, and nothing depends on
//! it.

use super::VaultDriver;
use crate::Handle;
use pitcrew_git::FillAhead;
use pitcrew_kernel::State;
use pitcrew_model::{AttemptId, CommitId, TaskId, TaskStatus, WorkspaceMode, text};

impl VaultDriver {
    /// Starts filling a checkout for the first sub-task that waits for a state of this attempt. The
    /// state is about to be saved and differs little from the last saved one.
    pub async fn expect_checkout(&self, handle: &Handle, parent: AttemptId, last: CommitId) {
        let next = handle.look(move |state| next(state, parent)).await.flatten();
        let (vault, policy) = (self.vault.clone(), self.policy.clone());
        // The task may be detached, because the vault keeps track of it and ends it.
        tokio::task::spawn_blocking(move || match next {
            Some((task, slug)) => {
                vault.fill_ahead(&FillAhead { parent, task, slug, commit: last }, &policy);
            }
            None => vault.drop_ahead(parent),
        });
    }

    /// Discards the checkout, because this attempt will not delegate further work.
    pub(super) fn expect_no_checkout(&self, parent: AttemptId) {
        let vault = self.vault.clone();
        tokio::task::spawn_blocking(move || vault.drop_ahead(parent));
    }

    /// Discards all checkouts at shutdown, and waits until nothing is left of them.
    pub async fn end_ahead(&self) {
        let vault = self.vault.clone();
        tokio::task::spawn_blocking(move || vault.drop_all_ahead()).await.ok();
    }
}

/// The next sub-task that gets an isolated checkout when the state is saved, and its name.
fn next(state: &State, parent: AttemptId) -> Option<(TaskId, String)> {
    let waiters = state.attempts.get(parent)?.family.waiters.iter();
    let mut waiters = waiters.filter_map(|it| state.tasks.get(*it));
    let task = waiters.find(|it| {
        let is_isolated = |it: WorkspaceMode| it == WorkspaceMode::Isolated;
        it.status == TaskStatus::Pending
            && it.delegation.as_ref().is_some_and(|it| is_isolated(it.workspace))
    })?;
    let has_slot = state.agenda.slots_used < state.agents_max && state.plan_has_slot(task.plan);
    has_slot.then(|| (task.id, text::slug(&task.spec.key)))
}
