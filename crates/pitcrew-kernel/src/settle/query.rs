//! What must become of questions: each ends once, and none waits for ever.

use crate::{State, query};
use alloc::vec::Vec;
use pitcrew_model::{Event, Timestamp};

/// The index has answered, an owner is gone, or nobody waits any more.
pub fn go_on(state: &State, now: Timestamp) -> Option<Vec<Event>> {
    let query = *state.queries.due.first()?;
    Some(query::next(state, now, &state.queries.asked[query]))
}

pub fn time_out(state: &State, now: Timestamp) -> Option<Vec<Event>> {
    let (until, query) = *state.queries.deadlines.first()?;
    (until <= now).then(|| query::time_out(state, now, &state.queries.asked[query]))
}
