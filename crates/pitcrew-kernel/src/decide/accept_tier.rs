//! A person agrees to a weaker sandbox tier: once, for this workspace.

use crate::State;
use alloc::{vec, vec::Vec};
use pitcrew_model::{Actor, Event, Rejection, Tier};

pub fn decide(state: &State, actor: Actor, tier: Tier) -> Result<Vec<Event>, Rejection> {
    if actor != Actor::Person {
        return Err(Rejection::NotForYou { actor });
    }
    if state.accepted_tier.is_some_and(|it| it <= tier) {
        return Ok(Vec::new());
    }
    Ok(vec![Event::TierAccepted { tier, actor }])
}
