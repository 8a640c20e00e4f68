//! No task waits that could continue, and no attempt is forgotten.

use super::{family, has_slot, processes, slots_used};
use crate::{broken::hold, world::World};
use pitcrew_kernel::{Attempt, Process, State, Task, Worker, next_due};
use pitcrew_model::{Overlap, PlanStatus, TaskStatus, overlap};

fn has_room(state: &State, task: &Task) -> bool {
    let all_wait = processes(state) == family::parents(state);
    processes(state) < state.agents_live_max || task.delegation.is_some() && all_wait
}

pub fn check(world: &World, task: &Task) {
    let (state, now) = (world.state(), world.settled_at);
    let plan = &state.plans[task.plan];
    let runs = plan.status == PlanStatus::Active && plan.base.is_some();
    let statuses = || task.depends_on.iter().map(|it| state.tasks[*it].status);
    let ended = |it: TaskStatus| it.has_ended() || it == TaskStatus::Blocked;
    let blocked = statuses().any(|it| it != TaskStatus::Completed && ended(it));
    match task.status {
        TaskStatus::Pending => {
            hold!(!blocked, "what can never start is blocked", "{}", task.id);
            let ready = statuses().all(|it| it == TaskStatus::Completed);
            let put_away = task.last_attempt().is_none_or(|it| state.attempts[it].put_away);
            let ready = ready && !awaits_snapshot(state, task);
            if runs && ready && task.deployed && put_away {
                let due = task.not_before;
                hold!(due > now, "what is ready is queued", "{} is due", task.id);
                hold!(
                    next_due(state) <= Some(due),
                    "what is due later is not forgotten",
                    "{}",
                    task.id
                );
            }
        }
        TaskStatus::Blocked => {
            hold!(blocked, "what is blocked is blocked by something", "{}", task.id);
        }
        TaskStatus::Queued if runs => {
            let has_place = match family::parent(state, task) {
                Some(parent) => {
                    family::active(state, parent) < state.matrix.limits.subtasks_parallel
                }
                None => plan.head.overlap == Overlap::Allow || !region_is_held(state, task),
            };
            // Sub-tasks that are about to start come first.
            let coming = if task.delegation.is_some() { 0 } else { family::coming(state) };
            let free = !world.ledger.is_held(task.id)
                && !world.ledger.is_over(task.id)
                && slots_used(state) + coming < state.agents_max
                && has_slot(state, task.plan)
                && has_room(state, task)
                && has_place;
            hold!(!free, "no ready task beside a free slot", "{}", task.id);
        }
        TaskStatus::Starting | TaskStatus::Running | TaskStatus::Verifying => {
            let attempt = task.last_attempt().map(|it| &state.attempts[it]);
            let open = attempt.is_some_and(Attempt::is_open);
            hold!(open, "what runs has an open attempt", "{}", task.id);
        }
        TaskStatus::Queued
        | TaskStatus::Integrating
        | TaskStatus::Completed
        | TaskStatus::Partial
        | TaskStatus::Failed
        | TaskStatus::Cancelled => {}
    }
}

fn region_is_held(state: &State, task: &Task) -> bool {
    let holds = |it: &&Task| it.status.in_attempt() && it.delegation.is_none();
    let mut holders = state.tasks.iter().filter(holds);
    holders.any(|it| overlap(&it.spec.region, &task.spec.region))
}

/// Every open attempt has a running step that continues it.
pub fn check_attempt(world: &World, attempt: &Attempt) {
    let state = world.state();
    let task = &state.tasks[attempt.task];
    let worker = &state.workers[attempt.worker];
    let under_way = || {
        let snapshot = attempt.snapshot.filter(|_| attempt.is_open());
        let pulls = attempt.family.pulls.iter().copied();
        let mut waits_for = attempt.step.into_iter().chain(snapshot).chain(pulls);
        waits_for.any(|it| state.effects.contains(&it))
    };
    if attempt.is_open() {
        let status = task.status;
        hold!(status.in_attempt(), "an open attempt is its task's", "{}: {status}", attempt.id);
        let last = task.last_attempt() == Some(attempt.id);
        hold!(last, "the last attempt is the open one", "{}", attempt.id);
        let queued = || state.plans[task.plan].merge_queue.contains(&attempt.id);
        let moves = under_way() || queued() || waits_for_somebody(state, worker);
        hold!(moves, "nothing is stuck", "{} of {} ({})", attempt.id, task.id, worker.status);
    } else if !attempt.put_away {
        hold!(under_way(), "every attempt is put away", "{}", attempt.id);
    }
    if !attempt.is_open() {
        let over = worker.status.has_ended();
        hold!(over, "no worker outlives its attempt", "{} outlives {}", worker.id, attempt.id);
        hold!(worker.deadline.is_none(), "what is over has no deadline", "{}", worker.id);
    }
}

fn waits_for_somebody(state: &State, worker: &Worker) -> bool {
    let paused = state.plan_of(&state.attempts[worker.attempt]).status == PlanStatus::Paused;
    // An answer of another worker, or a slot to read it.
    let answer = state.waits_for(worker.id).next().is_some()
        || state.has_need(worker.id)
        || state.has_mail(worker.id);
    worker.status.is_parked()
        && worker.process == Process::Alive
        && (paused
            || answer
            || !worker.requests.is_empty()
            || !worker.resumptions.is_empty()
            || family::waits(state, worker))
}

/// Returns whether it waits for a snapshot of its parent's checkout.
fn awaits_snapshot(state: &State, task: &Task) -> bool {
    // A snapshot waits for the end of a pull.
    let is_busy = |it| {
        let owner = &state.attempts[state.checkout_owner(it)];
        owner.snapshot.is_some() || !owner.family.pulls.is_empty()
    };
    task.waits_for_snapshot && family::parent(state, task).is_some_and(is_busy)
}
