//! Folds the results of drivers into the facts.

use super::facts::{Attempt, BaseCheck, BaseCheckResult, Board, LandingView};
use crate::plain;
use pitcrew_model::{AttemptId, CheckResult, CommitId, EffectResult, Timestamp, Work};

impl Board {
    pub(super) fn fold_result(&mut self, result: &EffectResult, at: Timestamp) {
        self.keep(result, at);
        match result {
            EffectResult::PlanPrepared { plan, base } => self.edit_plan(*plan, |it| {
                it.integrated = Some(base.start.clone());
                it.base = Some(base.clone());
            }),
            EffectResult::BaseChecked { plan, checks } => {
                let checks = checks.iter().map(BaseCheckResult::new).collect();
                self.edit_plan(*plan, |it| it.base_check = BaseCheck::Done { checks });
            }
            EffectResult::CheckoutPrepared { attempt, path, .. } => {
                self.edit_attempt(*attempt, |it| it.path = Some(path.clone()));
            }
            EffectResult::AgentReady { worker, agent, session } => {
                self.edit_worker(*worker, |it| {
                    it.agent = Some(plain::line(agent));
                    it.session = Some(session.clone());
                });
            }
            EffectResult::AgentStopped { worker, exit } => {
                self.edit_worker(*worker, |it| it.exit = Some(exit.to_string()));
            }
            EffectResult::WorkCollected { attempt, work } => {
                self.edit_attempt(*attempt, |it| it.take(work));
            }
            EffectResult::WorkSaved { attempt, commit: Some(commit) } => {
                self.edit_attempt(*attempt, |it| it.commit = Some(commit.clone()));
            }
            EffectResult::Integrated { attempt, head } => self.integrate(*attempt, head),
            EffectResult::Landed { plan, .. }
            | EffectResult::NotLanded { plan, .. }
            | EffectResult::Unsigned { plan, .. }
            | EffectResult::LandingUndone { plan, .. }
            | EffectResult::LandingNotUndone { plan, .. } => {
                self.edit_plan(*plan, |it| it.landing.fold(result));
            }
            EffectResult::CheckoutRemoved { attempt } => self.edit_attempt(*attempt, |it| {
                it.removed_at = Some(at);
                it.kept = None;
            }),
            EffectResult::CheckoutKept { attempt, reason } => {
                self.edit_attempt(*attempt, |it| it.kept = Some(reason.clone()));
            }
            EffectResult::SnapshotNotTaken { attempt, reason } => {
                self.edit_attempt(*attempt, |it| it.unkept = Some(plain::line(reason)));
            }
            EffectResult::SnapshotTaken { attempt, .. }
            | EffectResult::SnapshotUnchanged { attempt } => {
                self.edit_attempt(*attempt, |it| it.unkept = None);
            }
            EffectResult::SnapshotsDropped { attempt } => self.drop_snapshots(*attempt),
            // The consequences of these are separate events.
            EffectResult::PlanNotPrepared { .. }
            | EffectResult::WorkSaved { commit: None, .. }
            | EffectResult::TurnEnded { .. }
            | EffectResult::PermissionAnswered { .. }
            | EffectResult::TurnInterrupted { .. }
            | EffectResult::Verified { .. }
            | EffectResult::Restored { .. }
            | EffectResult::NotRestored { .. }
            | EffectResult::SnapshotsNotDropped { .. }
            | EffectResult::WorkPulled { .. }
            | EffectResult::WorkNotPulled { .. }
            | EffectResult::OracleAnswered { .. }
            | EffectResult::VaultTidied { .. }
            | EffectResult::VaultNotTidied { .. }
            | EffectResult::AttemptFailed { .. } => {}
        }
    }
}

impl Board {
    fn integrate(&mut self, attempt: AttemptId, head: &CommitId) {
        let task = self.attempts.get(&attempt).and_then(|it| self.tasks.get(&it.task));
        if let Some(plan) = task.map(|it| it.plan) {
            self.edit_plan(plan, |it| it.integrated = Some(head.clone()));
        }
    }

    /// Numbers the saved states of a task's work, as the kernel does.
    fn keep(&mut self, result: &EffectResult, at: Timestamp) {
        let Some(attempt) = result.keeps_work_of().and_then(|it| self.attempts.get_mut(&it)) else {
            return;
        };
        let Some(task) = self.tasks.get_mut(&attempt.task) else { return };
        let before = task.kept.next_number();
        task.kept.take(result, &attempt.start, at);
        attempt.kept_count += u64::from(task.kept.next_number() - before);
    }

    fn drop_snapshots(&mut self, attempt: AttemptId) {
        let Some(attempt) = self.attempts.get_mut(&attempt) else { return };
        let Some(task) = self.tasks.get_mut(&attempt.task) else { return };
        task.kept.drop_snapshots(attempt.id);
        let left = task.kept.iter().filter(|it| it.attempt == attempt.id && !it.dropped);
        attempt.kept_count = left.count() as u64;
    }
}

impl LandingView {
    /// Keeps what the last landing or undo has resulted in.
    fn fold(&mut self, result: &EffectResult) {
        (self.failure, self.unsigned) = (None, None);
        if let EffectResult::Landed { landing, .. } = result {
            (self.result, self.undo, self.by_hand) = (Some(landing.clone()), None, false);
        } else if let EffectResult::LandingUndone { undo, .. } = result {
            (self.result, self.undo, self.by_hand) = (None, Some(undo.clone()), false);
        } else if let EffectResult::Unsigned { unsigned, .. } = result {
            self.unsigned = Some(unsigned.clone());
        } else if let EffectResult::NotLanded { failure, .. }
        | EffectResult::LandingNotUndone { failure, .. } = result
        {
            self.failure = Some(failure.clone());
        }
    }
}

impl BaseCheckResult {
    fn new(check: &CheckResult) -> Self {
        Self {
            command: check.command.clone(),
            passed: check.passed(),
            code: check.code,
            took_ms: check.took_ms,
        }
    }
}

impl Attempt {
    fn take(&mut self, work: &Work) {
        self.commit = Some(work.commit.clone());
        self.files_count = work.files_count;
        self.insertions = work.insertions;
        self.deletions = work.deletions;
    }
}
