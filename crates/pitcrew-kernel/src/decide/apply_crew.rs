//! Applies the agent definitions. Tasks keep the definition that they were created with.

use crate::State;
use alloc::{vec, vec::Vec};
use pitcrew_model::{Crew, Event};

pub fn decide(state: &State, crew: &Crew) -> Vec<Event> {
    if state.crew.as_deref() == Some(crew) {
        return Vec::new();
    }
    vec![Event::CrewApplied { crew: crew.clone() }]
}
