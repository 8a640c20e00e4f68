//! An agent requests a permission. The matrix decides what it covers, a person the rest.

use super::bubble;
use crate::{
    State,
    evolve::{Allow, choose},
    permit::{Judgment, asked},
    state::{Process, Resumption, Worker},
};
use alloc::{vec, vec::Vec};
use pitcrew_model::{
    Event, PermissionOption, Rejection, RequestKind, Rule, ToolUse, WorkerId, WorkerStatus, limits,
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
    let Judgment { rule, action, grant } = state.judge(attempt.task, tool);
    let decided = |option| {
        let (call, title) = (call.into(), tool.title.clone());
        let denied_by = match rule {
            Rule::AutoDeny => state.denied_by(attempt.task, tool, action.as_ref()),
            Rule::AutoApprove | Rule::AskUser => None,
        };
        let action = action.clone();
        Ok(vec![Event::ToolDecided { worker, call, title, option, action, grant, denied_by }])
    };
    if !attempt.is_open() || it.process != Process::Alive {
        return decided(None);
    }
    match rule {
        // A person granted it before, so any affirmative option of the agent will do.
        Rule::AutoApprove if grant.is_some() => decided(choose(options, Allow::Yes)),
        Rule::AutoApprove => decided(choose(options, Allow::Once)),
        Rule::AutoDeny => decided(choose(options, Allow::No)),
        // Between turns no agent waits for the answer, so no person is asked.
        Rule::AskUser if it.turn.is_none() => decided(None),
        Rule::AskUser if it.requests_count >= limits::REQUESTS_PER_WORKER_MAX => decided(None),
        // A person has denied exactly this, in this attempt or an earlier one.
        Rule::AskUser if state.is_denied(attempt.task, tool) => decided(choose(options, Allow::No)),
        Rule::AskUser => {
            let request = state.requests.next_id();
            let (plan, task) = (state.tasks[attempt.task].plan, Some(attempt.task));
            let path = bubble::rise(state, request, &state.tasks[attempt.task], tool);
            let actions = asked(&state.matrix, &state.actions(attempt.task, tool));
            let (tool, call, options) = (tool.clone(), call.into(), options.to_vec());
            let kind = RequestKind::ToolUse { tool, call, options, action, actions };
            let worker_id = Some(worker);
            let mut events =
                vec![Event::RequestOpened { request, plan, task, worker: worker_id, kind }];
            events.extend(path);
            if it.status == WorkerStatus::Running {
                let (from, to) = (it.status, WorkerStatus::WaitingPermission);
                let reason = "it requests a permission".into();
                events.push(Event::WorkerMoved { worker, from, to, reason });
            }
            Ok(events)
        }
    }
}

/// Returns whether the request is open or its answer is on the way. A driver that reattaches
/// reports open requests again.
fn is_known(state: &State, worker: &Worker, call: &str) -> bool {
    let asked = |kind: &RequestKind| matches!(kind, RequestKind::ToolUse { call: known, .. } if known == call);
    let decided =
        |it: &Resumption| matches!(it, Resumption::Permission { call: known, .. } if known == call);
    worker.requests.iter().any(|it| asked(&state.requests[*it].kind))
        || worker.resumptions.iter().any(decided)
        || worker.answering.values().any(|it| it == call)
}
