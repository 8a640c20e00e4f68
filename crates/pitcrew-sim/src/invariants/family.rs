//! No sub-task outlives its parent, and no worker waits in a slot or for nothing.

use super::{count, has_slot};
use crate::{broken::hold, world::World};
use pitcrew_kernel::{Process, Resumption, State, Task, Worker, next_due};
use pitcrew_model::{AttemptId, PlanStatus, TaskStatus, WorkerStatus};

pub fn parent(state: &State, task: &Task) -> Option<AttemptId> {
    let parent = task.delegation.as_ref().map(|it| it.parent);
    parent.filter(|it| state.attempts[*it].is_open())
}

fn children(state: &State, parent: AttemptId) -> impl Iterator<Item = &Task> {
    let of = move |it: &&Task| it.delegation.as_ref().is_some_and(|it| it.parent == parent);
    state.tasks.iter().filter(of)
}

pub fn active(state: &State, parent: AttemptId) -> u32 {
    count(children(state, parent).filter(|it| it.status.in_attempt()))
}

/// Sub-tasks that only wait for a snapshot.
pub fn coming(state: &State) -> u32 {
    let runs = |it: &Task| {
        let plan = &state.plans[it.plan];
        plan.status == PlanStatus::Active && plan.base.is_some()
    };
    let comes = |it: &&Task| it.waits_for_snapshot && it.status == TaskStatus::Pending && runs(it);
    count(state.tasks.iter().filter(comes))
}

/// Processes whose work ends after that of others.
pub fn parents(state: &State) -> u32 {
    let is_parent = |it: &&Worker| {
        let alive = it.process == Process::Alive && state.attempts[it.attempt].is_open();
        alive && waits(state, it)
    };
    count(state.workers.iter().filter(is_parent))
}

/// Returns whether its sub-tasks run.
pub fn waits(state: &State, worker: &Worker) -> bool {
    children(state, worker.attempt).any(|it| !it.status.has_ended())
}

/// A parent with a request can decide it, and the request does not stay forever.
pub fn check_asked(world: &World) {
    let (state, now) = (world.state(), world.settled_at);
    for parent in state.attempts.iter() {
        for request in world.ledger.asked_of(parent.id) {
            let worker = &state.workers[parent.worker];
            let there = parent.is_open() && worker.process == Process::Alive;
            hold!(there, "no request is at an ended parent", "{request} at {}", parent.id);
            let woken = worker.wait.is_none() || worker.resumptions.contains(&Resumption::Await);
            hold!(woken, "a parent that is asked does not wait on", "{request} at {}", worker.id);
            let due = state.requests[request].due;
            let known = due.is_some_and(|it| it > now) && next_due(state) <= due;
            hold!(known, "a parent that does not decide is passed over", "{request}");
        }
    }
}

pub fn check(world: &World, worker: &Worker) {
    let (state, now) = (world.state(), world.settled_at);
    let attempt = &state.attempts[worker.attempt];
    if !attempt.is_open() {
        let left = children(state, attempt.id).find(|it| !it.status.has_ended());
        hold!(left.is_none(), "no child under an ended parent", "{:?}", left.map(|it| it.id));
        hold!(worker.wait.is_none(), "no worker waits for nothing", "{}", worker.id);
        return;
    }
    let Some(wait) = &worker.wait else { return };
    let lives = worker.process == Process::Alive && worker.turn.is_some();
    hold!(lives, "no worker waits for nothing", "{}", worker.id);
    let going = wait.tasks.iter().any(|it| !state.tasks[*it].status.has_ended());
    let runs = worker.status == WorkerStatus::Running;
    hold!(!(runs && going), "who waits has no slot", "{}", worker.id);
    let free = has_slot(state, state.plan_of(attempt).id)
        && state.plan_of(attempt).status == PlanStatus::Active
        && worker.status == WorkerStatus::WaitingSubtasks
        && !world.ledger.is_over(attempt.task);
    if free {
        hold!(going, "a wait ends with what it waits for", "{}", worker.id);
        let known = wait.until > now && next_due(state) <= Some(wait.until);
        hold!(known, "a wait lasts as long as was asked", "{}", worker.id);
    }
}
