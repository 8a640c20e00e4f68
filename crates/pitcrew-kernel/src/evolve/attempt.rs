//! Attempts and their checkouts.

use crate::{
    State,
    state::{Attempt, Checkout, Egress, Family, Process, Worker},
};
use alloc::{collections::VecDeque, vec::Vec};
use pitcrew_model::{
    AttemptId, Claim, CommitId, EffectId, Failure, Outcome, TaskId, Timestamp, Usage, WorkerId,
    WorkerStatus, limits,
};

pub struct Opened {
    pub attempt: AttemptId,
    pub task: TaskId,
    pub worker: WorkerId,
}

pub fn opened(state: &mut State, opened: &Opened, number: u32, start: &CommitId, base: &CommitId) {
    let row = Attempt {
        id: opened.attempt,
        task: opened.task,
        worker: opened.worker,
        number,
        start: start.clone(),
        base: base.clone(),
        path: None,
        claim: None,
        output: None,
        family: Family::default(),
        reminded: false,
        work: None,
        merged: None,
        saved: None,
        step: None,
        snapshot: None,
        snapshot_due: None,
        abandoned_at: None,
        dropping: None,
        outcome: None,
        failure: None,
        put_away: false,
        checkout: Checkout::Coming,
        egress: Egress::default(),
    };
    state.attempts.push(opened.attempt, row);
    let task = state.tasks.row(opened.task);
    task.attempts.push(opened.attempt);
    task.fresh = false;
    let row = Worker {
        id: opened.worker,
        attempt: opened.attempt,
        status: WorkerStatus::Created,
        process: Process::None,
        turn: None,
        turns_count: 0,
        reported: Usage::NONE,
        deadline: None,
        left_ms: state.tasks[opened.task].spec.timeout_ms,
        requests: Vec::new(),
        requests_count: 0,
        noted_at: Timestamp(0),
        notes_at: VecDeque::new(),
        answering: alloc::collections::BTreeMap::new(),
        calls: VecDeque::new(),
        limited: None,
        resumptions: VecDeque::new(),
        wait: None,
        shown: (Vec::new(), Vec::new()),
        handed: Vec::new(),
        blocked: alloc::collections::BTreeMap::new(),
        blocked_at: None,
    };
    state.workers.push(opened.worker, row);
    let plan = state.tasks[opened.task].plan;
    state.agenda.take_slot(plan);
    state.agenda.processes_count += 1;
    state.refresh_task(opened.task);
}

pub fn ended(state: &mut State, attempt: AttemptId, outcome: Outcome, failure: Option<&Failure>) {
    let row = state.attempts.row(attempt);
    assert!(row.outcome.is_none(), "{attempt} ended twice: the journal is corrupt");
    row.outcome = Some(outcome);
    row.failure = failure.cloned();
    // Collected work is in the vault. A checkout that was never created, or in which no agent
    // started, contains none.
    let process = state.workers[row.worker].process;
    let is_untouched = row.checkout == Checkout::There && process == Process::None;
    row.put_away = row.work.is_some() || row.checkout == Checkout::Gone || is_untouched;
    let (task, worker) = (row.task, row.worker);
    let is_still = matches!(process, Process::None | Process::Gone);
    if row.checkout == Checkout::Borrowed && is_still {
        row.put_away = true;
    }
    let plan = state.tasks[task].plan;
    if outcome != Outcome::Success {
        state.plans.row(plan).merge_queue.retain(|it| *it != attempt);
        state.refresh_plan(plan);
    }
    super::worker::change(state, worker, |it| it.deadline = None);
    super::subtask::parent_ended(state, attempt);
    super::query::asker_changed(state, worker);
}

/// Nothing of the attempt runs and its work is saved: its task may continue.
pub fn put_away(state: &mut State, attempt: AttemptId) {
    let row = state.attempts.row(attempt);
    row.put_away = true;
    let task = row.task;
    state.refresh_task(task);
}

/// A worker that is done may finish even over a cap.
pub fn claimed(state: &mut State, attempt: AttemptId, claim: Claim, summary: &str) {
    let row = state.attempts.row(attempt);
    row.claim = Some((claim, summary.into()));
    let (task, worker) = (row.task, row.worker);
    super::worker::change(state, worker, |_| {});
    state.refresh_task(task);
}

pub fn snapshot_asked(state: &mut State, attempt: AttemptId, effect: EffectId) {
    let row = state.attempts.row(attempt);
    assert!(row.snapshot.is_none(), "{attempt} is snapshotted twice at a time");
    row.snapshot = Some(effect);
    row.snapshot_due = None;
    let worker = row.worker;
    super::worker::change(state, worker, |_| {});
}

/// The next snapshot is due some time after this one, as long as the turn lasts.
pub fn snapshot_ended(state: &mut State, attempt: AttemptId, effect: EffectId, at: Timestamp) {
    let row = state.attempts.row(attempt);
    if row.snapshot == Some(effect) {
        row.snapshot = None;
    }
    if state.workers[row.worker].turn.is_some() {
        row.snapshot_due.get_or_insert(at.plus(limits::SNAPSHOT_MS_MAX));
    }
    let worker = row.worker;
    super::worker::change(state, worker, |_| {});
    super::subtask::snapshot_ended(state, attempt);
}

pub fn abandoned(state: &mut State, attempt: AttemptId, at: Timestamp) {
    let row = state.attempts.row(attempt);
    row.checkout = Checkout::Abandoned;
    row.abandoned_at = Some(at);
}

pub fn removal_asked(state: &mut State, attempt: AttemptId) {
    let row = state.attempts.row(attempt);
    row.checkout = Checkout::Going;
    let plan = state.tasks[row.task].plan;
    state.plans.row(plan).removals_count += 1;
    state.refresh_plan(plan);
}

pub fn removal_ended(state: &mut State, attempt: AttemptId, checkout: Checkout) {
    let row = state.attempts.row(attempt);
    row.checkout = checkout;
    let plan = state.tasks[row.task].plan;
    state.plans.row(plan).removals_count -= 1;
    state.refresh_plan(plan);
}
