//! Grants, and the expiry of requests.

use super::subtask;
use crate::State;
use alloc::vec::Vec;
use pitcrew_model::{
    Actor, Grant, GrantId, GrantTarget, RequestId, RequestKind, RequestStatus, Timestamp, limits,
};

pub fn granted(state: &mut State, grant: &Grant) {
    let before = state.grants.insert(grant.id, grant.clone());
    assert!(before.is_none(), "{} is given twice", grant.id);
    state.grants_count += 1;
    refresh_grants(state, |it| it == grant.reach);
}

pub fn revoked(state: &mut State, grant: GrantId) {
    state.grants.remove(&grant);
    state.agenda.spent_grants.remove(&grant);
}

/// Ends the grants of an ended task or plan.
pub fn refresh_grants(state: &mut State, is_wanted: impl Fn(GrantTarget) -> bool) {
    for grant in state.grants.values().filter(|it| is_wanted(it.reach)) {
        let is_spent = match grant.reach {
            GrantTarget::Task(task) => state.tasks[task].status.has_ended(),
            GrantTarget::Plan(plan) => state.plans[plan].status.has_ended(),
            GrantTarget::Always => false,
        };
        if is_spent {
            state.agenda.spent_grants.insert(grant.id);
        } else {
            state.agenda.spent_grants.remove(&grant.id);
        }
    }
}

/// Starts the time that the party now in charge may take.
///
/// Only requests of a waiting agent expire. A plan waits for its person forever.
pub fn stands(state: &mut State, request: RequestId, at: Timestamp) {
    let row = state.requests.row(request);
    row.since = at;
    let RequestKind::ToolUse { .. } = row.kind else { return };
    let after = match row.status {
        RequestStatus::AtUser => state.matrix.limits.permission_timeout_ms,
        RequestStatus::AtParent => Some(limits::PARENT_DECIDES_MS),
        RequestStatus::Requested
        | RequestStatus::AtOrchestrator
        | RequestStatus::Approved
        | RequestStatus::Denied
        | RequestStatus::Answered
        | RequestStatus::Withdrawn
        | RequestStatus::Expired => None,
    };
    if let Some(after) = after {
        state.requests.row(request).due = Some(at.plus(after));
        state.agenda.expiries.insert((at.plus(after), request));
    }
}

/// Applies a changed timeout to open requests too.
pub fn matrix_applied(state: &mut State) {
    let waiting: Vec<(RequestId, Timestamp)> =
        state.open_tool_uses().map(|it| (it.0.id, it.0.since)).collect();
    for (request, since) in waiting {
        leaves(state, request);
        stands(state, request, since);
    }
}

/// A denial by a person is final for the task, whichever attempt asks again.
pub fn decided(state: &mut State, request: RequestId, to: RequestStatus, actor: Actor) {
    let row = &state.requests[request];
    let is_tool = matches!(row.kind, RequestKind::ToolUse { .. });
    if let (Some(worker), RequestStatus::Denied, Actor::Person, true) =
        (row.worker, to, actor, is_tool)
    {
        let task = state.attempts[state.workers[worker].attempt].task;
        state.tasks.row(task).denied.push(request);
    }
}

pub fn leaves(state: &mut State, request: RequestId) {
    if let Some(due) = state.requests.row(request).due.take() {
        state.agenda.expiries.remove(&(due, request));
    }
}

/// Ends the wait of a parent so that it can decide a request. If the request was decided meanwhile,
/// the wait continues.
pub fn tell_parent(state: &mut State, request: RequestId) {
    let Some(child) = state.requests[request].worker else { return };
    let task = &state.tasks[state.attempts[state.workers[child].attempt].task];
    let Some(parent) = state.parent_of(task).map(|it| it.worker) else { return };
    subtask::refresh_wait(state, parent);
}
