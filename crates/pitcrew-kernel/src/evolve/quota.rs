//! Provider limits, and providers that cannot be reached.

use crate::{State, state::Probe};
use alloc::string::{String, ToString};
use pitcrew_model::{
    AttemptId, Failure, HoldCause, StopReason, TaskId, Timestamp, Usage, WorkerId, limits,
};

pub fn held(
    state: &mut State,
    backend: &str,
    until: Timestamp,
    (cause, reason): (HoldCause, &str),
    at: Timestamp,
) {
    let row = state.quotas.entry(backend.into()).or_default();
    (row.cause, row.reason, row.probe) = (cause, reason.into(), None);
    // A worker that reaches the limit meanwhile may report a better end time. It is still the same
    // hold.
    let goes_on = row.until.replace(until).is_some_and(|it| it > at);
    if !goes_on {
        row.holds_count += 1;
    }
    state.refresh_backend();
}

pub fn probed(state: &mut State, backend: &str, task: TaskId, at: Timestamp) {
    let row = state.quotas.get_mut(backend).expect("a backend that is probed was held");
    row.probe = Some(Probe { task, until: at.plus(limits::PROBE_MS_MAX) });
    state.refresh_backend();
}

/// The task that probes its backend has shown what it can.
pub fn probe_ended(state: &mut State, task: TaskId) {
    let Some(backend) = state.tasks[task].spec.vendor() else { return };
    let probe = state.quotas.get_mut(backend).and_then(|it| it.probe.as_mut());
    if let Some(probe) = probe.filter(|it| it.task == task) {
        probe.until = Timestamp(0);
    }
}

pub fn released(state: &mut State, backend: &str) {
    let row = state.quotas.get_mut(backend).expect("a backend that is released was held");
    (row.until, row.probe) = (None, None);
    state.refresh_backend();
}

/// Remembers an unusable backend until one of its turns succeeds.
pub fn attempt_ended(
    state: &mut State,
    attempt: AttemptId,
    failure: Option<&Failure>,
    at: Timestamp,
) {
    probe_ended(state, state.attempts[attempt].task);
    let Some(failure @ (Failure::Auth { .. } | Failure::AgentMissing { .. })) = failure else {
        return;
    };
    let spec = &state.tasks[state.attempts[attempt].task].spec;
    let Some(backend) = spec.vendor().map(String::from) else { return };
    state.broken.insert(backend, (at, failure.to_string()));
}

/// The model of a worker that probes its backend answered in the middle of a turn.
pub fn answered(state: &mut State, worker: WorkerId, usage: Usage) {
    if state.workers.row(worker).is_answered(usage) {
        let task = state.attempts[state.workers[worker].attempt].task;
        probe_ended(state, task);
    }
}

/// A turn that ended normally, or in which the model answered, resets the count of limits.
pub fn turn_ended(state: &mut State, worker: WorkerId, stop: &StopReason, usage: Usage) {
    let row = state.workers.row(worker);
    if matches!(stop, StopReason::Error { .. }) && !row.is_answered(usage) {
        return;
    }
    row.limited = None;
    let task = state.attempts[state.workers[worker].attempt].task;
    let spec = &state.tasks[task].spec;
    if let Some(backend) = spec.vendor() {
        state.broken.remove(backend);
    }
    if let Some(row) = spec.vendor().and_then(|it| state.quotas.get_mut(it)) {
        row.holds_count = 0;
    }
    probe_ended(state, task);
}
