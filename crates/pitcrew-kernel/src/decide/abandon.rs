//! A person gives up what ended tasks left in their checkouts, so that these may be removed.

use crate::{
    State,
    state::{Attempt, Checkout},
};
use alloc::vec::Vec;
use pitcrew_model::{Actor, Event, PlanId, Rejection, TaskId, TaskStatus};

pub fn task(state: &State, actor: Actor, task: TaskId) -> Result<Vec<Event>, Rejection> {
    let it = state.task(task)?;
    if !it.status.has_ended() || it.status == TaskStatus::Completed {
        return Err(Rejection::NotAbandonable { task, status: it.status });
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
    Ok(given_up().flat_map(|it| abandon(state, actor, it)).collect())
}

fn require_saved(state: &State, task: TaskId) -> Result<(), Rejection> {
    let last = state.tasks[task].last_attempt();
    if last.is_some_and(|it| !state.attempts[it].put_away) {
        return Err(Rejection::StillSaving { task });
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
