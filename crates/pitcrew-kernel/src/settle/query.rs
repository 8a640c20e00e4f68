//! What must become of questions: each ends once, and none waits for ever.

use crate::{State, decide::turn_ended, query};
use alloc::{vec, vec::Vec};
use pitcrew_model::{Event, Timestamp};

/// The index has answered, an owner is gone, or nobody waits any more.
pub fn go_on(state: &State, now: Timestamp) -> Option<Vec<Event>> {
    let all = state.queries.due.iter().map(|it| &state.queries.asked[*it]);
    // Whoever was waited for may have gone on meanwhile.
    let query = all.into_iter().find(|it| state.is_query_due(it))?;
    Some(query::next(state, now, query))
}

/// A worker that waits for an owner does nothing, so others may have its slot: the owner may need it.
pub fn park(state: &State) -> Option<Vec<Event>> {
    let worker = &state.workers[*state.agenda.asking.first()?];
    Some(vec![turn_ended::waits(state, worker)])
}

pub fn time_out(state: &State, now: Timestamp) -> Option<Vec<Event>> {
    let (until, query) = *state.queries.deadlines.first()?;
    (until <= now).then(|| query::time_out(state, now, &state.queries.asked[query]))
}
