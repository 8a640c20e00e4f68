//! Authorisation: which actor may send which command.

use crate::{State, state::Plan};
use pitcrew_model::{Actor, Command, PlanId, Rejection, TaskId, WorkerId};

pub fn check(state: &State, actor: Actor, command: &Command) -> Result<(), Rejection> {
    let allowed = match actor {
        Actor::Person | Actor::Orchestrator => true,
        Actor::Worker(worker) => return of_worker(state, worker, command),
        Actor::Client => client(command),
    };
    if allowed { Ok(()) } else { Err(Rejection::NotForYou { actor }) }
}

/// A worker works, and creates plans that a person approves.
fn of_worker(state: &State, worker: WorkerId, command: &Command) -> Result<(), Rejection> {
    match command {
        Command::CompleteTask { .. }
        | Command::Notify { .. }
        | Command::CreatePlan(_)
        | Command::Once { .. }
        | Command::SpawnSubtasks { .. }
        | Command::AwaitSubtasks { .. }
        | Command::PullSubtask { .. }
        | Command::DecideForChild { .. }
        | Command::AskQuery { .. }
        // Rejected where they are decided, because the message names the request.
        | Command::DecideRequest { .. }
        | Command::AnswerQuestion { .. } => Ok(()),
        Command::AddTask { plan, .. } => extends(state, worker, *plan),
        Command::CancelTask { task } => owns(state, worker, *task),
        Command::RetryTasks { tasks, .. } => {
            tasks.iter().try_for_each(|it| owns(state, worker, *it))
        }
        Command::DeployTask { .. }
        | Command::SendMessage { .. }
        | Command::AcceptTask { .. }
        | Command::CancelPlan { .. }
        | Command::PausePlan { .. }
        | Command::ResumePlan { .. }
        | Command::AbandonTask { .. }
        | Command::AbandonPlan { .. }
        | Command::RestoreTask { .. }
        | Command::LandPlan { .. }
        | Command::UndoLanding { .. }
        | Command::CollectGarbage
        | Command::ApplySettings { .. }
        | Command::ApplyMatrix { .. }
        | Command::ApplyCrew { .. }
        | Command::ApplyQueryLimits { .. }
        | Command::ApplySandbox { .. }
        | Command::AcceptTier { .. }
        | Command::RevokeGrant { .. }
        | Command::SpawnStandalone { .. }
        | Command::SetAgentsMax { .. } => {
            Err(Rejection::NotForYou { actor: Actor::Worker(worker) })
        }
    }
}

/// A worker extends its own plan, and plans that an attempt of its task has saved. A person reads
/// other plans before approving them, and nothing may be added meanwhile.
fn extends(state: &State, worker: WorkerId, plan: PlanId) -> Result<(), Rejection> {
    let it = state.plan(plan)?;
    let task = state.task_of(worker);
    let is_own = task.and_then(|it| state.tasks.get(it)).is_some_and(|it| it.plan == plan);
    if is_own || has_saved(state, worker, it) {
        Ok(())
    } else {
        Err(Rejection::NotForYou { actor: Actor::Worker(worker) })
    }
}

/// Whether an attempt of the worker's task has saved the plan.
pub fn has_saved(state: &State, worker: WorkerId, plan: &Plan) -> bool {
    let task = state.task_of(worker);
    let is_same = |other| task.is_some() && state.task_of(other) == task;
    matches!(plan.creator, Actor::Worker(other) if is_same(other))
}

/// A worker cancels and retries only its own sub-tasks.
fn owns(state: &State, worker: WorkerId, task: TaskId) -> Result<(), Rejection> {
    let parent = state.parent_of(state.task(task)?);
    if parent.is_some_and(|it| it.worker == worker) {
        Ok(())
    } else {
        Err(Rejection::NotYourSubtask { task })
    }
}

/// A person's own agent drives plans. It cannot approve anything, and cannot abandon work.
fn client(command: &Command) -> bool {
    match command {
        Command::CreatePlan(_)
        | Command::AddTask { .. }
        | Command::DeployTask { .. }
        | Command::RetryTasks { .. }
        | Command::CancelTask { .. }
        | Command::CancelPlan { .. }
        | Command::PausePlan { .. }
        | Command::ResumePlan { .. }
        | Command::SendMessage { .. }
        | Command::SpawnStandalone { .. }
        | Command::Once { .. } => true,
        Command::DecideRequest { .. }
        | Command::AnswerQuestion { .. }
        | Command::AcceptTask { .. }
        | Command::AbandonTask { .. }
        | Command::AbandonPlan { .. }
        | Command::RestoreTask { .. }
        | Command::LandPlan { .. }
        | Command::UndoLanding { .. }
        | Command::CollectGarbage
        | Command::ApplySettings { .. }
        | Command::ApplyMatrix { .. }
        | Command::ApplyCrew { .. }
        | Command::ApplySandbox { .. }
        | Command::AcceptTier { .. }
        | Command::RevokeGrant { .. }
        | Command::SetAgentsMax { .. }
        | Command::CompleteTask { .. }
        | Command::Notify { .. }
        | Command::SpawnSubtasks { .. }
        | Command::AwaitSubtasks { .. }
        | Command::PullSubtask { .. }
        | Command::AskQuery { .. }
        | Command::ApplyQueryLimits { .. }
        | Command::DecideForChild { .. } => false,
    }
}
