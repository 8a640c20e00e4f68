//! Pauses and resumes a plan.

use super::{attempt_fails, reopen};
use crate::{State, state::Worker};
use alloc::{string::String, vec, vec::Vec};
use pitcrew_model::{
    Actor, Event, Failure, Input, PlanId, PlanStatus, Rejection, TaskWork, WorkerStatus,
};

/// Stops new starts and interrupts running turns. Work that is being verified is finished. A base
/// check is stopped, and runs again after the resume.
pub fn pause(state: &State, input: &Input, plan: PlanId) -> Result<Vec<Event>, Rejection> {
    let (it, actor) = (state.plan(plan)?, input.actor);
    if it.status != PlanStatus::Active {
        return Err(Rejection::NotPausable { plan, status: it.status });
    }
    let (from, to) = (it.status, PlanStatus::Paused);
    let mut events = vec![Event::PlanMoved { plan, from, to, reason: String::new(), actor }];
    for worker in workers(state, plan).filter(|it| it.status == WorkerStatus::Running) {
        // A worker that has reported completion has nothing to interrupt.
        if state.attempts[worker.attempt].claim.is_some() {
            continue;
        }
        let attempt = &state.attempts[worker.attempt];
        // A command cannot be resumed: it starts over in a fresh checkout.
        if matches!(state.tasks[attempt.task].spec.work, TaskWork::Command { .. }) {
            let (at, failure) = (input.at, Failure::Interrupted);
            events.extend(attempt_fails::decide(state, at, actor, attempt.id, failure));
        } else {
            events.extend(park(worker));
        }
    }
    Ok(events)
}

/// Frees the slot of a running worker.
pub fn park(worker: &Worker) -> Vec<Event> {
    let (from, to) = (worker.status, WorkerStatus::Paused);
    let reason = "the plan is paused".into();
    let mut events = vec![Event::WorkerMoved { worker: worker.id, from, to, reason }];
    if worker.turn.is_some() {
        events.push(Event::InterruptAsked { worker: worker.id });
    }
    events
}

pub fn resume(state: &State, actor: Actor, plan: PlanId) -> Result<Vec<Event>, Rejection> {
    let it = state.plan(plan)?;
    if it.status != PlanStatus::Paused {
        return Err(Rejection::NotResumable { plan, status: it.status });
    }
    let (from, to) = (it.status, PlanStatus::Active);
    let mut events = vec![Event::PlanMoved { plan, from, to, reason: String::new(), actor }];
    events.extend(reopen::check_base(it));
    Ok(events)
}

fn workers(state: &State, plan: PlanId) -> impl Iterator<Item = &Worker> {
    state.live_workers().filter(move |it| {
        let attempt = &state.attempts[it.attempt];
        attempt.is_open() && state.tasks[attempt.task].plan == plan
    })
}
