//! No worker waits that could continue, and none exceeds its time.

use super::has_slot;
use crate::{broken::hold, world::World};
use pitcrew_kernel::{Process, Resumption, Worker, next_due};
use pitcrew_model::{PlanStatus, QueryVia, WorkerStatus};

pub fn check(world: &World, worker: &Worker) {
    let (state, now) = (world.state(), world.settled_at);
    let attempt = &state.attempts[worker.attempt];
    let stopping = worker.process == Process::Stopping;
    hold!(!stopping || worker.deadline.is_none(), "what is over has no deadline", "{}", worker.id);
    if !attempt.is_open() || worker.process != Process::Alive {
        return;
    }
    let begins = worker.status == WorkerStatus::Starting;
    let confined = world.ledger.is_confined() || !begins;
    hold!(confined, "nothing starts with less than was agreed to", "{}", worker.id);
    let is_call = |it: &Resumption| !matches!(it, Resumption::Turn(_));
    let decided = worker.resumptions.iter().any(is_call);
    let held = world.ledger.is_held(attempt.task);
    // The next turn comes after the snapshot of the last one, which waits for a pull.
    let is_still = attempt.snapshot.is_none() && attempt.family.pulls.is_empty();
    let rests = worker.turn.is_none() && is_still && !held;
    let can_go_on = decided && worker.turn.is_some() || rests && !worker.resumptions.is_empty();
    let borrows = state.tasks[attempt.task].borrows();
    if worker.turn.is_some() && is_still && !borrows {
        let due = attempt.snapshot_due;
        let known = due.is_some() && next_due(state) <= due;
        hold!(known, "a snapshot of an open turn is due", "{}", attempt.id);
    }
    if worker.status == WorkerStatus::Running {
        let moves = worker.turn.is_some() || !is_still;
        hold!(moves, "a running worker has a turn", "{}", worker.id);
        let delivered = !decided || worker.turn.is_none();
        hold!(delivered, "a worker gets its decisions", "{}", worker.id);
        let left = worker.deadline.is_some_and(|it| it > now);
        hold!(left, "no worker exceeds its timeout", "{}", worker.id);
    } else if worker.status.is_parked() {
        hold!(worker.deadline.is_none(), "time stands still for the parked", "{}", worker.id);
        if worker.status == WorkerStatus::WaitingInput && worker.turn.is_some() {
            let wakes = decided || asks_owner(world, worker);
            hold!(wakes, "an answered worker continues", "{}", worker.id);
        }
        let plan = state.plan_of(attempt);
        let free = has_slot(state, plan.id) && plan.status == PlanStatus::Active;
        // A worker that is done may finish.
        let stopped = attempt.claim.is_none() && world.ledger.is_over(attempt.task);
        let free = free && !stopped;
        hold!(!(can_go_on && free), "no parked worker beside a free slot", "{}", worker.id);
    }
}

/// Returns whether a call of its turn waits for an owner.
fn asks_owner(world: &World, worker: &Worker) -> bool {
    let own = world.ledger.queries.rows.iter().filter(|it| it.worker == worker.id);
    own.into_iter().any(|it| {
        it.outcome.is_none()
            && it.at.is_some()
            && it.via == QueryVia::Tool
            && it.turn == worker.turn
    })
}
