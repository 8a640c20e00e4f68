//! A provider limit, or a provider that cannot be reached: the whole backend waits.

use crate::{
    State,
    state::{Task, Worker},
};
use alloc::string::String;
use pitcrew_model::{Event, Failure, HoldCause, Timestamp, limits, text};

const REASON_BYTES_MAX: usize = 300;

/// What stopped a worker.
pub struct Limit<'a> {
    pub cause: HoldCause,
    /// The end of the limit, as far as the provider reports it.
    pub reset_at: Option<Timestamp>,
    pub message: &'a str,
    /// Whether the model answered since the last limit.
    pub is_new: bool,
}

impl<'a> Limit<'a> {
    /// The limit that made an attempt fail.
    pub fn of(failure: &'a Failure) -> Option<Self> {
        if let Failure::Quota { until, message } = failure {
            return Some(Self {
                cause: HoldCause::Limit,
                reset_at: *until,
                message,
                is_new: false,
            });
        }
        let Failure::Unreachable { message } = failure else { return None };
        Some(Self { cause: HoldCause::Unreachable, reset_at: None, message, is_new: false })
    }
}

/// Holds the backend, unless it is already held for at least as long.
pub fn hold(state: &State, at: Timestamp, task: &Task, limit: &Limit<'_>) -> Option<Event> {
    let backend = task.spec.vendor()?;
    let until = wakes_at(state, at, backend, limit)?;
    let reason = text::cut(limit.message, REASON_BYTES_MAX).into();
    Some(Event::BackendHeld { backend: backend.into(), until, reason, cause: limit.cause })
}

/// Fails a worker that met only this limit, often and for long.
pub fn given_up(
    at: Timestamp,
    worker: &Worker,
    backend: &str,
    limit: &Limit<'_>,
) -> Option<Failure> {
    let (since, waits_count) = worker.limited.filter(|_| !limit.is_new)?;
    let waited_ms = at.since(since);
    let enough = waits_count >= limits::QUOTA_WAITS_MIN && waited_ms >= limits::QUOTA_WAITED_MS_MAX;
    let message = text::cut(limit.message, REASON_BYTES_MAX).into();
    let (backend, cause) = (backend.into(), limit.cause);
    enough.then_some(Failure::LimitStays { backend, waits_count, waited_ms, message, cause })
}

/// Returns the words for what holds the backend.
pub fn why_held(state: &State, backend: &str) -> String {
    let row = state.quotas.get(backend);
    match row.filter(|it| it.cause == HoldCause::Unreachable) {
        Some(row) => row.reason.clone(),
        None => alloc::format!("{backend} has reached a provider limit"),
    }
}

/// Returns the end of the limit: as reported if plausible, otherwise with a growing wait.
fn wakes_at(state: &State, at: Timestamp, backend: &str, limit: &Limit<'_>) -> Option<Timestamp> {
    let known = state.quotas.get(backend).filter(|_| !limit.is_new);
    let holds_count = known.map_or(0, |it| it.holds_count).min(16);
    let after = |first: u64, max: u64| at.plus((first << holds_count).min(max));
    let (first, max) = match limit.cause {
        HoldCause::Limit => (limits::QUOTA_WAIT_MS_FIRST, limits::QUOTA_WAIT_MS_MAX),
        HoldCause::Unreachable => {
            (limits::UNREACHABLE_WAIT_MS_FIRST, limits::UNREACHABLE_WAIT_MS_MAX)
        }
    };
    let least = after(limits::QUOTA_TOLD_MS_MIN, limits::QUOTA_WAIT_MS_FIRST);
    let most = at.plus(limits::QUOTA_TOLD_MS_MAX);
    let held = state.held_until(backend).filter(|it| *it > at);
    let reset_at = limit.reset_at.filter(|it| *it > at).map(|it| it.clamp(least, most));
    match (reset_at, held) {
        (Some(reset_at), Some(held)) => (reset_at > held).then_some(reset_at),
        (Some(reset_at), None) => Some(reset_at),
        (None, Some(_)) => None,
        (None, None) => Some(after(first, max)),
    }
}
