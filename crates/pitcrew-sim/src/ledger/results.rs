//! Results of effects.

use super::{Ledger, Process};
use crate::broken::hold;
use pitcrew_model::{AttemptId, EffectId, EffectResult, StopReason, Usage};

impl Ledger {
    pub(super) fn effect_ended(&mut self, id: EffectId, result: &EffectResult) {
        let was_open = self.open.remove(&id).is_some();
        hold!(was_open, "an effect has one end", "{id}");
        match result {
            EffectResult::PlanPrepared { plan, base } => {
                let row = self.plan(*plan);
                row.prepared = true;
                row.integrated = Some(base.start.clone());
            }
            EffectResult::BaseChecked { plan, .. } => self.plan(*plan).checking_base = None,
            EffectResult::CheckoutPrepared { attempt, .. } => {
                self.attempt(*attempt).has_checkout = true;
            }
            EffectResult::TurnEnded { worker, usage, stop, .. } => {
                self.turn_used(id, *worker, *usage);
                let row = self.worker(*worker);
                let failed = matches!(stop, StopReason::Error { .. });
                if !failed || usage.tokens_out > 0 || row.reported.tokens_out > 0 {
                    row.waits.0 = 0;
                }
                row.turn = row.turn.filter(|it| *it != id);
            }
            EffectResult::AgentStopped { worker, .. } => {
                self.worker(*worker).process = Process::Gone;
            }
            EffectResult::WorkCollected { attempt, .. } => self.attempt(*attempt).collected = true,
            EffectResult::WorkSaved { attempt, .. } => self.attempt(*attempt).save_ended = true,
            EffectResult::Verified { attempt, .. } => {
                self.attempt(*attempt).verified = true;
                self.merge_over(*attempt, id);
            }
            EffectResult::Integrated { attempt, head } => {
                self.attempt(*attempt).integrated = true;
                self.plan_of(*attempt).integrated = Some(head.clone());
                self.merge_over(*attempt, id);
            }
            EffectResult::CheckoutRemoved { attempt } => {
                let row = self.attempt(*attempt);
                (row.going, row.gone) = (false, true);
            }
            EffectResult::CheckoutKept { attempt, .. } => self.attempt(*attempt).going = false,
            EffectResult::AttemptFailed { attempt, .. } => self.step_failed(*attempt, id),
            EffectResult::SnapshotTaken { attempt, .. }
            | EffectResult::SnapshotUnchanged { attempt }
            | EffectResult::SnapshotNotTaken { attempt, .. } => {
                if matches!(result, EffectResult::SnapshotTaken { .. }) {
                    self.forget_said(*attempt);
                }
                let row = self.attempt(*attempt);
                row.snapshot = row.snapshot.filter(|it| *it != id);
            }
            EffectResult::WorkPulled { task, .. } => self.pulled(*task),
            EffectResult::OracleAnswered { query, answer } => self.oracle_answered(*query, answer),
            EffectResult::WorkNotPulled { .. }
            | EffectResult::Restored { .. }
            | EffectResult::NotRestored { .. }
            | EffectResult::SnapshotsDropped { .. }
            | EffectResult::SnapshotsNotDropped { .. }
            | EffectResult::VaultTidied { .. }
            | EffectResult::VaultNotTidied { .. }
            | EffectResult::PlanNotPrepared { .. }
            | EffectResult::AgentReady { .. }
            | EffectResult::PermissionAnswered { .. }
            | EffectResult::TurnInterrupted { .. }
            | EffectResult::Landed { .. }
            | EffectResult::NotLanded { .. }
            | EffectResult::Unsigned { .. }
            | EffectResult::LandingUndone { .. }
            | EffectResult::LandingNotUndone { .. } => {}
        }
    }

    fn merge_over(&mut self, attempt: AttemptId, id: EffectId) {
        let plan = self.plan_of(attempt);
        plan.merging = plan.merging.filter(|it| *it != id);
    }

    fn step_failed(&mut self, attempt: AttemptId, id: EffectId) {
        self.merge_over(attempt, id);
        let row = self.attempt(attempt);
        row.save_ended |= row.saving == Some(id);
        let worker = row.worker;
        self.turn_used(id, worker, Usage::NONE);
        let row = self.worker(worker);
        row.turn = row.turn.filter(|it| *it != id);
    }
}
