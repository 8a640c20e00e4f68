//! Zones and sandboxes: no worker changes more than its zone, and nothing starts in a weaker
//! sandbox than agreed.

use super::{Ledger, place};
use crate::broken::hold;
use pitcrew_model::{
    AttemptId, CheckoutRole, Effect, RepoPath, Standing, TaskId, Tier, WorkerId, WorkspaceMode,
    Zone,
};

impl Ledger {
    fn zone_of(&self, task: TaskId) -> Zone {
        let row = &self.tasks[place(task.0)];
        let plan = &self.plans[place(row.plan.0)];
        let is_named = row.part.as_ref().is_some_and(|it| it.is_named);
        let shared = if is_named { Vec::new() } else { plan.shared.clone() };
        Zone { region: row.files.clone(), shared, denied: plan.denied.clone() }
    }

    fn stay_of(&self, task: TaskId) -> CheckoutRole {
        let row = &self.tasks[place(task.0)];
        let only_reads = self.plans[place(row.plan.0)].readers.contains(&task);
        match row.part.as_ref().map(|it| it.workspace) {
            Some(WorkspaceMode::Shared) => CheckoutRole::Guest,
            Some(WorkspaceMode::ReadOnly) => CheckoutRole::Reader,
            Some(WorkspaceMode::Isolated) | None if only_reads => CheckoutRole::Reader,
            Some(WorkspaceMode::Isolated) | None => CheckoutRole::Owner,
        }
    }

    /// Checks that an effect has the zone of its task.
    pub(super) fn check_zone(&self, effect: &Effect) {
        let (attempt, zone, stay) = if let Effect::StartAgent { attempt, zone, stay, .. } = effect {
            (attempt, zone, Some(*stay))
        } else if let Effect::CollectWork { attempt, zone, .. } = effect {
            (attempt, zone, None)
        } else {
            return;
        };
        let task = self.attempts[place(attempt.0)].task;
        let mut wanted = self.zone_of(task);
        match stay {
            Some(stay) => {
                let is_right = stay == self.stay_of(task);
                hold!(is_right, "a checkout is entered as was agreed", "{attempt}: {stay:?}");
            }
            None if self.stay_of(task) == CheckoutRole::Reader => {
                wanted.denied = vec![RepoPath::root()];
            }
            None => {}
        }
        hold!(*zone == wanted, "no change outside the zone is accepted", "{attempt}: {zone:?}");
    }

    /// Checks that a sub-task gets no more files than its parent has.
    pub(super) fn check_given(&self, parent: AttemptId, task: TaskId, files: &[RepoPath]) {
        let zone = self.zone_of(self.attempts[place(parent.0)].task);
        let has = |it: &RepoPath| {
            matches!(zone.standing(it.as_str()), Standing::Own(_) | Standing::Shared(_))
        };
        let all = files.iter().all(has);
        hold!(all, "no parent delegates more than it has", "{task} of {parent}: {files:?}");
    }

    /// Returns whether agents may be started on this machine.
    pub fn is_confined(&self) -> bool {
        let Some(sandbox) = &self.sandbox else { return true };
        let is_accepted = self.accepted_tier.is_some_and(|it| it <= sandbox.available);
        let is_weak = match sandbox.available {
            Tier::T1 => true,
            Tier::T2 => sandbox.as_root,
            Tier::T3 => false,
        };
        let is_enough = sandbox.min_tier.is_none_or(|it| it <= sandbox.available);
        is_enough && (!is_weak || sandbox.consent || is_accepted)
    }

    pub(super) fn check_confined(&self, worker: WorkerId) {
        let confined = self.is_confined();
        hold!(confined, "nothing starts with less than was agreed to", "{worker}");
    }
}
