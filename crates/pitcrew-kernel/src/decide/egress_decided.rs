//! What the way out of a box let through, and what not.

use crate::State;
use alloc::vec::Vec;
use pitcrew_model::{EgressDecision, Event, Rejection, limits::EGRESS_PER_ATTEMPT_MAX};

/// What is known already is told again after a restart. What is too much stays in the record.
pub fn decide(state: &State, decision: &EgressDecision) -> Result<Vec<Event>, Rejection> {
    let it = state.attempt(decision.attempt)?;
    let is_news = decision.offset > it.egress_offset && it.egress_count < EGRESS_PER_ATTEMPT_MAX;
    Ok(is_news.then(|| Event::EgressDecided(decision.clone())).into_iter().collect())
}
