//! A person accepts a partial task.

use super::reopen;
use crate::State;
use alloc::vec::Vec;
use pitcrew_model::{Actor, Event, Reason, Rejection, TaskId, TaskStatus};

pub fn decide(state: &State, actor: Actor, task: TaskId) -> Result<Vec<Event>, Rejection> {
    let it = state.task(task)?;
    if it.delegation.is_some() {
        return Err(Rejection::IsSubtask { task });
    }
    let (from, to) = (it.status, TaskStatus::Integrating);
    if from != TaskStatus::Partial {
        return Err(Rejection::TaskTransition { task: it.name(), status: from, wanted: to });
    }
    let mut events = reopen::decide(state, actor, it.plan, "a partial task is accepted")?;
    events.push(Event::TaskMoved { task, from, to, reason: Reason::Accepted, actor });
    Ok(events)
}
