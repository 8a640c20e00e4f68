//! A person grants tasks that ended one more attempt each.

use super::reopen;
use crate::State;
use alloc::{collections::BTreeSet, vec::Vec};
use pitcrew_model::{Actor, Event, Freshness, PlanId, Reason, Rejection, TaskId, TaskStatus};

pub fn decide(
    state: &State,
    actor: Actor,
    tasks: &[TaskId],
    freshness: Freshness,
) -> Result<Vec<Event>, Rejection> {
    let unique: BTreeSet<TaskId> = tasks.iter().copied().collect();
    let mut plans: BTreeSet<PlanId> = BTreeSet::new();
    for task in &unique {
        let it = state.task(*task)?;
        if !it.status.may_become(TaskStatus::Pending) || !it.status.has_ended() {
            return Err(Rejection::NotRetryable { task: *task, status: it.status });
        }
        if it.last_attempt().is_some_and(|it| !state.attempts[it].put_away) {
            return Err(Rejection::StillSaving { task: *task });
        }
        plans.insert(it.plan);
    }
    let mut events = Vec::new();
    for plan in plans {
        events.extend(reopen::decide(state, actor, plan, "retry")?);
    }
    for task in unique {
        let from = state.tasks[task].status;
        events.push(Event::RetryGranted { task, freshness, actor });
        let to = TaskStatus::Pending;
        events.push(Event::TaskMoved { task, from, to, reason: Reason::Retry, actor });
    }
    Ok(events)
}
