//! Removes unused checkouts, drops old snapshots and repacks the vault.

use crate::{State, droppable, removable};
use alloc::vec::Vec;
use pitcrew_model::{Event, Timestamp};

pub fn decide(state: &State, now: Timestamp) -> Vec<Event> {
    let mut events: Vec<Event> =
        removable(state).map(|it| Event::RemovalAsked { attempt: it.id }).collect();
    events.extend(droppable(state, now).map(|it| Event::DropAsked { attempt: it.id }));
    // A repack that is already running is enough.
    if state.tidying.is_none() {
        events.push(Event::TidyAsked);
    }
    events
}
