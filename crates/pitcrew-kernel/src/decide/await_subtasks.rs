//! A worker waits for its sub-tasks. Its call stays open meanwhile.

use super::{bubble, spawn_safety};
use crate::{
    State,
    message::{self, Draft},
    settle::subtask,
    state::Attempt,
};
use alloc::{collections::BTreeSet, vec::Vec};
use pitcrew_model::{
    AttemptId, AwaitEnd, Event, Input, Rejection, RequestStatus, TaskId, Timestamp, limits,
};

const UNDECIDED: &str = "its parent did not decide it";

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
    // If a call is already open, this one replaces it even if everything has ended: a parked worker
    // is answered when it has a slot again.
    let is_parked = state.workers[parent.worker].wait.is_some();
    if is_parked || tasks.iter().any(|it| is_open(&it)) {
        may_wait(state, parent)?;
        let mut events = pass_over(state, input.at, parent);
        events.extend(replace(state, parent));
        events.push(begin(input.at, parent, tasks, timeout_ms, call));
        return Ok(events);
    }
    // Everything has ended, so the answer is available at once.
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

/// Returns each sub-task once, in the order of their creation.
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

/// Only a call during a turn can stay open.
pub fn may_wait(state: &State, parent: &Attempt) -> Result<(), Rejection> {
    let worker = &state.workers[parent.worker];
    if worker.turn.is_none() { Err(Rejection::NotInTurn { worker: worker.id }) } else { Ok(()) }
}

/// Moves on requests and questions that the worker saw at its last wait and did not decide. They go
/// to the next party, and the worker does not see them again.
fn pass_over(state: &State, at: Timestamp, parent: &Attempt) -> Vec<Event> {
    let worker = &state.workers[parent.worker];
    let (requests, questions) = &worker.shown;
    let open = state.asked_of(parent.id).filter(|it| requests.contains(it));
    let passed = |it| bubble::to_person(it, RequestStatus::AtParent, UNDECIDED.into());
    let mut events: Vec<Event> = open.flat_map(passed).collect();
    let unanswered = state.questions_to(worker.id).filter(|it| questions.contains(&it.id));
    let words = alloc::format!(
        "{} has read your question and waits on without an answer. Go on with what you know, say \
         what you assumed, or ask a person: the same tool without `to`.",
        worker.id
    );
    let answers = unanswered.map(|it| Draft::answer(state, it.id, &words));
    events.extend(message::queue(state, at, answers));
    events
}

/// Ends the open call of the worker: at most one stays open, and a new call means that the client
/// gave up the first.
pub fn replace(state: &State, parent: &Attempt) -> Vec<Event> {
    let worker = &state.workers[parent.worker];
    let ended = || subtask::wait_ended(worker, AwaitEnd::Replaced);
    worker.wait.is_some().then(ended).into_iter().collect()
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
