//! Records the network decisions of a box.

use crate::State;
use alloc::vec::Vec;
use pitcrew_model::{EgressDecision, EgressOf, Event, Rejection, limits::EGRESS_PER_RECORD_MAX};

/// Known decisions are repeated after a restart. Those above the limit are only in the record file.
pub fn decide(state: &State, decision: &EgressDecision) -> Result<Vec<Event>, Rejection> {
    let known = match decision.whose {
        EgressOf::Attempt(attempt) => state.attempt(attempt)?.egress,
        EgressOf::Plan(plan) => state.plan(plan)?.egress,
    };
    let is_news = decision.offset > known.offset && known.count < EGRESS_PER_RECORD_MAX;
    Ok(is_news.then(|| Event::EgressDecided(decision.clone())).into_iter().collect())
}
