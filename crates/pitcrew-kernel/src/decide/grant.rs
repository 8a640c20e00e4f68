//! Grants: an approval beyond one use, and the other open requests that it covers.

use crate::{
    State,
    permit::{asked, reaches},
    state::Request,
};
use alloc::{format, vec, vec::Vec};
use pitcrew_model::{
    Actor, Event, Grant, GrantId, GrantScope, GrantTarget, Rejection, RequestKind, RequestStatus,
    TaskId, ToolUse, is_grantable, limits,
};

/// A grant never covers more than the request that the person saw.
pub fn decide(
    state: &State,
    request: &Request,
    scope: GrantScope,
    actor: Actor,
) -> Result<Vec<Event>, Rejection> {
    let once_only = Rejection::OnceOnly { request: request.id };
    let RequestKind::ToolUse { tool, .. } = &request.kind else { return Err(once_only) };
    let Some(worker) = request.worker else { return Err(once_only) };
    let task = state.attempts[state.workers[worker].attempt].task;
    let reach = match scope {
        GrantScope::Once => return Ok(Vec::new()),
        GrantScope::Task => GrantTarget::Task(task),
        GrantScope::Plan => GrantTarget::Plan(request.plan),
        GrantScope::Always => GrantTarget::Always,
    };
    let actions = asked(&state.matrix, &state.actions(task, tool));
    if !is_grantable(&actions, tool) {
        return Err(once_only);
    }
    let count = state.grants.len();
    if count >= limits::GRANTS_MAX {
        return Err(Rejection::TooManyGrants { count });
    }
    let grant = Grant {
        id: GrantId(state.grants_count + 1),
        actions,
        command: tool.command.clone(),
        paths: tool.paths.clone(),
        outside: tool.outside.clone(),
        reach,
    };
    let others = covered(state, request, &grant, actor);
    let mut events = vec![Event::GrantGiven { grant, request: request.id, actor }];
    events.extend(others);
    Ok(events)
}

/// Approves the other open requests that the grant covers.
fn covered(state: &State, request: &Request, grant: &Grant, actor: Actor) -> Vec<Event> {
    let is_covered = |other: &Request, task: TaskId, tool: &ToolUse| {
        other.id != request.id
            && other.status.is_open()
            && reaches(grant.reach, task, state.tasks[task].plan)
            && grant.covers(&asked(&state.matrix, &state.actions(task, tool)), tool)
    };
    let moved = |(other, task, tool): (&Request, TaskId, &ToolUse)| {
        is_covered(other, task, tool).then(|| Event::RequestMoved {
            request: other.id,
            from: other.status,
            to: RequestStatus::Approved,
            text: Some(format!("{} covers it", grant.id)),
            actor,
        })
    };
    state.open_tool_uses().filter_map(moved).collect()
}
