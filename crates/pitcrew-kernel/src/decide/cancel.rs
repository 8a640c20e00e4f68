//! Cancels plans and tasks, from every state, with all sub-tasks.

use super::attempt_fails;
use crate::State;
use alloc::{string::ToString, vec, vec::Vec};
use pitcrew_model::{
    Actor, Event, Failure, Input, LandingStatus, PlanId, PlanStatus, Reason, Rejection,
    RequestStatus, TaskId, TaskStatus, Timestamp,
};

pub fn task(state: &State, input: &Input, task: TaskId) -> Result<Vec<Event>, Rejection> {
    let it = state.task(task)?;
    // A task that is being integrated may already be in the branch.
    if it.status == TaskStatus::Integrating || !it.status.may_become(TaskStatus::Cancelled) {
        let (status, wanted) = (it.status, TaskStatus::Cancelled);
        return Err(Rejection::TaskTransition { task: it.name(), status, wanted });
    }
    Ok(cancel_task(state, input, task))
}

pub fn plan(state: &State, input: &Input, plan: PlanId) -> Result<Vec<Event>, Rejection> {
    let it = state.plan(plan)?;
    let (from, to) = (it.status, PlanStatus::Cancelled);
    if !from.may_become(to) {
        return Err(Rejection::PlanTransition { plan, status: from, wanted: to });
    }
    let mut events = withdraw_plan_request(state, plan, input.actor);
    let reason = "cancelled".to_string();
    events.push(Event::PlanMoved { plan, from, to, reason, actor: input.actor });
    for task in &it.tasks {
        let status = state.tasks[*task].status;
        if !status.has_ended() && status != TaskStatus::Integrating {
            events.extend(cancel_task(state, input, *task));
        }
    }
    Ok(events)
}

fn cancel_task(state: &State, input: &Input, task: TaskId) -> Vec<Event> {
    one(state, input.at, input.actor, &input.actor.to_string(), task)
}

/// Cancels one task. A standing rule cancels its sub-tasks.
pub fn one(state: &State, at: Timestamp, actor: Actor, by: &str, task: TaskId) -> Vec<Event> {
    let it = &state.tasks[task];
    if it.status.in_attempt() {
        let attempt = it.last_attempt().expect("a task in an attempt has one");
        let failure = Failure::Cancelled { by: by.into() };
        return attempt_fails::decide(state, at, actor, attempt, failure);
    }
    let (from, to) = (it.status, TaskStatus::Cancelled);
    vec![Event::TaskMoved { task, from, to, reason: Reason::Cancelled, actor }]
}

/// Cancels a plan that has not run yet, with its tasks.
pub fn unstarted_plan(state: &State, plan: PlanId, reason: &str, actor: Actor) -> Vec<Event> {
    let it = &state.plans[plan];
    let (from, to) = (it.status, PlanStatus::Cancelled);
    let mut events = vec![Event::PlanMoved { plan, from, to, reason: reason.into(), actor }];
    events.extend(cancel_waiting(state, plan, &Reason::Cancelled, actor));
    events
}

/// Cancels the tasks of a plan that have no open attempt.
pub fn cancel_waiting(
    state: &State,
    plan: PlanId,
    reason: &Reason,
    actor: Actor,
) -> impl Iterator<Item = Event> {
    let tasks = state.plans[plan].tasks.iter().map(|it| &state.tasks[*it]);
    tasks.filter(|it| !it.status.has_ended() && !it.status.in_attempt()).map(move |it| {
        let (from, to) = (it.status, TaskStatus::Cancelled);
        Event::TaskMoved { task: it.id, from, to, reason: reason.clone(), actor }
    })
}

fn withdraw_plan_request(state: &State, plan: PlanId, actor: Actor) -> Vec<Event> {
    let Some(request) = state.plans[plan].request else { return Vec::new() };
    let (from, to) = (state.requests[request].status, RequestStatus::Withdrawn);
    let mut events = vec![Event::RequestMoved { request, from, to, text: None, actor }];
    let (from, to) = (state.plans[plan].landing, LandingStatus::None);
    if from == LandingStatus::Review {
        let reason = "cancelled".to_string();
        events.push(Event::LandingMoved { plan, from, to, reason, actor });
    }
    events
}
