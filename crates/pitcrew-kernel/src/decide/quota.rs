//! A limit of a provider is used up: the whole backend waits until it is over.

use crate::{State, state::Task};
use pitcrew_model::{Event, Timestamp, limits, text};

const REASON_BYTES_MAX: usize = 300;

/// The backend is held, unless it is so already for at least as long.
pub fn hold(
    state: &State,
    at: Timestamp,
    task: &Task,
    told: Option<Timestamp>,
    message: &str,
) -> Option<Event> {
    let backend = task.spec.vendor()?;
    let until = wakes_at(state, at, backend, told)?;
    let reason = text::cut(message, REASON_BYTES_MAX).into();
    Some(Event::BackendHeld { backend: backend.into(), until, reason })
}

/// When the limit is over: what the provider says, where that can be; else longer each time.
fn wakes_at(
    state: &State,
    at: Timestamp,
    backend: &str,
    told: Option<Timestamp>,
) -> Option<Timestamp> {
    let held = state.held_until(backend).filter(|it| *it > at);
    let told = told.filter(|it| *it > at).map(|it| it.min(at.plus(limits::QUOTA_TOLD_MS_MAX)));
    match (told, held) {
        (Some(told), Some(held)) => (told > held).then_some(told),
        (Some(told), None) => Some(told),
        (None, Some(_)) => None,
        (None, None) => Some(at.plus(wait_ms(state, backend))),
    }
}

fn wait_ms(state: &State, backend: &str) -> u64 {
    let holds_count = state.quotas.get(backend).map_or(0, |it| it.holds_count);
    let doubled = limits::QUOTA_WAIT_MS_FIRST << holds_count.min(16);
    doubled.min(limits::QUOTA_WAIT_MS_MAX)
}
