//! Where each works: nobody changes more than was given, and nothing starts with less confinement
//! than was agreed to.

use super::{Ledger, place};
use crate::broken::hold;
use pitcrew_model::{
    AttemptId, Effect, RepoPath, Standing, TaskId, Tier, WorkerId, Workspace, Zone,
};

impl Ledger {
    fn zone_of(&self, task: TaskId) -> Zone {
        let row = &self.tasks[place(task.0)];
        let plan = &self.plans[place(row.plan.0)];
        let is_named = row.part.as_ref().is_some_and(|it| it.is_named);
        let shared = if is_named { Vec::new() } else { plan.shared.clone() };
        let only_reads = plan.readers.contains(&task);
        let denied = if only_reads { vec![RepoPath::root()] } else { plan.denied.clone() };
        Zone { region: row.files.clone(), shared, denied }
    }

    /// What an agent may change, and what is taken of it, is what its task was given.
    pub(super) fn check_zone(&self, effect: &Effect) {
        let (attempt, zone) = if let Effect::StartAgent { attempt, zone, guest, .. } = effect {
            let row = &self.tasks[place(self.attempts[place(attempt.0)].task.0)];
            let shares = row.part.as_ref().is_some_and(|it| it.workspace == Workspace::Shared);
            hold!(*guest == shares, "only who shares a checkout is a guest there", "{attempt}");
            (attempt, zone)
        } else if let Effect::CollectWork { attempt, zone, .. } = effect {
            (attempt, zone)
        } else {
            return;
        };
        let wanted = self.zone_of(self.attempts[place(attempt.0)].task);
        hold!(*zone == wanted, "nothing outside its zone is taken", "{attempt}: {zone:?}");
    }

    /// Nobody gives away what he does not have.
    pub(super) fn check_given(&self, parent: AttemptId, task: TaskId, files: &[RepoPath]) {
        let zone = self.zone_of(self.attempts[place(parent.0)].task);
        let has = |it: &RepoPath| {
            matches!(zone.standing(it.as_str()), Standing::Own(_) | Standing::Shared(_))
        };
        let all = files.iter().all(has);
        hold!(all, "nobody gives what he does not have", "{task} of {parent}: {files:?}");
    }

    /// Whether agents may be started on this machine.
    pub fn is_confined(&self) -> bool {
        let Some(sandbox) = &self.sandbox else { return true };
        let agreed = sandbox.consent || self.accepted_tier.is_some();
        let enough = sandbox.min_tier.is_none_or(|it| it <= sandbox.available);
        enough && (sandbox.available != Tier::T1 || agreed)
    }

    pub(super) fn check_confined(&self, worker: WorkerId) {
        let confined = self.is_confined();
        hold!(confined, "nothing starts with less than was agreed to", "{worker}");
    }
}
