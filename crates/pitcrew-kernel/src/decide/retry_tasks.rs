//! Grants ended tasks one more attempt each. A person can also retry a task that waits for a
//! provider limit. A sub-task that its parent retries counts as a new one.

use super::{reopen, spawn_safety};
use crate::{
    State,
    state::{Deployer, Pull},
};
use alloc::{collections::BTreeSet, vec::Vec};
use pitcrew_model::{
    Actor, Event, Freshness, Input, PlanId, Reason, Rejection, TaskId, TaskStatus,
};

pub fn decide(
    state: &State,
    input: &Input,
    tasks: &[TaskId],
    freshness: Freshness,
) -> Result<Vec<Event>, Rejection> {
    let actor = input.actor;
    let mut ended: BTreeSet<TaskId> = BTreeSet::new();
    let mut held: BTreeSet<&str> = BTreeSet::new();
    let mut plans: BTreeSet<PlanId> = BTreeSet::new();
    for task in tasks {
        let it = state.task(*task)?;
        if let Some(backend) = state.held_vendor(it).filter(|_| !it.status.has_ended()) {
            // Releasing the backend would resume all of its workers.
            if actor != Actor::Person {
                return Err(Rejection::HeldForAll { backend: backend.into() });
            }
            held.insert(backend);
            continue;
        }
        if !it.status.may_become(TaskStatus::Pending) || !it.status.has_ended() {
            return Err(Rejection::NotRetryable { task: it.name(), status: it.status });
        }
        let wanted = |it: &crate::Attempt| it.is_open() && it.claim.is_none();
        if state.parent_of(it).is_some_and(|it| !wanted(it)) {
            return Err(Rejection::ParentOver { task: *task });
        }
        if it.last_attempt().is_some_and(|it| !state.attempts[it].put_away) {
            return Err(Rejection::StillSaving { task: it.name() });
        }
        // The parent is pulling the changes of this attempt.
        if matches!(it.pull, Pull::UnderWay(_)) {
            return Err(Rejection::PullUnderWay { task: *task });
        }
        if it.deployer == Deployer::Person && actor != Actor::Person {
            return Err(Rejection::NeedsPerson { task: *task });
        }
        spawn_safety::keeps_off(state, it, &ended)?;
        plans.insert(it.plan);
        ended.insert(*task);
    }
    if let Actor::Worker(worker) = actor {
        let parent = &state.attempts[state.worker(worker)?.attempt];
        spawn_safety::numbers(state, input.at, parent, ended.len())?;
    }
    let release = |it: &str| Event::BackendReleased { backend: it.into(), actor };
    let mut events: Vec<Event> = held.into_iter().map(release).collect();
    for plan in plans {
        events.extend(reopen::decide(state, actor, plan, "retry")?);
    }
    for task in ended {
        let from = state.tasks[task].status;
        events.push(Event::RetryGranted { task, freshness, actor });
        let to = TaskStatus::Pending;
        events.push(Event::TaskMoved { task, from, to, reason: Reason::Retry, actor });
    }
    Ok(events)
}
