//! A parent pulls the changes of a sub-task. A repeated call is the same pull.

use super::spawn_safety;
use crate::{State, state::Pull};
use alloc::{vec, vec::Vec};
use pitcrew_model::{AttemptId, Event, Rejection, TaskId, TaskStatus};

pub fn decide(state: &State, attempt: AttemptId, task: TaskId) -> Result<Vec<Event>, Rejection> {
    let parent = spawn_safety::parent(state, attempt)?;
    if !parent.family.children.contains(&task) {
        return Err(Rejection::NotYourSubtask { task });
    }
    let it = &state.tasks[task];
    if let Some(workspace) = it.workspace().filter(|it| it.is_borrowed()) {
        return Err(Rejection::NothingOfItsOwn { task, workspace });
    }
    if !matches!(it.status, TaskStatus::Completed | TaskStatus::Partial) {
        return Err(Rejection::NotPullable { task, status: it.status });
    }
    if !state.has_changed(it) {
        return Err(Rejection::NothingToPull { task });
    }
    Ok(match it.pull {
        Pull::None => vec![Event::PullAsked { attempt, task }],
        Pull::UnderWay(_) | Pull::Done => Vec::new(),
    })
}
