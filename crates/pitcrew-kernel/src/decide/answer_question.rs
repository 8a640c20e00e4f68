//! A person answers a worker's question.

use crate::State;
use alloc::{vec, vec::Vec};
use pitcrew_model::{Actor, Event, Rejection, RequestId, RequestKind, RequestStatus};

pub fn decide(
    state: &State,
    actor: Actor,
    request: RequestId,
    text: &str,
) -> Result<Vec<Event>, Rejection> {
    let it = state.request(request)?;
    if actor != Actor::Person {
        return Err(Rejection::NotYours { request });
    }
    if it.status != RequestStatus::AtUser {
        return Err(state.closed(it));
    }
    match it.kind {
        RequestKind::Question { .. } => {
            let (from, to) = (it.status, RequestStatus::Answered);
            Ok(vec![Event::RequestMoved { request, from, to, text: Some(text.into()), actor }])
        }
        RequestKind::PlanExecution
        | RequestKind::BranchMerge
        | RequestKind::Budget(_)
        | RequestKind::ToolUse { .. } => Err(Rejection::IsNoQuestion { request }),
    }
}
