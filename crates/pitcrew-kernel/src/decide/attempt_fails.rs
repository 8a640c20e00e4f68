//! Ends an attempt without success: its worker, its work and its task.

use super::{
    fleet,
    quota::{self, Limit},
};
use crate::{
    State,
    state::{Attempt, Checkout, Process, Task},
};
use alloc::{vec, vec::Vec};
use pitcrew_model::{
    Actor, AttemptId, Event, Failure, PlanStatus, Reason, RefusalKind, RequestId, RequestKind,
    RequestStatus, TaskId, TaskStatus, TaskWork, Timestamp, WorkerId, WorkerStatus, limits,
};

pub fn decide(
    state: &State,
    at: Timestamp,
    actor: Actor,
    attempt: AttemptId,
    failure: Failure,
) -> Vec<Event> {
    let it = &state.attempts[attempt];
    let failure = with_context(state, it, failure);
    let outcome = failure.outcome();
    let mut events = vec![Event::AttemptEnded { attempt, outcome, failure: Some(failure.clone()) }];
    events.extend(end_worker(state, it, &failure));
    let task = &state.tasks[it.task];
    if let Some(limit) = Limit::of(&failure) {
        events.extend(quota::hold(state, at, task, &limit));
    }
    events.push(move_task(state, at, actor, it.task, failure.clone()));
    events.extend(fleet::fails_too(state, task, &failure));
    events
}

/// Saves the remaining work of the attempt, unless it borrowed its checkout. A running pull is
/// finished first, so that half of it is not saved.
pub fn save(attempt: &Attempt) -> Option<Event> {
    let own = attempt.checkout != Checkout::Borrowed;
    let is_still = attempt.family.pulls.is_empty();
    (own && is_still).then_some(Event::SaveAsked { attempt: attempt.id })
}

/// Withdraws the open requests of a worker.
pub fn withdraw_requests(state: &State, worker: WorkerId) -> Vec<Event> {
    state.workers[worker].requests.iter().map(|it| withdraw(state, *it)).collect()
}

/// Withdraws the permission requests of a turn.
pub fn withdraw_tool_uses(state: &State, worker: WorkerId) -> Vec<Event> {
    let requests = state.workers[worker].requests.iter();
    let is_tool =
        |it: &&RequestId| matches!(state.requests[**it].kind, RequestKind::ToolUse { .. });
    requests.filter(is_tool).map(|it| withdraw(state, *it)).collect()
}

fn withdraw(state: &State, request: RequestId) -> Event {
    let (from, to) = (state.requests[request].status, RequestStatus::Withdrawn);
    Event::RequestMoved { request, from, to, text: None, actor: Actor::Orchestrator }
}

fn end_worker(state: &State, attempt: &Attempt, failure: &Failure) -> Vec<Event> {
    let worker = &state.workers[attempt.worker];
    let mut events = withdraw_requests(state, worker.id);
    if !worker.status.has_ended() {
        let by_us = matches!(failure, Failure::Cancelled { .. } | Failure::Timeout { .. });
        let to = if by_us { WorkerStatus::Killed } else { WorkerStatus::Failed };
        let (from, reason) = (worker.status, alloc::format!("{failure}"));
        events.push(Event::WorkerMoved { worker: worker.id, from, to, reason });
    }
    match worker.process {
        Process::Alive => events.push(Event::StopAsked { worker: worker.id }),
        Process::Gone if attempt.checkout == Checkout::There && attempt.work.is_none() => {
            events.extend(save(attempt));
        }
        Process::None | Process::Stopping | Process::Gone => {}
    }
    events
}

fn move_task(state: &State, at: Timestamp, actor: Actor, task: TaskId, failure: Failure) -> Event {
    let it = &state.tasks[task];
    let cancelled = matches!(failure, Failure::Cancelled { .. })
        || state.plans[it.plan].status == PlanStatus::Cancelled;
    let (to, retry_at) = if cancelled {
        (TaskStatus::Cancelled, None)
    } else if failure.is_retryable() && has_attempts_left(it, &failure) {
        (TaskStatus::Pending, Some(at.plus(back_off_ms(it, &failure))))
    } else {
        (TaskStatus::Failed, None)
    };
    let reason = Reason::Failure { failure, retry_at };
    Event::TaskMoved { task, from: it.status, to, reason, actor }
}

fn has_attempts_left(task: &Task, failure: &Failure) -> bool {
    task.is_free(failure) || task.attempts_spent + 1 < task.attempts_granted
}

/// Doubles from attempt to attempt, with a jitter so that tasks that failed together do not retry
/// together.
fn back_off_ms(task: &Task, failure: &Failure) -> u64 {
    let (first, max) = if matches!(failure, Failure::Model { .. }) {
        (limits::BACKOFF_MODEL_MS_FIRST, limits::BACKOFF_MODEL_MS_MAX)
    } else {
        (limits::BACKOFF_MS_FIRST, limits::BACKOFF_MS_MAX)
    };
    let doubled = first << task.attempts.len().saturating_sub(1).min(16);
    let capped = doubled.min(max);
    let spread = (task.id.0 * 31 + task.attempts.len() as u64 * 17) % 25;
    capped - capped * spread / 100
}

/// Adds what only the kernel knows: which checks already failed on the base, which task a conflict
/// is with, that the task may only read, and that an agent exited because it was interrupted.
fn with_context(state: &State, attempt: &Attempt, failure: Failure) -> Failure {
    let plan = state.plan_of(attempt);
    let mut failure = failure;
    let stopped = state.is_stopped(&state.workers[attempt.worker]);
    if stopped && matches!(failure, Failure::AgentExited { .. }) {
        failure = Failure::Interrupted;
    } else if let Failure::GaveUp { summary } = &failure
        && matches!(state.tasks[attempt.task].spec.work, TaskWork::Command { .. })
    {
        failure = Failure::Command { summary: summary.clone() };
    } else if let Failure::Auth { message } = &mut failure {
        let backend = state.tasks[attempt.task].spec.vendor().unwrap_or_default();
        if !message.contains(backend) {
            *message = alloc::format!("{backend}: {message}");
        }
    } else if let Failure::Checks { failed } = &mut failure {
        for check in failed {
            check.red_on_base = plan.red_on_base.contains(&check.command);
        }
    } else if let Failure::Gate { refusals, .. } = &mut failure
        && plan.only_reads(&state.tasks[attempt.task])
    {
        let denied = refusals.iter_mut().filter(|it| it.kind == RefusalKind::Denied);
        denied.for_each(|it| it.kind = RefusalKind::OnlyReads);
    } else if let Failure::Conflict { paths, with } = &mut failure {
        let touched = |task: &&TaskId| {
            let attempt = state.tasks[**task].last_attempt();
            let work = attempt.and_then(|it| state.attempts[it].work.as_ref());
            work.is_some_and(|it| it.files.iter().any(|it| paths.contains(&it.path)))
        };
        *with = plan.integrated_tasks.iter().filter(touched).copied().collect();
    }
    failure
}
