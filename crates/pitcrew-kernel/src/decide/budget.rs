//! Records usage, and ends what a person does not grant more for.

use super::attempt_fails;
use crate::State;
use alloc::{vec, vec::Vec};
use pitcrew_model::{
    Actor, BudgetScope, Event, Failure, Input, Reason, Rejection, Spending, TaskId, TaskStatus,
    Usage, WorkerId,
};

/// Usage only grows, so a repeated report changes nothing. A report after the end of a turn belongs
/// to that turn, even if the agent is being stopped.
pub fn report_usage(
    state: &State,
    worker: WorkerId,
    usage: Usage,
) -> Result<Vec<Event>, Rejection> {
    let it = state.worker(worker)?;
    let usage = it.reported.at_least(usage);
    let is_news = it.turns_count > 0 && usage != it.reported;
    Ok(is_news.then_some(Event::UsageNoted { worker, usage }).into_iter().collect())
}

/// Ends everything that would use more. Submitted work is still verified.
pub fn denied(state: &State, input: &Input, spending: &Spending) -> Vec<Event> {
    let tasks: Vec<TaskId> = match spending.scope {
        BudgetScope::Task(task) => state.parts(task),
        BudgetScope::Plan(plan) => state.units(&state.plans[plan]),
    };
    let mut events = vec![];
    for task in tasks.iter().map(|it| &state.tasks[*it]).filter(|it| state.task_wants_more(it)) {
        let failure = Failure::Budget(*spending);
        if task.status.in_attempt() {
            let attempt = task.last_attempt().expect("a task in an attempt has one");
            events.extend(attempt_fails::decide(state, input.at, input.actor, attempt, failure));
        } else {
            let reason = Reason::Failure { failure, retry_at: None };
            let (from, to) = (task.status, TaskStatus::Failed);
            let actor: Actor = input.actor;
            events.push(Event::TaskMoved { task: task.id, from, to, reason, actor });
        }
    }
    events
}
