//! Reopens an ended plan because one of its tasks continues. Its landing is withdrawn.

use super::create_plan;
use crate::{
    State,
    state::{BaseCheck, Plan},
};
use alloc::vec::Vec;
use pitcrew_model::{Actor, Event, LandingStatus, PlanId, PlanStatus, Rejection, RequestStatus};

pub fn decide(
    state: &State,
    actor: Actor,
    plan: PlanId,
    reason: &str,
) -> Result<Vec<Event>, Rejection> {
    let it = &state.plans[plan];
    if !it.status.has_ended() {
        return Ok(Vec::new());
    }
    let wanted = PlanStatus::Active;
    if !it.status.may_become(wanted) {
        return Err(Rejection::PlanTransition { plan, status: it.status, wanted });
    }
    if matches!(it.landing, LandingStatus::Merging | LandingStatus::Undoing) {
        return Err(Rejection::LandingUnderWay { plan, status: it.landing });
    }
    let mut events = Vec::new();
    if let Some(request) = it.request {
        let from = state.requests[request].status;
        let to = RequestStatus::Withdrawn;
        events.push(Event::RequestMoved { request, from, to, text: None, actor });
    }
    if it.landing.may_become(LandingStatus::None) {
        let (from, to) = (it.landing, LandingStatus::None);
        events.push(Event::LandingMoved { plan, from, to, reason: reason.into(), actor });
    }
    if it.base.is_none() && !it.preparing {
        events.extend(create_plan::activate(plan, it.status, reason, actor));
    } else {
        let reason = reason.into();
        events.push(Event::PlanMoved { plan, from: it.status, to: wanted, reason, actor });
        events.extend(check_base(it));
    }
    Ok(events)
}

/// The base is checked again if the plan was stopped during its base check.
pub fn check_base(plan: &Plan) -> Option<Event> {
    (plan.base_check == BaseCheck::Unknown).then_some(Event::BaseCheckAsked { plan: plan.id })
}
