//! Sub-tasks, waits and results.

use super::{query, task, worker};
use crate::{
    State,
    state::{Family, Pull, Resumption, Wait, Worker},
};
use alloc::{collections::BTreeSet, sync::Arc, vec::Vec};
use pitcrew_model::{
    Actor, AttemptId, AwaitEnd, Delegation, EffectId, PlanId, TaskId, TaskSpec, TaskStatus,
    Timestamp, TurnCause, WorkerId, WorkerStatus, WorkspaceMode,
};

const MINUTE_MS: u64 = 60 * 1_000;

pub fn added(
    state: &mut State,
    plan: PlanId,
    task: TaskId,
    spec: &TaskSpec,
    delegation: &Delegation,
    at: Timestamp,
) {
    let parent = delegation.parent;
    let owner = state.checkout_owner(parent);
    // A borrowed checkout needs no snapshot: readers change nothing, and guests share the current
    // state.
    let is_still = state.tasks[state.attempts[owner].task].borrows();
    let waits = delegation.workspace != WorkspaceMode::Shared && !is_still;
    let mut row = task::row(task, plan, spec, &[]);
    row.delegation = Some(Arc::new(delegation.clone()));
    row.profile = state.profile(&spec.agent).cloned();
    row.deployed = true;
    row.waits_for_snapshot = waits;
    state.tasks.push(task, row);
    state.plans.row(plan).subtasks.insert(task);
    let family = &mut state.attempts.row(parent).family;
    family.children.push(task);
    family.open.insert(task);
    spawned(family, at);
    if waits {
        let row = state.attempts.row(owner);
        row.family.waiters.push(task);
        // Due at once, and after any snapshot that is already running.
        row.snapshot_due = Some(Timestamp(0));
        let worker = row.worker;
        worker::change(state, worker, |_| {});
    }
    state.refresh_task(task);
}

fn spawned(family: &mut Family, at: Timestamp) {
    family.spawned_at.retain(|it| at.since(*it) < MINUTE_MS);
    family.spawned_at.push_back(at);
}

/// A retry by the parent counts as a new sub-task.
pub fn tried_again(state: &mut State, task: TaskId, actor: Actor, at: Timestamp) {
    let Actor::Worker(_) = actor else { return };
    let Some(parent) = state.tasks[task].delegation.as_ref().map(|it| it.parent) else { return };
    let family = &mut state.attempts.row(parent).family;
    family.retries_count += 1;
    spawned(family, at);
}

/// The parent's snapshot is complete or failed.
pub fn snapshot_ended(state: &mut State, attempt: AttemptId) {
    let row = state.attempts.row(attempt);
    if row.snapshot_due == Some(Timestamp(0)) {
        return;
    }
    for task in core::mem::take(&mut row.family.waiters) {
        state.tasks.row(task).waits_for_snapshot = false;
        state.refresh_task(task);
    }
}

pub fn moved(state: &mut State, task: TaskId, from: TaskStatus, to: TaskStatus) {
    let it = &state.tasks[task];
    let plan = it.plan;
    let delegation = it.delegation.as_ref().expect("a sub-task has a parent");
    let (parent, has_group) = (delegation.parent, delegation.group.is_some());
    if has_group && to.has_ended() {
        state.agenda.group_ends.insert(task);
    } else {
        state.agenda.group_ends.remove(&task);
    }
    let family = &mut state.attempts.row(parent).family;
    match (from.in_attempt(), to.in_attempt()) {
        (false, true) => family.active_count += 1,
        (true, false) => family.active_count -= 1,
        (true, true) | (false, false) => {}
    }
    match (from.has_ended(), to.has_ended()) {
        (false, true) => {
            family.open.remove(&task);
            family.unseen.insert(task);
            state.plans.row(plan).subtasks.remove(&task);
            state.agenda.orphans.remove(&task);
            tell_parent(state, parent, task);
        }
        (true, false) => {
            family.open.insert(task);
            family.unseen.remove(&task);
            state.plans.row(plan).subtasks.insert(task);
            wait_again(state, parent, task);
        }
        (true, true) | (false, false) => {}
    }
    // Other sub-tasks may have waited for its place.
    let others: Vec<TaskId> = state.attempts[parent].family.open.iter().copied().collect();
    for other in others {
        state.refresh_task(other);
    }
}

fn tell_parent(state: &mut State, parent: AttemptId, task: TaskId) {
    let attempt = &state.attempts[parent];
    let (worker, none_open) = (attempt.worker, attempt.family.open.is_empty());
    let asks = state.has_question(&state.workers[worker]);
    worker::change(state, worker, |it| {
        if let Some(wait) = &mut it.wait {
            wait.open.remove(&task);
        } else if none_open && !asks && rests(it) {
            it.resumptions.push_back(Resumption::Turn(TurnCause::Results));
        }
    });
    refresh_wait(state, worker);
}

/// A call is answered when all sub-tasks have ended, or early for a request or a question.
pub fn refresh_wait(state: &mut State, worker: WorkerId) {
    let is_asked = state.asked_of(state.workers[worker].attempt).next().is_some()
        || state.questions_to(worker).next().is_some();
    worker::change(state, worker, |it| {
        let Some(wait) = &it.wait else { return };
        let is_due = is_asked || wait.open.is_empty();
        let is_known = it.resumptions.contains(&Resumption::Await);
        if is_due && !is_known {
            it.resumptions.push_back(Resumption::Await);
        } else if !is_due {
            it.resumptions.retain(|it| *it != Resumption::Await);
        }
    });
}

/// A person retries the sub-task: a parent that waited for it waits again.
fn wait_again(state: &mut State, parent: AttemptId, task: TaskId) {
    let worker = state.attempts[parent].worker;
    worker::change(state, worker, |it| {
        if let Some(wait) = it.wait.as_mut().filter(|it| it.tasks.contains(&task)) {
            wait.open.insert(task);
        }
    });
    refresh_wait(state, worker);
}

/// Returns whether the worker has ended its turn and only its sub-tasks give it another one.
fn rests(worker: &Worker) -> bool {
    // A worker that was parked in a call of an ended turn keeps that status.
    let waits = matches!(
        worker.status,
        WorkerStatus::WaitingSubtasks
            | WorkerStatus::WaitingPermission
            | WorkerStatus::WaitingInput
    );
    let has_turn = worker.resumptions.iter().any(|it| matches!(it, Resumption::Turn(_)));
    waits && worker.turn.is_none() && !has_turn
}

/// The parent has ended, so its sub-tasks are orphans.
pub fn parent_ended(state: &mut State, parent: AttemptId) {
    let open = state.attempts[parent].family.open.iter().copied();
    state.agenda.orphans.extend(open);
}

pub fn await_begun(
    state: &mut State,
    worker: WorkerId,
    tasks: &[TaskId],
    until: Timestamp,
    call: Option<&str>,
) {
    let is_open = |it: &&TaskId| !state.tasks[**it].status.has_ended();
    let open: BTreeSet<TaskId> = tasks.iter().filter(is_open).copied().collect();
    let wait = Wait { tasks: tasks.to_vec(), open, until, call: call.map(Into::into) };
    worker::change(state, worker, |it| it.wait = Some(wait));
    refresh_wait(state, worker);
    query::somebody_waits(state);
}

pub fn await_ended(state: &mut State, worker: WorkerId, end: AwaitEnd) {
    let shown = match end {
        AwaitEnd::AllEnded | AwaitEnd::TimedOut | AwaitEnd::ChildAsks | AwaitEnd::Questioned => {
            let requests = state.asked_of(state.workers[worker].attempt).collect();
            (requests, state.questions_to(worker).map(|it| it.id).collect())
        }
        // The worker never read the answer.
        AwaitEnd::TurnOver | AwaitEnd::Replaced => (Vec::new(), Vec::new()),
    };
    worker::change(state, worker, |it| {
        it.wait = None;
        it.shown = shown;
        it.resumptions.retain(|it| *it != Resumption::Await);
    });
}

pub fn results_handed(state: &mut State, worker: WorkerId, tasks: &[TaskId]) {
    let attempt = state.workers[worker].attempt;
    let family = &mut state.attempts.row(attempt).family;
    for task in tasks {
        assert!(family.unseen.remove(task), "{task} is delivered twice: the journal is corrupt");
    }
    state.workers.row(worker).handed.extend(tasks);
}

pub fn pull_asked(state: &mut State, attempt: AttemptId, task: TaskId, effect: EffectId) {
    state.tasks.row(task).pull = Pull::UnderWay(effect);
    change_pulls(state, attempt, |it| it.extend([effect]));
}

pub fn pull_ended(state: &mut State, attempt: AttemptId, task: TaskId, effect: EffectId, to: Pull) {
    state.tasks.row(task).pull = to;
    change_pulls(state, attempt, |it| it.retain(|it| *it != effect));
}

/// A checkout into which changes are pulled is not snapshotted.
fn change_pulls(
    state: &mut State,
    attempt: AttemptId,
    change: impl FnOnce(&mut BTreeSet<EffectId>),
) {
    let owner = state.checkout_owner(attempt);
    let row = state.attempts.row(owner);
    change(&mut row.family.pulls);
    let worker = row.worker;
    worker::change(state, worker, |_| {});
}
