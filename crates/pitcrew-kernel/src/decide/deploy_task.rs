//! Deploys a task of a manually deployed plan.

use crate::{State, state::Deployer};
use alloc::{vec, vec::Vec};
use pitcrew_model::{Actor, Event, PlanStatus, Rejection, TaskId, TaskStatus};

pub fn decide(state: &State, actor: Actor, task: TaskId) -> Result<Vec<Event>, Rejection> {
    let it = state.task(task)?;
    let plan = &state.plans[it.plan];
    let waits = matches!(it.status, TaskStatus::Pending | TaskStatus::Blocked);
    if !waits || !matches!(plan.status, PlanStatus::Active | PlanStatus::Paused) {
        return Err(Rejection::NotDeployable { task, status: it.status });
    }
    if it.deployed {
        return Err(Rejection::DeploysItself { task });
    }
    if it.deployer == Deployer::Person && actor != Actor::Person {
        return Err(Rejection::NeedsPerson { task });
    }
    Ok(vec![Event::TaskDeployed { task, actor }])
}
