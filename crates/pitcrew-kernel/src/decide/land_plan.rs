//! Lands integrated work on the base branch, after the approval of a person.

use crate::{State, state::LandingPlan};
use alloc::{string::String, vec::Vec};
use pitcrew_model::{
    Action, Actor, Approval, Event, LandingStatus, PlanId, Rejection, RequestKind, RequestStatus,
    Rule,
};

pub fn decide(
    state: &State,
    actor: Actor,
    plan: PlanId,
    approval: Approval,
    how: LandingPlan,
) -> Result<Vec<Event>, Rejection> {
    let it = state.plan(plan)?;
    let ended = it.status.has_ended();
    if !ended || it.completed_count == 0 {
        return Err(Rejection::NotLandable { plan, status: it.status });
    }
    if it.is_answer() {
        return Err(Rejection::NothingToLand { plan });
    }
    let (from, rule) = (it.landing, state.rule(&Action::BranchMerge));
    if rule == Rule::AutoDeny {
        return Err(state.denied(Action::BranchMerge));
    }
    // Only a person can have approved it.
    let given = approval == Approval::Given && actor == Actor::Person;
    let asks = rule == Rule::AskUser && !given;
    if asks && from == LandingStatus::Review {
        return Err(Rejection::LandingUnderWay { plan, status: from });
    }
    if !from.may_become(LandingStatus::Merging) {
        return Err(Rejection::LandingUnderWay { plan, status: from });
    }
    let reason = String::new();
    let mut events = Vec::new();
    if it.landing_plan != how {
        let LandingPlan { history, message, hooks, signed } = how;
        events.push(Event::LandingPlanned { plan, history, message, hooks, signed });
    }
    if asks && from.may_become(LandingStatus::Review) {
        let to = LandingStatus::Review;
        let request = state.requests.next_id();
        let kind = RequestKind::BranchMerge;
        events.push(Event::LandingMoved { plan, from, to, reason, actor });
        events.push(Event::RequestOpened { request, plan, task: None, worker: None, kind });
        return Ok(events);
    }
    if let Some(request) = it.request {
        let (from, to) = (state.requests[request].status, RequestStatus::Approved);
        events.push(Event::RequestMoved { request, from, to, text: None, actor });
    }
    let to = LandingStatus::Merging;
    events.push(Event::LandingMoved { plan, from, to, reason, actor });
    Ok(events)
}
