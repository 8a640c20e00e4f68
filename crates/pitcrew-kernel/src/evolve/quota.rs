//! The limits of providers.

use crate::State;
use pitcrew_model::{StopReason, Timestamp, WorkerId};

pub fn held(state: &mut State, backend: &str, until: Timestamp) {
    let row = state.quotas.entry(backend.into()).or_default();
    row.until = Some(until);
    row.holds_count += 1;
    state.refresh_backend();
}

pub fn released(state: &mut State, backend: &str) {
    let row = state.quotas.get_mut(backend).expect("a backend that is released was held");
    row.until = None;
    state.refresh_backend();
}

/// Whoever comes to the end of a turn was not stopped by a limit: the next one is the first again.
pub fn turn_ended(state: &mut State, worker: WorkerId, stop: &StopReason) {
    if matches!(stop, StopReason::Error { .. }) {
        return;
    }
    let task = state.attempts[state.workers[worker].attempt].task;
    let spec = &state.tasks[task].spec;
    if let Some(row) = spec.vendor().and_then(|it| state.quotas.get_mut(it)) {
        row.holds_count = 0;
    }
}
