//! A worker reports the end of its task.

use super::attempt_fails;
use crate::{
    State,
    state::{Attempt, Process, Pull, Task},
};
use alloc::{string::String, vec::Vec};
use pitcrew_model::{
    AttemptId, Claim, EffectId, Event, Failure, Input, Rejection, TaskId, TaskOutput, TaskStatus,
    limits, text,
};

pub fn decide(
    state: &State,
    input: &Input,
    attempt: AttemptId,
    claim: Claim,
    summary: &str,
    output: Option<&TaskOutput>,
) -> Result<Vec<Event>, Rejection> {
    let it = state.attempt(attempt)?;
    let worker = &state.workers[it.worker];
    if !it.is_open() || worker.process != Process::Alive {
        return Err(Rejection::AttemptOver { attempt });
    }
    let task = &state.tasks[it.task];
    let (status, wanted) = (task.status, TaskStatus::Verifying);
    if !status.may_become(wanted) {
        return Err(Rejection::TaskTransition { task: task.name(), status, wanted });
    }
    // Sub-tasks are part of the work: only a worker that gives up may leave them open.
    if claim != Claim::Failed && !it.family.open.is_empty() {
        let tasks = it.family.open.iter().copied().collect();
        return Err(Rejection::SubtasksOpen { tasks });
    }
    if claim != Claim::Failed
        && let Some(task) = being_pulled(state, it)
    {
        return Err(Rejection::PullUnderWay { task });
    }
    let output = output.filter(|it| !it.is_empty());
    if output.is_some_and(|it| bytes(it) > limits::SUMMARY_BYTES_MAX) {
        return Err(Rejection::OutputTooLong);
    }
    let summary: String = text::cut(summary, limits::SUMMARY_BYTES_MAX).into();
    // A repeated call is the same report: the bridge may have lost the answer.
    if it.claim.as_ref() == Some(&(claim, summary.clone())) {
        return Ok(Vec::new());
    }
    let output = output.cloned().map(|output| Event::OutputHanded { attempt, output });
    let mut events: Vec<Event> = output.into_iter().collect();
    events.push(Event::CompletionClaimed { attempt, claim, summary: summary.clone() });
    if worker.turn.is_none() {
        events.extend(after_turn(state, input, attempt, claim, summary));
    }
    Ok(events)
}

/// Returns a sub-task whose changes are being pulled into the checkout.
fn being_pulled(state: &State, attempt: &Attempt) -> Option<TaskId> {
    let is_pulled = |it: &&TaskId| matches!(state.tasks[**it].pull, Pull::UnderWay(_));
    let own = attempt.family.children.iter().find(is_pulled).copied();
    let of_other = |effect: &EffectId| {
        let pulled = |it: &&Task| it.pull == Pull::UnderWay(*effect);
        state.tasks.iter().find(pulled).map(|it| it.id)
    };
    own.or_else(|| attempt.family.pulls.first().and_then(of_other))
}

fn bytes(output: &TaskOutput) -> usize {
    let metadata = output.metadata.as_ref().map_or(0, String::len);
    metadata + output.permissions_requested.iter().map(String::len).sum::<usize>()
}

/// The turn has ended after the report, so the process is no longer needed.
pub fn after_turn(
    state: &State,
    input: &Input,
    attempt: AttemptId,
    claim: Claim,
    summary: String,
) -> Vec<Event> {
    match claim {
        Claim::Success | Claim::Partial => {
            let worker = state.attempts[attempt].worker;
            let mut events = attempt_fails::withdraw_requests(state, worker);
            events.push(Event::StopAsked { worker });
            events
        }
        Claim::Failed => {
            let failure = Failure::GaveUp { summary };
            attempt_fails::decide(state, input.at, input.actor, attempt, failure)
        }
    }
}
