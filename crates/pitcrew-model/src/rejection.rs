//! Answers to commands that cannot be carried out. Nothing has changed when one is given.

use crate::{
    AttemptId, EffectId, LandingStatus, PlanId, PlanStatus, RequestId, RequestStatus, TaskId,
    TaskStatus, WorkerId, limits,
};
use alloc::{string::String, vec::Vec};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Rejection {
    #[error("there is no {plan}; `pitcrew status --all` lists the plans")]
    NoSuchPlan { plan: PlanId },
    #[error("there is no {task}; `pitcrew status --all` lists the tasks")]
    NoSuchTask { task: TaskId },
    #[error("there is no {request}; `pitcrew inbox` lists what waits")]
    NoSuchRequest { request: RequestId },
    #[error("there is no {attempt}")]
    NoSuchAttempt { attempt: AttemptId },
    #[error("there is no {worker}")]
    NoSuchWorker { worker: WorkerId },
    #[error("{effect} is not open: its result came before")]
    EffectNotOpen { effect: EffectId },
    #[error("the plan has no tasks")]
    EmptyPlan,
    #[error("the plan has {count} tasks; at most {max} are possible", max = limits::TASKS_PER_PLAN_MAX)]
    TooManyTasks { count: usize },
    #[error("the plan has two tasks named `{key}`")]
    DuplicateTask { key: String },
    #[error("task `{key}` depends on `{missing}`, which the plan does not have")]
    UnknownDependency { key: String, missing: String },
    #[error("the tasks depend on each other in a cycle: {}", cycle.join(" -> "))]
    Cycle { cycle: Vec<String> },
    #[error(
        "task `{key}` has no agent: name one with `agent = \"...\"`, or give it a `script` or a `command`"
    )]
    NoAgent { key: String },
    #[error("task `{key}`: {problem}")]
    BadTask { key: String, problem: String },
    #[error("{worker} has asked for too much already; go on without asking")]
    TooManyRequests { worker: WorkerId },
    #[error("{plan} is {status}, so it cannot become {wanted}")]
    PlanTransition { plan: PlanId, status: PlanStatus, wanted: PlanStatus },
    #[error("{task} is {status}, so it cannot become {wanted}")]
    TaskTransition { task: TaskId, status: TaskStatus, wanted: TaskStatus },
    #[error("{task} cannot be deployed: it is {status}")]
    NotDeployable { task: TaskId, status: TaskStatus },
    #[error("{task} is not deployable by hand: its plan deploys automatically")]
    DeploysItself { task: TaskId },
    #[error("{task} cannot be retried: it is {status}")]
    NotRetryable { task: TaskId, status: TaskStatus },
    #[error("{task} is still being put away after its last attempt; try again in a moment")]
    StillSaving { task: TaskId },
    #[error("{plan} is {status}; only an active plan can be paused")]
    NotPausable { plan: PlanId, status: PlanStatus },
    #[error("{plan} is {status}; only a paused plan can be resumed")]
    NotResumable { plan: PlanId, status: PlanStatus },
    #[error(
        "{plan} is {status}; it can be landed when all its tasks have ended and some are completed"
    )]
    NotLandable { plan: PlanId, status: PlanStatus },
    #[error("the landing of {plan} is {status} already")]
    LandingUnderWay { plan: PlanId, status: LandingStatus },
    #[error("{request} is {status} already")]
    RequestClosed { request: RequestId, status: RequestStatus },
    #[error("{request} is a question: use `pitcrew answer {request} \"...\"`")]
    IsQuestion { request: RequestId },
    #[error(
        "{request} is no question: use `pitcrew approve {request}` or `pitcrew deny {request}`"
    )]
    IsNoQuestion { request: RequestId },
    #[error("only a person may decide {request}")]
    NotYours { request: RequestId },
    #[error("{attempt} is over: its task went on without it")]
    AttemptOver { attempt: AttemptId },
    #[error(
        "{task} is {status}; only a task that has ended without being completed can be abandoned"
    )]
    NotAbandonable { task: TaskId, status: TaskStatus },
    #[error("nothing of {task} is kept yet: it has changed nothing so far")]
    NothingKept { task: TaskId },
    #[error("{task} has no snapshot {number}: there {}; `pitcrew restore {task} --list` shows them", range(*count))]
    NoSuchSnapshot { task: TaskId, number: u32, count: u32 },
    #[error(
        "snapshot {number} of {task} is not kept any more; `pitcrew restore {task} --list` shows what is"
    )]
    SnapshotDropped { task: TaskId, number: u32 },
    #[error("max_agents must be between 1 and {max}", max = limits::AGENTS_MAX)]
    AgentsMaxRange { count: u32 },
    #[error("the journal could not be written: {message}. Nothing was changed")]
    JournalFull { message: String },
    #[error("the orchestrator is shutting down; run the command again")]
    ShuttingDown,
}

fn range(count: u32) -> String {
    match count {
        1 => "is only number 1".into(),
        count => alloc::format!("are 1 to {count}"),
    }
}
