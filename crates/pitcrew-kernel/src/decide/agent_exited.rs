//! An agent's process ended unexpectedly, or survived a restart of the orchestrator.

use super::{attempt_fails, effect_ended};
use crate::{State, state::Process};
use alloc::{string::ToString, vec, vec::Vec};
use pitcrew_model::{Actor, Claim, Event, Exit, Failure, Input, Rejection, WorkerId};

pub fn decide(
    state: &State,
    input: &Input,
    worker: WorkerId,
    exit: &Exit,
) -> Result<Vec<Event>, Rejection> {
    let it = state.worker(worker)?;
    if !matches!(it.process, Process::Alive | Process::Stopping) {
        return Ok(Vec::new());
    }
    let mut events = vec![Event::AgentExited { worker, exit: exit.clone() }];
    let attempt = &state.attempts[it.attempt];
    let done = matches!(attempt.claim, Some((Claim::Success | Claim::Partial, _)));
    if !attempt.is_open() || done {
        // If a stop was requested too, its result comes after the process is gone.
        events.extend(effect_ended::agent_gone(state, worker));
        return Ok(events);
    }
    let failure = match (&attempt.claim, exit.code, exit.signal) {
        // It exited after it reported that the task cannot be done.
        (Some((_, summary)), _, _) => Failure::GaveUp { summary: summary.clone() },
        (None, None, None) => Failure::Interrupted,
        _ => Failure::AgentExited { exit: exit.to_string(), output: exit.stderr.clone() },
    };
    let actor = Actor::Orchestrator;
    let ends = attempt_fails::decide(state, input.at, actor, attempt.id, failure);
    // The process is gone, so its work is saved at once.
    let save = || attempt_fails::save(attempt);
    let instead =
        |event| if matches!(event, Event::StopAsked { .. }) { save() } else { Some(event) };
    events.extend(ends.into_iter().filter_map(instead));
    Ok(events)
}

pub fn reattached(state: &State, worker: WorkerId, away_ms: u64) -> Result<Vec<Event>, Rejection> {
    let is_alive = state.worker(worker)?.process == Process::Alive;
    Ok(is_alive.then_some(Event::AgentReattached { worker, away_ms }).into_iter().collect())
}
