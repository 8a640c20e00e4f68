//! Removes a landing from the base branch again, because a person wants it.

use crate::{State, state::LandingPlan};
use alloc::{string::String, vec::Vec};
use pitcrew_model::{Action, Actor, CommitId, Event, LandingStatus, PlanId, Rejection, Rule};

pub fn decide(
    state: &State,
    actor: Actor,
    plan: PlanId,
    signed: Option<&CommitId>,
) -> Result<Vec<Event>, Rejection> {
    let it = state.plan(plan)?;
    let (from, to) = (it.landing, LandingStatus::Undoing);
    if !from.may_become(to) {
        return Err(Rejection::LandingUnderWay { plan, status: from });
    }
    // It changes the same branch as a landing.
    if state.rule(&Action::BranchMerge) == Rule::AutoDeny {
        return Err(state.denied(Action::BranchMerge));
    }
    if it.landed_on().is_none_or(|(_, landing)| landing.before.is_none()) {
        return Err(Rejection::LandingNotRecorded { plan });
    }
    let mut events = Vec::new();
    if it.landing_plan.signed.as_ref() != signed {
        let LandingPlan { history, message, hooks, .. } = it.landing_plan.clone();
        let signed = signed.cloned();
        events.push(Event::LandingPlanned { plan, history, message, hooks, signed });
    }
    events.push(Event::LandingMoved { plan, from, to, reason: String::new(), actor });
    Ok(events)
}
