//! Expiry: a request moves on from a parent, or gets the default decision; and grants end with
//! their scope.

use crate::{State, decide::bubble};
use alloc::{format, vec, vec::Vec};
use pitcrew_model::{Actor, Event, RequestStatus, Timestamp, Verdict};

pub fn expire(state: &State, now: Timestamp) -> Option<Vec<Event>> {
    let (due, request) = *state.agenda.expiries.first()?;
    if due > now {
        return None;
    }
    let (from, to) = (state.requests[request].status, RequestStatus::Expired);
    if from == RequestStatus::AtParent {
        return Some(bubble::to_person(request, from, "its parent did not decide in time".into()));
    }
    let becomes = match state.matrix.limits.permission_default {
        Verdict::Approve => "allowed",
        Verdict::Deny => "refused",
    };
    let text = Some(format!("no decision in time, so it is {becomes}"));
    Some(vec![Event::RequestMoved { request, from, to, text, actor: Actor::Orchestrator }])
}

/// The scope of the grant has ended. A retry asks again.
pub fn grant(state: &State) -> Option<Vec<Event>> {
    let grant = *state.agenda.spent_grants.first()?;
    Some(vec![Event::GrantRevoked { grant, actor: Actor::Orchestrator }])
}
