//! Grants, and requests that do not wait for ever.

use super::subtask;
use crate::State;
use pitcrew_model::{Grant, RequestId, RequestKind, RequestStatus, Timestamp, limits};

pub fn granted(state: &mut State, grant: &Grant) {
    let before = state.grants.insert(grant.id, grant.clone());
    assert!(before.is_none(), "{} is given twice", grant.id);
    state.grants_count += 1;
}

/// It has come to where somebody decides it, for as long as that one may take.
///
/// Only what an agent waits for in the middle of a turn goes on by itself: a plan waits for its person.
pub fn stands(state: &mut State, request: RequestId, at: Timestamp) {
    let row = &state.requests[request];
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

pub fn leaves(state: &mut State, request: RequestId) {
    if let Some(due) = state.requests.row(request).due.take() {
        state.agenda.expiries.remove(&(due, request));
    }
}

/// A parent that waits for its sub-tasks is answered early, so that it can decide; once others have,
/// it waits on.
pub fn tell_parent(state: &mut State, request: RequestId) {
    let Some(child) = state.requests[request].worker else { return };
    let task = &state.tasks[state.attempts[state.workers[child].attempt].task];
    let Some(parent) = state.parent_of(task).map(|it| it.worker) else { return };
    subtask::refresh_wait(state, parent);
}
