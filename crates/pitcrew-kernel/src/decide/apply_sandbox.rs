//! Applies the available sandbox, if it has changed. Nothing starts with less than is required. An
//! agent that is starting now was started by the last orchestrator.

use super::attempt_fails;
use crate::{State, sandbox::suffices};
use alloc::{string::ToString, vec, vec::Vec};
use pitcrew_model::{Actor, Event, Failure, Sandbox, Timestamp, WorkerStatus};

pub fn decide(state: &State, now: Timestamp, sandbox: &Sandbox) -> Vec<Event> {
    if state.sandbox.as_ref() == Some(sandbox) {
        return Vec::new();
    }
    let mut events = vec![Event::SandboxApplied { sandbox: sandbox.clone() }];
    let Err(rejection) = suffices(state, sandbox) else { return events };
    let is_starting = |status| status == WorkerStatus::Starting;
    for worker in state.live_workers().filter(|it| is_starting(it.status)) {
        let failure = Failure::Sandbox { message: rejection.to_string() };
        let actor = Actor::Orchestrator;
        events.extend(attempt_fails::decide(state, now, actor, worker.attempt, failure));
    }
    events
}
