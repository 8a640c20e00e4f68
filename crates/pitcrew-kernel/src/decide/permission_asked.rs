//! An agent waits for permission. The matrix decides what it knows; a person decides the rest.

use crate::{
    State,
    evolve::{Allow, choose},
    state::{Comeback, Process, Worker},
};
use alloc::{vec, vec::Vec};
use pitcrew_model::{
    Action, Event, ORCHESTRATOR_TOOL_KIND, PermissionOption, Rejection, RequestKind, Rule, ToolUse,
    WorkerId, WorkerStatus, builtin_rule, limits,
};

pub fn decide(
    state: &State,
    worker: WorkerId,
    call: &str,
    tool: &ToolUse,
    options: &[PermissionOption],
) -> Result<Vec<Event>, Rejection> {
    let it = state.worker(worker)?;
    if is_known(state, it, call) {
        return Ok(Vec::new());
    }
    let attempt = &state.attempts[it.attempt];
    let decided = |option| {
        let (call, title) = (call.into(), tool.title.clone());
        Ok(vec![Event::ToolDecided { worker, call, title, option }])
    };
    if !attempt.is_open() || it.process != Process::Alive {
        return decided(None);
    }
    match rule(tool) {
        Rule::AutoApprove => decided(choose(options, Allow::Once)),
        Rule::AutoDeny => decided(choose(options, Allow::No)),
        // Between turns nothing waits for the answer, and a person is not asked for nothing.
        Rule::AskUser if it.turn.is_none() => decided(None),
        Rule::AskUser if it.requests_count >= limits::REQUESTS_PER_WORKER_MAX => decided(None),
        Rule::AskUser => {
            let request = state.requests.next_id();
            let (plan, task) = (state.tasks[attempt.task].plan, Some(attempt.task));
            let (tool, call, options) = (tool.clone(), call.into(), options.to_vec());
            let kind = RequestKind::ToolUse { tool, call, options };
            let worker_id = Some(worker);
            let mut events =
                vec![Event::RequestOpened { request, plan, task, worker: worker_id, kind }];
            if it.status == WorkerStatus::Running {
                let (from, to) = (it.status, WorkerStatus::WaitingPermission);
                let reason = "it asks for permission".into();
                events.push(Event::WorkerMoved { worker, from, to, reason });
            }
            Ok(events)
        }
    }
}

/// It is being decided, or the answer is on its way: whoever comes back to an agent tells again
/// what the agent waits for.
fn is_known(state: &State, worker: &Worker, call: &str) -> bool {
    let asked = |kind: &RequestKind| matches!(kind, RequestKind::ToolUse { call: known, .. } if known == call);
    let decided =
        |it: &Comeback| matches!(it, Comeback::Permission { call: known, .. } if known == call);
    worker.requests.iter().any(|it| asked(&state.requests[*it].kind))
        || worker.comebacks.iter().any(decided)
        || worker.answering.values().any(|it| it == call)
}

/// Reading and thinking need no permission inside the checkout, nor does talking to us; what the
/// matrix does not name is asked.
fn rule(tool: &ToolUse) -> Rule {
    let ours = tool.kind == ORCHESTRATOR_TOOL_KIND;
    let harmless = matches!(tool.kind.as_str(), "read" | "search" | "think");
    let changes = matches!(tool.kind.as_str(), "edit" | "delete" | "move");
    // Our tools touch no files: a call that names some does something else besides.
    let talks = ours && tool.paths.is_empty();
    let looks = harmless && tool.command.is_none();
    if (talks || looks) && tool.outside.is_empty() {
        return Rule::AutoApprove;
    }
    if !changes {
        return builtin_rule(Action::Unknown);
    }
    if !tool.outside.is_empty() {
        return builtin_rule(Action::EditsOutsideWorktree);
    }
    // A command may do more than the edit that it calls itself.
    if tool.paths.is_empty() || tool.command.is_some() {
        return builtin_rule(Action::Unknown);
    }
    builtin_rule(Action::FileEditsInWorktree)
}
