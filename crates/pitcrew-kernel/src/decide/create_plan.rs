//! Creates a plan: validates it, then approves it or requests an approval.

use super::{order, saved_plans};
use crate::{State, sandbox};
use alloc::{string::String, vec, vec::Vec};
use pitcrew_model::{
    Action, Actor, Approval, BACKEND_COMMAND, CreatePlan, Event, Origin, PlanId, PlanStatus,
    Rejection, RequestKind, Rule, TaskId, TaskSpec, TaskWork, limits,
};

pub fn decide(state: &State, actor: Actor, it: &CreatePlan) -> Result<Vec<Event>, Rejection> {
    let resolve = |task: &TaskSpec| state.resolved(task, it.default_agent.as_ref());
    let tasks = it.spec.tasks.iter().map(resolve).collect::<Result<Vec<_>, _>>()?;
    if tasks.is_empty() {
        return Err(Rejection::EmptyPlan);
    }
    if tasks.len() > limits::TASKS_PER_PLAN_MAX {
        return Err(Rejection::TooManyTasks { count: tasks.len() });
    }
    for task in &tasks {
        check(task)?;
    }
    saved_plans::has_room(state, actor, saved_plans::Saving::Plan { tasks_count: tasks.len() })?;
    let rule = state.rule(&Action::PlanExecution);
    if rule == Rule::AutoDeny {
        return Err(state.denied(Action::PlanExecution));
    }
    sandbox::admit(state)?;
    let order = order::topological(&tasks)?;
    let plan = state.plans.next_id();
    let status = match it.origin {
        Origin::File => PlanStatus::Draft,
        Origin::Intent => PlanStatus::Decomposing,
    };
    let head = it.spec.head.clone();
    let mut events =
        vec![Event::PlanCreated { plan, head, status, clean_base: it.clean_base, actor }];
    let first = state.tasks.next_id().0;
    let mut ids = vec![TaskId(0); tasks.len()];
    for (position, index) in order.iter().enumerate() {
        ids[index.task] = TaskId(first + position as u64);
        let depends_on = index.dependencies.iter().map(|it| ids[*it]).collect();
        let spec = tasks[index.task].clone();
        events.push(Event::TaskAdded { plan, task: ids[index.task], spec, depends_on });
    }
    let to = PlanStatus::AwaitingApproval;
    events.push(Event::PlanMoved { plan, from: status, to, reason: String::new(), actor });
    // Only a person can have approved it.
    let given = it.approval == Approval::Given && actor == Actor::Person;
    if rule == Rule::AskUser && !given {
        let request = state.requests.next_id();
        let kind = RequestKind::PlanExecution;
        events.push(Event::RequestOpened { request, plan, task: None, worker: None, kind });
    } else {
        let reason =
            if given { "approved with the command" } else { "approved by the permissions" };
        events.extend(activate(plan, to, reason, actor));
    }
    Ok(events)
}

/// Checks the limits of one task, wherever it came from.
pub fn check(task: &TaskSpec) -> Result<(), Rejection> {
    if task.agent.backend.is_none() {
        return Err(Rejection::NoAgent { key: task.key.clone() });
    }
    let needs_order = task.agent.backend.as_deref() == Some(BACKEND_COMMAND);
    let order_bytes = match &task.work {
        TaskWork::Prompt { .. } => 0,
        TaskWork::Script { script, .. } => script.len(),
        TaskWork::Command { command, .. } => command.len(),
    };
    let bytes = task.work.prompt().len() + order_bytes;
    let problem = if task.key.is_empty() || task.key.len() > limits::NAME_BYTES_MAX {
        "its id is empty or too long"
    } else if !(1..=limits::ATTEMPTS_PER_TASK_MAX).contains(&task.attempts_max) {
        "its `max_attempts` is out of range"
    } else if !(1..=limits::TASK_TIMEOUT_MS_MAX).contains(&task.timeout_ms) {
        "its `timeout` is out of range: more than 0 and at most 7 days"
    } else if task.depends_on.len() > limits::DEPENDENCIES_PER_TASK_MAX {
        "it has too many dependencies"
    } else if bytes > 2 * limits::PROMPT_BYTES_MAX {
        "its prompt is too long"
    } else if needs_order && order_bytes == 0 {
        "it runs on `command`, but has no command"
    } else {
        return Ok(());
    };
    Err(Rejection::BadTask { key: task.key.clone(), problem: problem.into() })
}

/// Activates the plan: the vault is prepared for it.
pub fn activate(plan: PlanId, from: PlanStatus, reason: &str, actor: Actor) -> [Event; 2] {
    let to = PlanStatus::Active;
    [Event::PlanMoved { plan, from, to, reason: reason.into(), actor }, Event::PlanOpened { plan }]
}
