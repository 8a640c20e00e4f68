//! Rules for sub-tasks and their parents.

use super::ACTOR;
use crate::{
    State,
    decide::{cancel, turn_ended},
    state::{Process, Task, Worker},
};
use alloc::{vec, vec::Vec};
use pitcrew_model::{
    AttemptId, AwaitEnd, CommitId, Event, TaskId, TaskStatus, Timestamp, WorkerStatus,
};

const BY_PARENT: &str = "the end of its parent";

/// Cancels a sub-task whose parent has ended; its own sub-tasks follow.
pub fn cancel_orphan(state: &State, now: Timestamp) -> Option<Vec<Event>> {
    let orphan = *state.agenda.orphans.first()?;
    Some(cancel::one(state, now, ACTOR, BY_PARENT, orphan))
}

/// A sub-task of a group has ended.
pub fn tell_group(state: &State) -> Option<Vec<Event>> {
    let task = &state.tasks[*state.agenda.group_ends.first()?];
    let group = task.delegation.as_ref().and_then(|it| it.group);
    let group = group.expect("only groups have ends");
    let success = task.status == TaskStatus::Completed;
    Some(vec![Event::AgentGroupMemberCompleted { group, task: task.id, success }])
}

/// Ends a wait whose turn has ended. Its results are in the next prompt.
pub fn drop_wait(state: &State) -> Option<Vec<Event>> {
    let worker = &state.workers[*state.agenda.lost_waits.first()?];
    Some(vec![wait_ended(worker, AwaitEnd::TurnOver)])
}

/// Frees the slot of a worker that waits.
pub fn park(state: &State) -> Option<Vec<Event>> {
    let worker = &state.workers[*state.agenda.to_wait.first()?];
    Some(vec![parked(worker)])
}

pub fn parked(worker: &Worker) -> Event {
    let (from, to) = (worker.status, WorkerStatus::WaitingSubtasks);
    let reason = "it waits for its sub-tasks".into();
    Event::WorkerMoved { worker: worker.id, from, to, reason }
}

/// Gives a worker its next turn after the snapshot of the last one.
pub fn go_on(state: &State, now: Timestamp) -> Option<Vec<Event>> {
    let worker = &state.workers[*state.agenda.resting.first()?];
    Some(turn_ended::next_turn(state, now, worker))
}

/// Ends a wait at its timeout with the results so far.
pub fn time_out(state: &State, now: Timestamp) -> Option<Vec<Event>> {
    if state.agenda.slots_used >= state.agents_max {
        return None;
    }
    let mut over = state.agenda.waits.iter().take_while(|it| it.0 <= now);
    let (_, worker) = *over.find(|it| state.worker_has_slot(it.1))?;
    let worker = &state.workers[worker];
    let (from, to) = (worker.status, WorkerStatus::Running);
    let reason = "its wait timed out".into();
    let mut events = vec![Event::WorkerMoved { worker: worker.id, from, to, reason }];
    events.extend(end_wait(state, worker, AwaitEnd::TimedOut));
    Some(events)
}

/// Returns when the next wait times out. Without a free slot time alone changes nothing.
pub fn next_due(state: &State) -> Option<Timestamp> {
    let has_slot = state.agenda.slots_used < state.agents_max;
    let mut waits = state.agenda.waits.iter();
    waits.find(|it| has_slot && state.worker_has_slot(it.1)).map(|it| it.0)
}

/// All live processes wait for sub-tasks that cannot start: one more may start, otherwise none
/// would end.
pub fn start_beyond(state: &State) -> Option<Vec<Event>> {
    let agenda = &state.agenda;
    let may_start = |it: &&TaskId| state.plan_has_slot(state.tasks[**it].plan);
    let child = *agenda.children.iter().find(may_start)?;
    let has_slot = agenda.slots_used < state.agents_max;
    let is_parent = |it: &&Worker| {
        let attempt = &state.attempts[it.attempt];
        it.process == Process::Alive && attempt.is_open() && !attempt.family.open.is_empty()
    };
    let parents_count = state.live_workers().filter(is_parent).count();
    let are_all = u32::try_from(parents_count).is_ok_and(|it| it == agenda.processes_count);
    (has_slot && are_all).then(|| super::open_attempt(state, child))
}

/// Answers the call with the current results.
pub fn end_wait(state: &State, worker: &Worker, end: AwaitEnd) -> Vec<Event> {
    let tasks = &worker.wait.as_ref().expect("a wait that ends has begun").tasks;
    let mut events = hand_results(state, worker, |it| tasks.contains(&it));
    events.push(wait_ended(worker, end));
    events
}

pub fn wait_ended(worker: &Worker, end: AwaitEnd) -> Event {
    let wait = worker.wait.as_ref().expect("a wait that ends has begun");
    Event::AwaitEnded {
        worker: worker.id,
        tasks: wait.tasks.clone(),
        open: wait.open.iter().copied().collect(),
        end,
        call: wait.call.clone(),
    }
}

/// Hands over the results that the worker has not received, once.
pub fn hand_results(state: &State, worker: &Worker, wanted: impl Fn(TaskId) -> bool) -> Vec<Event> {
    let unseen = state.attempts[worker.attempt].family.unseen.iter();
    let tasks: Vec<TaskId> = unseen.copied().filter(|it| wanted(*it)).collect();
    if tasks.is_empty() {
        return Vec::new();
    }
    vec![Event::ResultsHanded { worker: worker.id, tasks }]
}

/// Returns where the sub-task started before, or the snapshot of its parent's checkout.
pub fn starting_point<'a>(state: &'a State, task: &'a Task, parent: AttemptId) -> &'a CommitId {
    if let Some(first) = task.attempts.first() {
        return &state.attempts[*first].base;
    }
    let owner = &state.attempts[state.checkout_owner(parent)];
    let kept = state.tasks[owner.task].kept.last_of(owner.id);
    kept.map_or(&owner.start, |it| &it.commit)
}
