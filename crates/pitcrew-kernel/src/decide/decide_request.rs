//! A person approves or denies a request.

use super::{budget, cancel, create_plan, grant};
use crate::{State, state::Request};
use alloc::{string::ToString, vec, vec::Vec};
use pitcrew_model::{
    Action, Actor, Event, GrantScope, Input, LandingStatus, PlanStatus, Rejection, RequestId,
    RequestKind, RequestStatus, Rule, Verdict,
};

/// The decision of a person, its scope, and the number of tasks that the person has seen.
#[derive(Clone, Copy)]
pub struct Decision {
    pub verdict: Verdict,
    pub scope: GrantScope,
    pub shown: Option<u32>,
}

pub fn decide(
    state: &State,
    input: &Input,
    request: RequestId,
    decision: Decision,
    reason: Option<&str>,
) -> Result<Vec<Event>, Rejection> {
    let (it, actor) = (state.request(request)?, input.actor);
    if actor != Actor::Person {
        return Err(Rejection::NotYours { request });
    }
    // A person may decide at any stage.
    if !it.status.is_open() {
        return Err(state.closed(it));
    }
    let verdict = decision.verdict;
    if verdict == Verdict::Approve {
        may_be_approved(state, it)?;
        was_seen(state, it, decision.shown)?;
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
        // The worker gets the answer when it has a slot again.
        (RequestKind::Budget(_), Verdict::Approve) | (RequestKind::ToolUse { .. }, _) => {}
    }
    if verdict == Verdict::Approve && !decision.scope.is_once() {
        events.extend(grant::decide(state, it, decision.scope, actor)?);
    }
    Ok(events)
}

/// Not even a person can approve what the matrix denies.
fn may_be_approved(state: &State, request: &Request) -> Result<(), Rejection> {
    let action = match (&request.kind, request.worker) {
        (RequestKind::PlanExecution, _) => Some(Action::PlanExecution),
        (RequestKind::BranchMerge, _) => Some(Action::BranchMerge),
        (RequestKind::ToolUse { tool, .. }, Some(worker)) => {
            let task = state.attempts[state.workers[worker].attempt].task;
            state.judge(task, tool).action
        }
        (
            RequestKind::ToolUse { .. } | RequestKind::Budget(_) | RequestKind::Question { .. },
            _,
        ) => None,
    };
    match action {
        Some(action) if state.rule(&action) == Rule::AutoDeny => Err(state.denied(action)),
        Some(_) | None => Ok(()),
    }
}

/// A person approves the plan that they have seen, and not a task that was added since.
fn was_seen(state: &State, request: &Request, shown: Option<u32>) -> Result<(), Rejection> {
    if request.kind != RequestKind::PlanExecution {
        return Ok(());
    }
    let tasks = &state.plans[request.plan].tasks;
    let (count, seen) = (tasks.len(), shown.map_or(request.tasks_count, |it| it as usize));
    if count == seen {
        return Ok(());
    }
    let added = tasks.get(seen..).unwrap_or_default().to_vec();
    Err(Rejection::PlanChanged { plan: request.plan, count, added })
}
