//! Sets how many workers may run at the same time.

use crate::State;
use alloc::{vec, vec::Vec};
use pitcrew_model::{Event, Rejection, limits};

pub fn decide(state: &State, count: u32) -> Result<Vec<Event>, Rejection> {
    if count == 0 || count > limits::AGENTS_MAX {
        return Err(Rejection::AgentsMaxRange { count });
    }
    if count == state.agents_max {
        return Ok(Vec::new());
    }
    Ok(vec![Event::AgentsMaxSet { count }])
}
