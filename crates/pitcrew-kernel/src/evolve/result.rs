//! Results of drivers.

use super::{attempt, budget, quota, subtask, worker};
use crate::{
    State,
    state::{BaseCheck, Checkout, Process, Pull},
};
use alloc::string::ToString;
use pitcrew_model::{
    AttemptId, CheckResult, CommitId, EffectId, EffectResult, PlanBase, PlanId, Timestamp, Usage,
    WorkerId,
};

#[expect(clippy::too_many_lines, reason = "one arm for each kind of result")]
pub fn ended(state: &mut State, effect: EffectId, result: &EffectResult, at: Timestamp) {
    assert!(state.effects.remove(&effect), "{effect} ended twice: the journal is corrupt");
    keep(state, result, at);
    match result {
        EffectResult::PlanPrepared { plan, base } => prepared(state, *plan, base),
        EffectResult::PlanNotPrepared { plan, .. } => state.plans.row(*plan).preparing = false,
        EffectResult::BaseChecked { plan, checks } => base_checked(state, *plan, checks),
        EffectResult::CheckoutPrepared { attempt, path, .. } => {
            checkout_there(state, *attempt, path);
        }
        EffectResult::TurnEnded { worker, stop, usage, .. } => {
            quota::turn_ended(state, *worker, stop, *usage);
            turn_ended(state, *worker, effect, *usage);
        }
        EffectResult::AgentStopped { worker, .. } => worker::gone(state, *worker),
        EffectResult::WorkCollected { attempt, work } => {
            let row = state.attempts.row(*attempt);
            row.work = Some(work.clone());
            // The parent pulls the work of a sub-task, so it does not enter the merge queue.
            if row.is_open() && state.tasks[row.task].delegation.is_none() {
                queue_merge(state, *attempt);
            }
        }
        EffectResult::WorkSaved { attempt, commit } => {
            state.attempts.row(*attempt).saved.clone_from(commit);
            attempt::put_away(state, *attempt);
        }
        EffectResult::SnapshotTaken { attempt, .. }
        | EffectResult::SnapshotUnchanged { attempt }
        | EffectResult::SnapshotNotTaken { attempt, .. } => {
            attempt::snapshot_ended(state, *attempt, effect, at);
        }
        EffectResult::Verified { attempt, merged, .. } => {
            verified(state, *attempt, merged);
            merge_over(state, *attempt, effect);
        }
        EffectResult::Integrated { attempt, head } => {
            let plan = state.tasks[state.attempts[*attempt].task].plan;
            state.plans.row(plan).integrated = Some(head.clone());
            merge_over(state, *attempt, effect);
        }
        EffectResult::CheckoutRemoved { attempt } => {
            attempt::removal_ended(state, *attempt, Checkout::Gone);
        }
        EffectResult::CheckoutKept { attempt, .. } => {
            attempt::removal_ended(state, *attempt, Checkout::There);
        }
        EffectResult::AttemptFailed { attempt, .. } => attempt_failed(state, *attempt, effect),
        EffectResult::PermissionAnswered { worker } => {
            state.workers.row(*worker).answering.remove(&effect);
        }
        EffectResult::SnapshotsDropped { attempt } => {
            state.attempts.row(*attempt).dropping = None;
            let task = state.attempts[*attempt].task;
            state.tasks.row(task).kept.drop_snapshots(*attempt);
        }
        EffectResult::SnapshotsNotDropped { attempt, .. } => {
            state.attempts.row(*attempt).dropping = None;
        }
        EffectResult::VaultTidied { .. } | EffectResult::VaultNotTidied { .. } => {
            state.tidying = None;
        }
        EffectResult::WorkPulled { attempt, task, .. } => {
            subtask::pull_ended(state, *attempt, *task, effect, Pull::Done);
        }
        EffectResult::WorkNotPulled { attempt, task, .. } => {
            subtask::pull_ended(state, *attempt, *task, effect, Pull::None);
        }
        EffectResult::OracleAnswered { query, answer } => {
            super::query::consulted(state, *query, answer);
        }
        EffectResult::Landed { plan, landing } => {
            state.plans.row(*plan).landed = Some(landing.clone());
        }
        EffectResult::LandingUndone { plan, .. } => state.plans.row(*plan).landed = None,
        EffectResult::Restored { .. }
        | EffectResult::NotRestored { .. }
        | EffectResult::AgentReady { .. }
        | EffectResult::TurnInterrupted { .. }
        | EffectResult::NotLanded { .. }
        | EffectResult::Unsigned { .. }
        | EffectResult::LandingNotUndone { .. } => {}
    }
}

/// Numbers a saved state of a task's work.
fn keep(state: &mut State, result: &EffectResult, at: Timestamp) {
    let Some(attempt) = result.keeps_work_of() else { return };
    let (task, start) = (state.attempts[attempt].task, state.attempts[attempt].start.clone());
    state.tasks.row(task).kept.take(result, &start, at);
}

/// Requests a snapshot after the end of a turn, unless the work is collected anyway.
fn turn_ended(state: &mut State, worker: WorkerId, effect: EffectId, usage: Usage) {
    let is_current = state.workers[worker].turn == Some(effect);
    budget::turn_ended(state, worker, is_current, usage);
    if is_current {
        let row = state.attempts.row(state.workers[worker].attempt);
        // Due at once, because the clock of the next orchestrator may be behind this one.
        let is_kept = row.claim.is_none() && row.checkout != Checkout::Borrowed;
        row.snapshot_due = is_kept.then_some(Timestamp(0));
    }
    worker::turn_over(state, worker, effect);
}

fn verified(state: &mut State, attempt: AttemptId, merged: &CommitId) {
    let row = state.attempts.row(attempt);
    let (onto, _) = row.merged.take().expect("verification was asked for");
    row.merged = Some((onto, merged.clone()));
}

fn prepared(state: &mut State, plan: PlanId, base: &PlanBase) {
    let row = state.plans.row(plan);
    row.preparing = false;
    row.integrated = Some(base.start.clone());
    row.base = Some(base.clone());
    state.refresh_plan_wholly(plan);
}

fn base_checked(state: &mut State, plan: PlanId, checks: &[CheckResult]) {
    let red = checks.iter().filter(|it| !it.passed()).map(|it| it.command.clone());
    let row = state.plans.row(plan);
    if row.base_check == BaseCheck::CutShort {
        row.base_check = BaseCheck::Unknown;
    } else {
        row.red_on_base = red.collect();
        row.base_check = BaseCheck::Done;
    }
    state.refresh_plan(plan);
}

fn checkout_there(state: &mut State, attempt: AttemptId, path: &str) {
    let borrows = state.tasks[state.attempts[attempt].task].borrows();
    let row = state.attempts.row(attempt);
    row.path = Some(path.to_string());
    row.checkout = if borrows { Checkout::Borrowed } else { Checkout::There };
    // No agent has written there, so a closed attempt has nothing to save.
    if !row.is_open() {
        attempt::put_away(state, attempt);
    }
}

fn queue_merge(state: &mut State, attempt: AttemptId) {
    let plan = state.tasks[state.attempts[attempt].task].plan;
    state.plans.row(plan).merge_queue.push_back(attempt);
    state.refresh_plan(plan);
}

fn merge_over(state: &mut State, attempt: AttemptId, effect: EffectId) {
    let plan = state.tasks[state.attempts[attempt].task].plan;
    let row = state.plans.row(plan);
    if row.merging == Some(effect) {
        row.merging = None;
        state.refresh_plan(plan);
    }
}

/// A step of the attempt failed. The failure of an older effect changes nothing.
fn attempt_failed(state: &mut State, attempt: AttemptId, effect: EffectId) {
    merge_over(state, attempt, effect);
    let worker = state.attempts[attempt].worker;
    if state.workers[worker].turn == Some(effect) {
        budget::turn_ended(state, worker, true, Usage::NONE);
    }
    let row = state.attempts.row(attempt);
    if row.step != Some(effect) {
        return worker::turn_over(state, worker, effect);
    }
    // The work is saved when no pull is running: that has not been tried yet.
    let is_still = row.family.pulls.is_empty();
    row.step = None;
    if row.checkout == Checkout::Coming {
        row.checkout = Checkout::Gone;
    }
    worker::turn_over(state, worker, effect);
    match state.workers[worker].process {
        // The stop failed. Nothing more can be done, and the work must still be saved.
        Process::Stopping => worker::gone(state, worker),
        Process::None | Process::Gone if is_still && !state.attempts[attempt].is_open() => {
            attempt::put_away(state, attempt);
        }
        Process::None | Process::Alive | Process::Gone => {}
    }
}
