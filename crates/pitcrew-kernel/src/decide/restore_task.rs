//! Restores a saved state of a task's work as a branch.

use crate::State;
use alloc::{vec, vec::Vec};
use pitcrew_model::{Actor, Event, Rejection, TaskId};

pub fn decide(
    state: &State,
    actor: Actor,
    task: TaskId,
    number: Option<u32>,
) -> Result<Vec<Event>, Rejection> {
    let it = state.task(task)?;
    let (kept, name) = (&it.kept, it.name());
    let last = kept.last().ok_or(Rejection::NothingKept { task: name })?;
    let number = number.unwrap_or(last.number);
    let Some(it) = kept.get(number) else {
        return Err(Rejection::NoSuchSnapshot { task: name, number, count: last.number });
    };
    if it.dropped {
        return Err(Rejection::SnapshotDropped { task: name, number });
    }
    Ok(vec![Event::RestoreAsked { task, number, actor }])
}
