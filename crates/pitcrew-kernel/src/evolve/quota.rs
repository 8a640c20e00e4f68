//! Provider limits.

use crate::State;
use alloc::string::{String, ToString};
use pitcrew_model::{AttemptId, Failure, StopReason, Timestamp, Usage, WorkerId};

pub fn held(state: &mut State, backend: &str, until: Timestamp, at: Timestamp) {
    let row = state.quotas.entry(backend.into()).or_default();
    // A worker that reaches the limit meanwhile may report a better end time. It is still the same
    // hold.
    let goes_on = row.until.replace(until).is_some_and(|it| it > at);
    if !goes_on {
        row.holds_count += 1;
    }
    state.refresh_backend();
}

pub fn released(state: &mut State, backend: &str) {
    let row = state.quotas.get_mut(backend).expect("a backend that is released was held");
    row.until = None;
    state.refresh_backend();
}

/// Remembers an unusable backend until one of its turns succeeds.
pub fn attempt_ended(
    state: &mut State,
    attempt: AttemptId,
    failure: Option<&Failure>,
    at: Timestamp,
) {
    let Some(failure @ (Failure::Auth { .. } | Failure::AgentMissing { .. })) = failure else {
        return;
    };
    let spec = &state.tasks[state.attempts[attempt].task].spec;
    let Some(backend) = spec.vendor().map(String::from) else { return };
    state.broken.insert(backend, (at, failure.to_string()));
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
}
