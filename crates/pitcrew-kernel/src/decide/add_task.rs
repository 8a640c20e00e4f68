//! Adds a task to a plan that has not ended.
//!
//! A person approves what a plan executes. If an agent adds a task to a plan that already runs, the
//! task waits until a person deploys it. If the plan waits for its approval, the approval has to name
//! the number of tasks that the person has seen.

use super::{create_plan, saved_plans};
use crate::State;
use alloc::{collections::BTreeSet, vec, vec::Vec};
use pitcrew_model::{
    Action, Actor, Event, PlanId, PlanStatus, Rejection, Rule, TaskId, TaskSpec, limits,
};

pub fn decide(
    state: &State,
    actor: Actor,
    plan: PlanId,
    spec: &TaskSpec,
) -> Result<Vec<Event>, Rejection> {
    let it = state.plan(plan)?;
    let approved = match it.status {
        PlanStatus::Draft | PlanStatus::AwaitingApproval => false,
        PlanStatus::Active | PlanStatus::Paused => true,
        PlanStatus::Clarifying
        | PlanStatus::Decomposing
        | PlanStatus::Completed
        | PlanStatus::Partial
        | PlanStatus::Failed
        | PlanStatus::Cancelled => {
            return Err(Rejection::NotExtendable { plan, status: it.status });
        }
    };
    let count = it.tasks.len() + 1;
    if count > limits::TASKS_PER_PLAN_MAX {
        return Err(Rejection::TooManyTasks { count });
    }
    let spec = state.resolved(spec, None)?;
    create_plan::check(&spec)?;
    saved_plans::has_room(state, actor, saved_plans::Saving::Task)?;
    let depends_on = dependencies(state, &it.tasks, &spec)?;
    let task = state.tasks.next_id();
    let mut events = vec![Event::TaskAdded { plan, task, spec, depends_on }];
    let asks = state.rule(&Action::PlanExecution) != Rule::AutoApprove;
    if actor == Actor::Person || !asks {
        return Ok(events);
    }
    if approved {
        events.push(Event::TaskHeld { task, actor });
    }
    Ok(events)
}

/// Returns the tasks of the plan that `depends_on` names. No existing task depends on the new one,
/// so only the task itself could close a cycle.
fn dependencies(
    state: &State,
    tasks: &[TaskId],
    spec: &TaskSpec,
) -> Result<Vec<TaskId>, Rejection> {
    let key = &spec.key;
    let find = |name: &str| tasks.iter().find(|it| state.tasks[**it].spec.key == name).copied();
    if let Some(known) = find(key) {
        return Err(Rejection::DuplicateTask { key: key.clone(), known: Some(known) });
    }
    if spec.depends_on.contains(key) {
        return Err(Rejection::Cycle { cycle: vec![key.clone(), key.clone()] });
    }
    let names: BTreeSet<&str> = spec.depends_on.iter().map(AsRef::as_ref).collect();
    let stranger =
        |missing: &str| Rejection::UnknownDependency { key: key.clone(), missing: missing.into() };
    names.into_iter().map(|it| find(it).ok_or_else(|| stranger(it))).collect()
}
