//! Applies the permission files. Open requests are judged again.

use crate::{State, permit};
use alloc::{format, vec, vec::Vec};
use pitcrew_model::{Actor, Event, Matrix, RequestStatus, Rule};

pub fn decide(state: &State, matrix: &Matrix) -> Vec<Event> {
    if *state.matrix == *matrix {
        return Vec::new();
    }
    let mut events = vec![Event::MatrixApplied { matrix: matrix.clone() }];
    for (request, task, tool) in state.open_tool_uses() {
        let (rule, action) = permit::strictest(matrix, &state.actions(task, tool));
        let to = match rule {
            Rule::AutoApprove => RequestStatus::Approved,
            Rule::AutoDeny => RequestStatus::Denied,
            Rule::AskUser => continue,
        };
        let text = action.map(|it| format!("{it} is {rule} now"));
        let (request, from) = (request.id, request.status);
        let actor = Actor::Orchestrator;
        events.push(Event::RequestMoved { request, from, to, text, actor });
    }
    events
}
