//! A plan is handed in: checked whole, then approved or put before a person.

use super::order;
use crate::State;
use alloc::{string::String, vec, vec::Vec};
use pitcrew_model::{
    Action, Actor, Approval, CreatePlan, Event, Origin, PlanId, PlanStatus, Rejection, RequestKind,
    Rule, TaskId, builtin_rule, limits,
};

pub fn decide(state: &State, actor: Actor, it: &CreatePlan) -> Result<Vec<Event>, Rejection> {
    let tasks = &it.spec.tasks;
    if tasks.is_empty() {
        return Err(Rejection::EmptyPlan);
    }
    if tasks.len() > limits::TASKS_PER_PLAN_MAX {
        return Err(Rejection::TooManyTasks { count: tasks.len() });
    }
    if let Some(task) = tasks.iter().find(|it| it.agent.backend.is_none()) {
        return Err(Rejection::NoAgent { key: task.key.clone() });
    }
    let order = order::topological(tasks)?;
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
    let asks = builtin_rule(Action::PlanExecution) == Rule::AskUser;
    if asks && it.approval == Approval::Ask {
        let request = state.requests.next_id();
        let kind = RequestKind::PlanExecution;
        events.push(Event::RequestOpened { request, plan, task: None, worker: None, kind });
    } else {
        events.extend(activate(plan, to, "approved with the order", actor));
    }
    Ok(events)
}

/// The plan may run: the vault gets ready for it.
pub fn activate(plan: PlanId, from: PlanStatus, reason: &str, actor: Actor) -> [Event; 2] {
    let to = PlanStatus::Active;
    [Event::PlanMoved { plan, from, to, reason: reason.into(), actor }, Event::PlanOpened { plan }]
}
