//! A worker waits for what it has handed out. Its call stays open meanwhile.

use super::spawn_safety;
use crate::{State, settle::subtask, state::Attempt};
use alloc::{collections::BTreeSet, vec::Vec};
use pitcrew_model::{AttemptId, AwaitEnd, Event, Input, Rejection, TaskId, Timestamp, limits};

pub fn decide(
    state: &State,
    input: &Input,
    attempt: AttemptId,
    tasks: &[TaskId],
    timeout_ms: u64,
    call: Option<&str>,
) -> Result<Vec<Event>, Rejection> {
    let parent = spawn_safety::parent(state, attempt)?;
    let tasks = wanted(parent, tasks)?;
    let is_open = |it: &&TaskId| parent.family.open.contains(*it);
    if tasks.iter().any(|it| is_open(&it)) {
        may_wait(state, parent)?;
        return Ok(alloc::vec![begin(input.at, parent, tasks, timeout_ms, call)]);
    }
    // There is nothing to wait for: the answer is there.
    let worker = &state.workers[parent.worker];
    let mut events = subtask::hand_results(state, worker, |it| tasks.contains(&it));
    events.push(Event::AwaitEnded {
        worker: parent.worker,
        tasks,
        open: Vec::new(),
        end: AwaitEnd::AllEnded,
        call: call.map(Into::into),
    });
    Ok(events)
}

/// Each once, in the order in which they were handed out.
fn wanted(parent: &Attempt, tasks: &[TaskId]) -> Result<Vec<TaskId>, Rejection> {
    let own = &parent.family.children;
    if own.is_empty() {
        return Err(Rejection::NothingToAwait);
    }
    if let Some(task) = tasks.iter().find(|it| !own.contains(it)) {
        return Err(Rejection::NotYourSubtask { task: *task });
    }
    let asked: BTreeSet<&TaskId> = tasks.iter().collect();
    Ok(own.iter().filter(|it| asked.is_empty() || asked.contains(it)).copied().collect())
}

/// Only the call of a turn can stay open, and one at a time.
pub fn may_wait(state: &State, parent: &Attempt) -> Result<(), Rejection> {
    let worker = &state.workers[parent.worker];
    if worker.turn.is_none() {
        return Err(Rejection::NotInTurn { worker: worker.id });
    }
    if worker.wait.is_some() {
        return Err(Rejection::AlreadyAwaiting { worker: worker.id });
    }
    Ok(())
}

pub fn begin(
    at: Timestamp,
    parent: &Attempt,
    tasks: Vec<TaskId>,
    timeout_ms: u64,
    call: Option<&str>,
) -> Event {
    let until = at.plus(timeout_ms.min(limits::TASK_TIMEOUT_MS_MAX));
    Event::AwaitBegun { worker: parent.worker, tasks, until, call: call.map(Into::into) }
}
