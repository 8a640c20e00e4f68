//! Escalates a permission request of a sub-task: to its parent if that holds the permission, then
//! to the matrix, then to a person.

use crate::{
    State,
    state::{Attempt, Process, Task},
};
use alloc::{format, string::String, vec, vec::Vec};
use pitcrew_model::{Actor, Event, RequestId, RequestStatus, Rule, ToolUse};

/// Returns the first steps of a request. A request of a plan's own task starts at a person.
pub fn rise(state: &State, request: RequestId, task: &Task, tool: &ToolUse) -> Vec<Event> {
    let Some(parent) = state.parent_of(task) else { return Vec::new() };
    let from = RequestStatus::Requested;
    if holds(state, parent, tool) {
        let text = format!("{} has this permission", parent.task);
        vec![moved(request, from, RequestStatus::AtParent, text)]
    } else {
        to_person(request, from, format!("{} lacks this permission too", parent.task))
    }
}

/// Escalates from a parent that cannot or does not decide, past the matrix, to a person.
pub fn to_person(request: RequestId, from: RequestStatus, why: String) -> Vec<Event> {
    let (matrix, person) = (RequestStatus::AtOrchestrator, RequestStatus::AtUser);
    let asks = format!("the rule is {}", Rule::AskUser);
    vec![moved(request, from, matrix, why), moved(request, matrix, person, asks)]
}

fn moved(request: RequestId, from: RequestStatus, to: RequestStatus, text: String) -> Event {
    let actor = Actor::Orchestrator;
    Event::RequestMoved { request, from, to, text: Some(text), actor }
}

/// Returns whether the parent may do the same without asking, and can answer now.
pub fn holds(state: &State, parent: &Attempt, tool: &ToolUse) -> bool {
    parent.is_open()
        && state.workers[parent.worker].process == Process::Alive
        && state.judge(parent.task, tool).rule == Rule::AutoApprove
}
