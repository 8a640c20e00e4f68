//! Queries: each ends once, and none waits forever.

use crate::{State, decide::turn_ended, query};
use alloc::{vec, vec::Vec};
use pitcrew_model::{Event, Timestamp};

/// The index has answered, an owner is gone, or the asker no longer waits.
pub fn go_on(state: &State, now: Timestamp) -> Option<Vec<Event>> {
    let all = state.queries.due.iter().map(|it| &state.queries.asked[*it]);
    // The wait may have ended meanwhile.
    let query = all.into_iter().find(|it| state.is_query_due(it))?;
    Some(query::next(state, now, query))
}

/// Frees the slot of a worker that waits for an owner: the owner may need it.
pub fn park(state: &State) -> Option<Vec<Event>> {
    let worker = &state.workers[*state.agenda.asking.first()?];
    Some(vec![turn_ended::waits(state, worker)])
}

pub fn time_out(state: &State, now: Timestamp) -> Option<Vec<Event>> {
    let (until, query) = *state.queries.deadlines.first()?;
    (until <= now).then(|| query::time_out(state, now, &state.queries.asked[query]))
}
