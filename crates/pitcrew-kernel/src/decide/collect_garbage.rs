//! Checkouts that nobody needs any more go.

use crate::{State, removable};
use alloc::vec::Vec;
use pitcrew_model::Event;

pub fn decide(state: &State) -> Vec<Event> {
    removable(state).map(|it| Event::RemovalAsked { attempt: it.id }).collect()
}
