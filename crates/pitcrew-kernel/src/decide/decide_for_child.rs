//! A worker decides requests of its own sub-tasks: within its own permissions, all or none.

use super::bubble;
use crate::{
    State,
    state::{Attempt, Request},
};
use alloc::{borrow::ToOwned, collections::BTreeSet, vec::Vec};
use pitcrew_model::{
    Action, Actor, AttemptId, Event, Rejection, RequestId, RequestKind, RequestStatus, Verdict,
};

/// Without requests: all that wait for this worker.
pub fn decide(
    state: &State,
    actor: Actor,
    attempt: AttemptId,
    requests: &[RequestId],
    verdict: Verdict,
    reason: Option<&str>,
) -> Result<Vec<Event>, Rejection> {
    let parent = state.attempt(attempt)?;
    if actor != Actor::Worker(parent.worker) {
        return Err(Rejection::NotForYou { actor });
    }
    if !parent.is_open() {
        return Err(Rejection::AttemptOver { attempt });
    }
    let to = match verdict {
        Verdict::Approve => RequestStatus::Approved,
        Verdict::Deny => RequestStatus::Denied,
    };
    let mut events = Vec::new();
    for request in wanted(state, attempt, requests) {
        let row = state.request(request)?;
        may_decide(state, parent, row, verdict)?;
        let text = reason.map(ToOwned::to_owned);
        events.push(Event::RequestMoved { request, from: row.status, to, text, actor });
    }
    Ok(events)
}

fn wanted(state: &State, attempt: AttemptId, requests: &[RequestId]) -> BTreeSet<RequestId> {
    if requests.is_empty() {
        return state.asked_of(attempt).collect();
    }
    requests.iter().copied().collect()
}

fn may_decide(
    state: &State,
    parent: &Attempt,
    row: &Request,
    verdict: Verdict,
) -> Result<(), Rejection> {
    let (request, status) = (row.id, row.status);
    let foreign = Rejection::NotYourChild { request };
    let Some(worker) = row.worker else { return Err(foreign) };
    let task = &state.tasks[state.attempts[state.workers[worker].attempt].task];
    if state.parent_of(task).map(|it| it.id) != Some(parent.id) {
        return Err(foreign);
    }
    if status != RequestStatus::AtParent {
        return Err(Rejection::NotAtParent { request, status });
    }
    let RequestKind::ToolUse { tool, action, .. } = &row.kind else { return Err(foreign) };
    if verdict == Verdict::Approve && !bubble::holds(state, parent, tool) {
        let action = action.clone().unwrap_or(Action::OtherTool);
        return Err(Rejection::NotHeld { request, action });
    }
    Ok(())
}
