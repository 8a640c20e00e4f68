//! Which confinement there is. Told again only where it has changed.

use crate::State;
use alloc::{vec, vec::Vec};
use pitcrew_model::{Event, Sandbox};

pub fn decide(state: &State, sandbox: &Sandbox) -> Vec<Event> {
    if state.sandbox.as_ref() == Some(sandbox) {
        return Vec::new();
    }
    vec![Event::SandboxApplied { sandbox: sandbox.clone() }]
}
