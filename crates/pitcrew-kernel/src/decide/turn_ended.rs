//! A turn has ended: the worker waits, continues, is done, or has failed.

use super::{
    attempt_fails, complete_task,
    quota::{self, Limit},
};
use crate::{
    State, message,
    settle::subtask,
    state::{Process, Resumption, Worker},
};
use alloc::{
    string::{String, ToString},
    vec,
    vec::Vec,
};
use pitcrew_model::{
    Actor, AttemptId, EffectId, ErrorCause, Event, Failure, HoldCause, Input, StopReason,
    Timestamp, TurnCause, Usage, WorkerId, WorkerStatus,
};

const ACTOR: Actor = Actor::Orchestrator;

pub fn decide(
    state: &State,
    input: &Input,
    worker: WorkerId,
    stop: &StopReason,
    usage: Usage,
) -> Vec<Event> {
    let it = &state.workers[worker];
    let attempt = &state.attempts[it.attempt];
    if !attempt.is_open() || it.process != Process::Alive {
        return Vec::new();
    }
    if let Some((claim, summary)) = &attempt.claim {
        return complete_task::after_turn(state, input, attempt.id, *claim, summary.clone());
    }
    let fails = |failure| attempt_fails::decide(state, input.at, ACTOR, attempt.id, failure);
    let goes_on = state.is_stopped(it) || state.has_question(it) || has_turn(it);
    if let StopReason::Error { cause, message } = stop {
        let failure = failure_of(*cause, message.clone());
        if let Some(limit) = Limit::of(&failure) {
            let limit = Limit { is_new: it.is_answered(usage), ..limit };
            if let Some(events) = held_up(state, input, it, &limit) {
                return events;
            }
        }
        if !state.is_stopped(it) {
            return fails(failure);
        }
    }
    let family = &attempt.family;
    let has_family = !family.open.is_empty() || !family.unseen.is_empty();
    if attempt.reminded && !goes_on && !has_family && !state.has_mail(worker) {
        return fails(Failure::NoCompletion);
    }
    // Permission requests end with their turn.
    let mut events = attempt_fails::withdraw_tool_uses(state, worker);
    // A reminder comes after the snapshot. A parked worker continues when it has a slot again.
    if it.status == WorkerStatus::Running {
        if goes_on {
            events.push(waits(state, it));
        } else if !family.open.is_empty() {
            events.push(subtask::parked(it));
        }
    }
    events
}

/// Returns whether the worker has read the prompt of this turn.
pub fn is_read(state: &State, effect: EffectId, worker: WorkerId, stop: &StopReason) -> bool {
    let it = &state.workers[worker];
    let well = match stop {
        StopReason::EndTurn | StopReason::MaxTokens | StopReason::MaxTurnRequests => true,
        StopReason::Refusal | StopReason::Cancelled | StopReason::Error { .. } => false,
    };
    well && it.turn == Some(effect) && !it.status.has_ended()
}

/// A provider limit ended the turn, or the provider cannot be reached: the worker keeps its session
/// and waits, and so does its backend.
fn held_up(state: &State, input: &Input, worker: &Worker, limit: &Limit<'_>) -> Option<Vec<Event>> {
    let task = &state.tasks[state.attempts[worker.attempt].task];
    let vendor = task.spec.vendor()?;
    let asks = state.has_question(worker) || has_turn(worker);
    if let Some(failure) = quota::given_up(input.at, worker, vendor, limit).filter(|_| !asks) {
        return Some(attempt_fails::decide(state, input.at, ACTOR, worker.attempt, failure));
    }
    let mut events = attempt_fails::withdraw_tool_uses(state, worker.id);
    let hold = quota::hold(state, input.at, task, limit);
    let why = match limit.cause {
        HoldCause::Unreachable if hold.is_some() => limit.message.to_string(),
        HoldCause::Unreachable | HoldCause::Limit => quota::why_held(state, vendor),
    };
    events.extend(hold);
    match worker.status {
        WorkerStatus::Running if asks => events.push(waits(state, worker)),
        WorkerStatus::Running | WorkerStatus::WaitingPermission if !asks => {
            events.push(waits_for_quota(worker.id, worker.status, why));
        }
        // It already waits for something else.
        WorkerStatus::Created
        | WorkerStatus::Starting
        | WorkerStatus::Running
        | WorkerStatus::WaitingInput
        | WorkerStatus::WaitingPermission
        | WorkerStatus::WaitingQuota
        | WorkerStatus::WaitingSubtasks
        | WorkerStatus::Paused
        | WorkerStatus::Completed
        | WorkerStatus::Failed
        | WorkerStatus::Killed => {}
    }
    Some(events)
}

pub fn waits_for_quota(worker: WorkerId, from: WorkerStatus, reason: String) -> Event {
    Event::WorkerMoved { worker, from, to: WorkerStatus::WaitingQuota, reason }
}

fn failure_of(cause: ErrorCause, message: String) -> Failure {
    match cause {
        ErrorCause::Auth => Failure::Auth { message },
        ErrorCause::Quota { until } => Failure::Quota { until, message },
        ErrorCause::Unreachable => Failure::Unreachable { message },
        ErrorCause::Model => Failure::Model { message },
        ErrorCause::Other => Failure::Protocol { message },
    }
}

pub fn waits(state: &State, worker: &Worker) -> Event {
    let (from, to) = (worker.status, WorkerStatus::WaitingInput);
    let reason = match state.waits_for(worker.id).next() {
        Some((_, asked)) => alloc::format!("it asked {asked}"),
        None if state.has_need(worker.id) => "it has an open query".to_string(),
        None => "it asked a person".to_string(),
    };
    Event::WorkerMoved { worker: worker.id, from, to, reason }
}

/// The snapshot after the turn is complete: a worker without a report gets its next turn.
pub fn snapshot_ended(
    state: &State,
    now: Timestamp,
    effect: EffectId,
    attempt: AttemptId,
) -> Vec<Event> {
    let attempt = &state.attempts[attempt];
    let worker = &state.workers[attempt.worker];
    let rests = attempt.snapshot == Some(effect)
        && attempt.snapshot_due.is_none()
        && attempt.is_open()
        && worker.process == Process::Alive
        && worker.status == WorkerStatus::Running
        && worker.turn.is_none();
    if !rests {
        return Vec::new();
    }
    if state.has_question(worker) || has_turn(worker) {
        return vec![waits(state, worker)];
    }
    next_turn(state, now, worker)
}

/// A worker without a report ended its turn: it waits for its sub-tasks, gets their results, reads
/// its messages, or is reminded.
pub fn next_turn(state: &State, now: Timestamp, worker: &Worker) -> Vec<Event> {
    let attempt = &state.attempts[worker.attempt];
    let family = &attempt.family;
    if !family.open.is_empty() {
        return vec![subtask::parked(worker)];
    }
    if let Some(vendor) = state.held_vendor(&state.tasks[attempt.task]) {
        let why = quota::why_held(state, vendor);
        return vec![waits_for_quota(worker.id, worker.status, why)];
    }
    let cause = if !family.unseen.is_empty() {
        TurnCause::Results
    } else if message::is_next(state, now, worker.id) {
        TurnCause::Messages
    } else {
        TurnCause::Reminder
    };
    message::open_turn(state, now, worker.id, cause)
}

pub fn has_turn(worker: &Worker) -> bool {
    worker.resumptions.iter().any(|it| matches!(it, Resumption::Turn(_)))
}
