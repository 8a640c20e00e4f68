//! A kept state of a task's work comes back as a branch.

use crate::State;
use alloc::{vec, vec::Vec};
use pitcrew_model::{Actor, Event, Rejection, TaskId};

pub fn decide(
    state: &State,
    actor: Actor,
    task: TaskId,
    number: Option<u32>,
) -> Result<Vec<Event>, Rejection> {
    let kept = &state.task(task)?.kept;
    let last = kept.last().ok_or(Rejection::NothingKept { task })?;
    let number = number.unwrap_or(last.number);
    let Some(it) = kept.get(number) else {
        return Err(Rejection::NoSuchSnapshot { task, number, count: last.number });
    };
    if it.dropped {
        return Err(Rejection::SnapshotDropped { task, number });
    }
    Ok(vec![Event::RestoreAsked { task, number, actor }])
}
