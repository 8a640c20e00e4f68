//! Nobody has decided in time: a parent is passed over, and for a person the limits say what holds.
//! And what was allowed for as long as something lasts ends with that.

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
        return Some(bubble::to_person(request, from, "its parent has not answered".into()));
    }
    let becomes = match state.matrix.limits.permission_default {
        Verdict::Approve => "allowed",
        Verdict::Deny => "refused",
    };
    let text = Some(format!("nobody answered in time, so it is {becomes}"));
    Some(vec![Event::RequestMoved { request, from, to, text, actor: Actor::Orchestrator }])
}

/// What the grant was given for has ended. Whoever has it tried again is asked again.
pub fn grant(state: &State) -> Option<Vec<Event>> {
    let grant = *state.agenda.spent_grants.first()?;
    Some(vec![Event::GrantRevoked { grant, actor: Actor::Orchestrator }])
}
