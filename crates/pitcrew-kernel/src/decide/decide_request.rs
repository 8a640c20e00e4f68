//! A person approves or denies what waits.

use super::{budget, cancel, create_plan};
use crate::State;
use alloc::{string::ToString, vec, vec::Vec};
use pitcrew_model::{
    Actor, Event, Input, LandingStatus, PlanStatus, Rejection, RequestId, RequestKind,
    RequestStatus, Verdict,
};

pub fn decide(
    state: &State,
    input: &Input,
    request: RequestId,
    verdict: Verdict,
    reason: Option<&str>,
) -> Result<Vec<Event>, Rejection> {
    let (it, actor) = (state.request(request)?, input.actor);
    if actor != Actor::Person {
        return Err(Rejection::NotYours { request });
    }
    if it.status != RequestStatus::AtUser {
        return Err(Rejection::RequestClosed { request, status: it.status });
    }
    let to = match verdict {
        Verdict::Approve => RequestStatus::Approved,
        Verdict::Deny => RequestStatus::Denied,
    };
    let text = reason.map(ToString::to_string);
    let moved = Event::RequestMoved { request, from: it.status, to, text, actor };
    let mut events = vec![moved];
    match (&it.kind, verdict) {
        (RequestKind::Question { .. }, _) => return Err(Rejection::IsQuestion { request }),
        (RequestKind::PlanExecution, Verdict::Approve) => {
            let from = PlanStatus::AwaitingApproval;
            events.extend(create_plan::activate(it.plan, from, "approved", actor));
        }
        (RequestKind::PlanExecution, Verdict::Deny) => {
            let reason = reason.unwrap_or("not approved");
            events.extend(cancel::unstarted_plan(state, it.plan, reason, actor));
        }
        (RequestKind::BranchMerge, verdict) => {
            let to = match verdict {
                Verdict::Approve => LandingStatus::Merging,
                Verdict::Deny => LandingStatus::None,
            };
            let from = LandingStatus::Review;
            let reason = reason.unwrap_or_default().into();
            events.push(Event::LandingMoved { plan: it.plan, from, to, reason, actor });
        }
        (RequestKind::Budget(spending), Verdict::Deny) => {
            events.extend(budget::denied(state, input, spending));
        }
        // The worker gets it when it has a slot again.
        (RequestKind::Budget(_), Verdict::Approve) | (RequestKind::ToolUse { .. }, _) => {}
    }
    Ok(events)
}
