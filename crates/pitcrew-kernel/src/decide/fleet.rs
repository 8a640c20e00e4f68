//! A backend cannot be used at all: tasks that have not started yet fail with it.

use crate::{State, state::Task};
use pitcrew_model::{Actor, Event, Failure, PlanStatus, Reason, TaskStatus};

/// Fails the waiting tasks of the same backend for the same reason, at the cost of no attempt.
pub fn fails_too(state: &State, first: &Task, failure: &Failure) -> impl Iterator<Item = Event> {
    let stops = matches!(
        failure,
        Failure::Auth { .. }
            | Failure::AgentMissing { .. }
            | Failure::LimitStays { .. }
            | Failure::ModelMissing { .. }
    );
    // Another model may be available.
    let is_model = matches!(failure, Failure::ModelMissing { .. });
    let alike = move |it: &Task| !is_model || it.spec.model == first.spec.model;
    let vendor = first.spec.vendor().filter(|_| stops);
    let runs =
        |it: &Task| matches!(state.plans[it.plan].status, PlanStatus::Active | PlanStatus::Paused);
    let waits = |it: &Task| matches!(it.status, TaskStatus::Pending | TaskStatus::Queued);
    let too = move |it: &&Task| {
        vendor.is_some()
            && it.spec.vendor() == vendor
            && it.id != first.id
            && waits(it)
            && runs(it)
            && alike(it)
    };
    state.tasks.iter().filter(too).map(|it| {
        let reason = Reason::Failure { failure: failure.clone(), retry_at: None };
        let (from, to) = (it.status, TaskStatus::Failed);
        Event::TaskMoved { task: it.id, from, to, reason, actor: Actor::Orchestrator }
    })
}
