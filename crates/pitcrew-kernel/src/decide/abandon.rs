//! Abandons the work that ended tasks left in their checkouts, so that these may be removed; for a
//! plan also its landing, so that it is no longer open. The vault keeps the work.

use crate::{
    State,
    state::{Attempt, Checkout, Plan},
};
use alloc::{string::String, vec::Vec};
use pitcrew_model::{
    Actor, Event, LandingStatus, PlanId, PlanStatus, Rejection, RequestStatus, TaskId, TaskStatus,
};

pub fn task(state: &State, actor: Actor, task: TaskId) -> Result<Vec<Event>, Rejection> {
    let it = state.task(task)?;
    if !it.status.has_ended() || it.status == TaskStatus::Completed {
        return Err(Rejection::NotAbandonable { task: it.name(), status: it.status });
    }
    require_saved(state, task)?;
    Ok(abandon(state, actor, task))
}

pub fn plan(state: &State, actor: Actor, plan: PlanId) -> Result<Vec<Event>, Rejection> {
    let it = state.plan(plan)?;
    let given_up = |task: &&TaskId| {
        let status = state.tasks[**task].status;
        status.has_ended() && status != TaskStatus::Completed
    };
    let given_up = || it.tasks.iter().filter(given_up).copied();
    given_up().try_for_each(|it| require_saved(state, it))?;
    let mut events = give_up_landing(it, state, actor)?;
    events.extend(given_up().flat_map(|it| abandon(state, actor, it)));
    Ok(events)
}

/// Only a plan whose landing is open is changed.
fn give_up_landing(plan: &Plan, state: &State, actor: Actor) -> Result<Vec<Event>, Rejection> {
    let (id, from, to) = (plan.id, plan.landing, LandingStatus::Abandoned);
    if matches!(from, LandingStatus::Merging | LandingStatus::Undoing) {
        return Err(Rejection::LandingUnderWay { plan: id, status: from });
    }
    let waits = plan.status.has_ended() && plan.status != PlanStatus::Cancelled;
    if !waits || !from.may_become(to) {
        return Ok(Vec::new());
    }
    let mut events = Vec::new();
    if let Some(request) = plan.request {
        let (from, to) = (state.requests[request].status, RequestStatus::Withdrawn);
        events.push(Event::RequestMoved { request, from, to, text: None, actor });
    }
    let reason = String::new();
    events.push(Event::LandingMoved { plan: id, from, to, reason, actor });
    Ok(events)
}

fn require_saved(state: &State, task: TaskId) -> Result<(), Rejection> {
    let last = state.tasks[task].last_attempt();
    if last.is_some_and(|it| !state.attempts[it].put_away) {
        return Err(Rejection::StillSaving { task: state.tasks[task].name() });
    }
    Ok(())
}

fn abandon(state: &State, actor: Actor, task: TaskId) -> Vec<Event> {
    let attempts = state.tasks[task].attempts.iter().map(|it| &state.attempts[*it]);
    let there = attempts.filter(|it| it.checkout == Checkout::There && it.put_away);
    let ask = |it: &Attempt| {
        [Event::Abandoned { attempt: it.id, actor }, Event::RemovalAsked { attempt: it.id }]
    };
    there.flat_map(ask).collect()
}
