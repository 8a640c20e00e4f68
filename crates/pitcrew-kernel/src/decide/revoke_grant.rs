//! Revokes a grant: the same action asks again from now on.

use crate::State;
use alloc::{vec, vec::Vec};
use pitcrew_model::{Actor, Event, GrantId, Rejection};

pub fn decide(state: &State, actor: Actor, grant: GrantId) -> Result<Vec<Event>, Rejection> {
    if actor != Actor::Person {
        return Err(Rejection::NotForYou { actor });
    }
    if !state.grants.contains_key(&grant) {
        return Err(Rejection::NoSuchGrant { grant });
    }
    Ok(vec![Event::GrantRevoked { grant, actor }])
}
