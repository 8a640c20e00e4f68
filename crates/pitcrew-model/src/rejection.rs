//! Answers to commands that cannot be carried out. A rejected command changes nothing.

use crate::{
    Action, Actor, AgentProblem, AttemptId, EffectId, GrantId, LandingStatus, MessageId, Party,
    PlanId, PlanStatus, RepoPath, RequestId, RequestStatus, RuleSource, SubtaskName, SubtaskNames,
    TaskId, TaskName, TaskStatus, Tier, WorkerId, WorkspaceMode, limits,
};
use alloc::{format, string::String, vec::Vec};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Rejection {
    #[error("there is no {plan}; `pitcrew status --all` lists the plans")]
    NoSuchPlan { plan: PlanId },
    #[error("there is no {task}; `pitcrew status --all` lists the tasks")]
    NoSuchTask { task: TaskId },
    #[error("there is no {request}; `pitcrew inbox` lists the open requests")]
    NoSuchRequest { request: RequestId },
    #[error("there is no {attempt}")]
    NoSuchAttempt { attempt: AttemptId },
    #[error("there is no {worker}")]
    NoSuchWorker { worker: WorkerId },
    #[error("{effect} is not open: it already has a result")]
    EffectNotOpen { effect: EffectId },
    #[error("the plan has no tasks; add at least one")]
    EmptyPlan,
    #[error("the plan has {count} tasks; the limit is {max}", max = limits::TASKS_PER_PLAN_MAX)]
    TooManyTasks { count: usize },
    #[error("{}", duplicate(key, *known))]
    DuplicateTask {
        key: String,
        /// The task that already has this id.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        known: Option<TaskId>,
    },
    #[error("task `{key}` depends on `{missing}`, which the plan does not have")]
    UnknownDependency { key: String, missing: String },
    #[error("the tasks depend on each other in a cycle: {}", cycle.join(" -> "))]
    Cycle { cycle: Vec<String> },
    #[error(
        "task `{key}` has no agent: name one with `agent = \"...\"`, or give it a `script` or a `command`"
    )]
    NoAgent { key: String },
    #[error("task `{key}` {problem}; {}", problem.remedy())]
    NoAgentFor { key: String, problem: AgentProblem },
    #[error("sub-task {number} {problem}; {}", problem.remedy())]
    NoAgentForSubtask { number: usize, problem: AgentProblem },
    #[error(
        "{agent} may not create sub-tasks: its definition does not allow it; do this part yourself"
    )]
    MayNotSpawn { agent: String },
    #[error("task `{key}`: {problem}")]
    BadTask { key: String, problem: String },
    #[error("{worker} has too many open requests; continue without this one")]
    TooManyRequests { worker: WorkerId },
    #[error("{}", plan_transition(*plan, *status, *wanted))]
    PlanTransition { plan: PlanId, status: PlanStatus, wanted: PlanStatus },
    #[error("{}", task_transition(*task, *status, *wanted))]
    TaskTransition { task: TaskName, status: TaskStatus, wanted: TaskStatus },
    #[error("{task} is {status} and cannot be deployed; `pitcrew status` shows what it waits for")]
    NotDeployable { task: TaskId, status: TaskStatus },
    #[error("{plan} is {status}; tasks can be added only until a plan ends")]
    NotExtendable { plan: PlanId, status: PlanStatus },
    #[error("{}", plan_changed(*plan, *count, added))]
    PlanChanged {
        plan: PlanId,
        /// The tasks that it has now.
        count: usize,
        /// Those that the sender has not seen.
        added: Vec<TaskId>,
    },
    #[error(
        "{worker} has saved {count} tasks in {plans} plans; its task may save {tasks_max} tasks in {plans_max} plans; use sub-tasks, or ask the person to extend a plan",
        tasks_max = limits::TASKS_SAVED_PER_TASK_MAX,
        plans_max = limits::PLANS_SAVED_PER_TASK_MAX
    )]
    TooManyPlans { worker: WorkerId, plans: usize, count: usize },
    #[error(
        "only a person may deploy {task}, because it was added after the approval: `pitcrew deploy {task}`"
    )]
    NeedsPerson { task: TaskId },
    #[error("only a person may do this, not {actor}")]
    NotForYou { actor: Actor },
    #[error("{task} starts by itself: its plan has `deploy = \"auto\"`")]
    DeploysItself { task: TaskId },
    #[error("{}", not_retryable(*task, *status))]
    NotRetryable { task: TaskName, status: TaskStatus },
    #[error("the work of the last attempt of {task} is still being saved; try again in a moment")]
    StillSaving { task: TaskName },
    #[error("{plan} is {status}; only an active plan can be paused")]
    NotPausable { plan: PlanId, status: PlanStatus },
    #[error("{plan} is {status}; only a paused plan can be resumed")]
    NotResumable { plan: PlanId, status: PlanStatus },
    #[error(
        "{plan} is {status}; a plan can be landed when all tasks have ended and at least one is completed"
    )]
    NotLandable { plan: PlanId, status: PlanStatus },
    #[error(
        "there is nothing to land: the sub-tasks of {plan} only read; `pitcrew status {plan}` shows their results"
    )]
    NothingToLand { plan: PlanId },
    #[error("{plan} {}", landing(*plan, *status))]
    LandingUnderWay { plan: PlanId, status: LandingStatus },
    #[error(
        "an older version landed {plan} and did not record where the branch was; revert it with git"
    )]
    LandingNotRecorded { plan: PlanId },
    #[error("{}", closed(*request, *status, *successor))]
    RequestClosed {
        request: RequestId,
        status: RequestStatus,
        /// The open request for the same thing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        successor: Option<RequestId>,
    },
    #[error("{request} is a question: use `pitcrew answer {request} \"...\"`")]
    IsQuestion { request: RequestId },
    #[error(
        "{request} is not a question: use `pitcrew approve {request}` or `pitcrew deny {request}`"
    )]
    IsNoQuestion { request: RequestId },
    #[error("only a person may decide {request}")]
    NotYours { request: RequestId },
    #[error("{}", rule.denies(action))]
    DeniedByMatrix {
        action: Action,
        #[serde(default)]
        rule: RuleSource,
    },
    #[error(
        "{action} is ask_user ({rule}), so only a person may create sub-tasks; do this part yourself, or ask a person to add `{action}` under Auto-Approve in `pitcrew permissions edit` and to run `pitcrew stop`"
    )]
    NeedsRule {
        action: Action,
        #[serde(default)]
        rule: RuleSource,
    },
    #[error("{request} is not specific enough to be allowed more than once; omit `--scope`")]
    OnceOnly { request: RequestId },
    #[error("there is no active {grant}; `pitcrew permissions` lists the grants")]
    NoSuchGrant { grant: GrantId },
    #[error("{request} is not a request of one of your sub-tasks")]
    NotYourChild { request: RequestId },
    #[error("{request} is {status}: you cannot decide it")]
    NotAtParent { request: RequestId, status: RequestStatus },
    #[error("you cannot approve {request}: you need permission for {action} yourself")]
    NotHeld { request: RequestId, action: Action },
    #[error(
        "{count} grants are active, which is the limit; revoke one with `pitcrew permissions revoke GRANT`"
    )]
    TooManyGrants { count: usize },
    #[error("{attempt} has ended: its task continued without it")]
    AttemptOver { attempt: AttemptId },
    #[error("{task} is {status}; only a task that ended without completion can be abandoned")]
    NotAbandonable { task: TaskName, status: TaskStatus },
    #[error("nothing of {task} is kept yet: it has not changed anything")]
    NothingKept { task: TaskName },
    #[error("{task} has no snapshot {number}: there {}; `pitcrew restore {task} --list` shows them", range(*count))]
    NoSuchSnapshot { task: TaskName, number: u32, count: u32 },
    #[error(
        "snapshot {number} of {task} was removed; `pitcrew restore {task} --list` shows those that remain"
    )]
    SnapshotDropped { task: TaskName, number: u32 },
    #[error("the call contains no sub-tasks; send at least one")]
    NoSubtasks,
    #[error(
        "the sub-task would be at depth {depth}, and the limit is {max}; do this part yourself"
    )]
    SubtaskTooDeep { depth: u32, max: u32 },
    #[error(
        "{worker} has created {count} sub-tasks and requests {asked} more, and the limit for a worker is {max}; do the rest yourself"
    )]
    TooManySubtasks { worker: WorkerId, count: u32, asked: u32, max: u32 },
    #[error(
        "{count} sub-tasks of clients are open and {asked} more are requested, and the limit is {max}; request fewer, or wait until some have ended"
    )]
    TooManyStandalone { count: u32, asked: u32, max: u32 },
    #[error(
        "sub-task {number} cannot be `shared`, because you have no checkout; use `isolated` or `read_only`"
    )]
    NothingToShare { number: u32 },
    #[error(
        "{worker} may create {max} sub-tasks in a minute; wait {}, then try again", seconds(*wait_ms)
    )]
    SubtasksTooFast { worker: WorkerId, max: u32, wait_ms: u64 },
    #[error(
        "{agent} already works on this prompt in {ancestor}, an ancestor of this sub-task; do it yourself, or request a smaller part"
    )]
    SubtaskCycle { agent: String, ancestor: String },
    #[error(
        "sub-task {number} is `shared` and needs `target_files`: name the files that it may change"
    )]
    TargetFilesMissing { number: usize },
    #[error(
        "sub-task {number} would change {path}, which is outside your region; name files within {zone}"
    )]
    TargetFilesOutside { number: usize, path: RepoPath, zone: String },
    #[error(
        "sub-task {number} would change {path}, but no task may change `{rule}`; name other files"
    )]
    TargetFilesDenied { number: usize, path: RepoPath, rule: RepoPath },
    #[error(
        "sub-task {number} would change {path}, which {by} is changing; name other files, or wait until that one has ended"
    )]
    TargetFilesTaken { number: usize, path: RepoPath, by: String },
    #[error(
        "sub-task {number} cannot be `{workspace}`, because you may not change files; use `read_only`"
    )]
    WorkspaceNotYours { number: usize, workspace: WorkspaceMode },
    #[error(
        "{max} agents are running, which is the limit; wait until some have ended, or do it yourself"
    )]
    AgentsLiveMax { max: u32 },
    #[error("{backend} has reached a limit of its provider, for another {}; use another agent, or do it yourself", seconds(*wait_ms))]
    BackendAtLimit { backend: String, wait_ms: u64 },
    #[error(
        "{backend} has reached a limit of its provider; only a person can retry it before the limit ends"
    )]
    HeldForAll { backend: String },
    #[error("{backend} cannot be used: {reason}; use another agent, or do it yourself")]
    BackendBroken { backend: String, reason: String },
    #[error("{attempt} has already reported the end of its task")]
    AlreadyClaimed { attempt: AttemptId },
    #[error("{worker} is not in a turn; the results are in its next prompt")]
    NotInTurn { worker: WorkerId },
    #[error("{} is not one of your sub-tasks", SubtaskName(*task))]
    NotYourSubtask { task: TaskId },
    #[error("you have no sub-tasks")]
    NothingToAwait,
    #[error(
        "your sub-tasks have not ended: {}; wait with `a2a_await_subtasks`, or cancel them, then report again",
        SubtaskNames(tasks)
    )]
    SubtasksOpen { tasks: Vec<TaskId> },
    #[error("{} is {status}; its changes can be pulled when it has ended with changes", SubtaskName(*task))]
    NotPullable { task: TaskId, status: TaskStatus },
    #[error("there is nothing to pull: the workspace of {} is `{workspace}`", SubtaskName(*task))]
    NothingOfItsOwn { task: TaskId, workspace: WorkspaceMode },
    #[error("there is nothing to pull: {} has no changes", SubtaskName(*task))]
    NothingToPull { task: TaskId },
    #[error(
        "the changes of {} are being pulled; wait until the pull has ended",
        SubtaskName(*task)
    )]
    PullUnderWay { task: TaskId },
    #[error("{} cannot continue: its parent has ended", SubtaskName(*task))]
    ParentOver { task: TaskId },
    #[error("{} is a sub-task: only its parent can take its changes", SubtaskName(*task))]
    IsSubtask { task: TaskId },
    #[error("the output is longer than {max} bytes; write the rest to a file", max = limits::SUMMARY_BYTES_MAX)]
    OutputTooLong,
    #[error("there is no {message}; `pitcrew messages` lists the messages")]
    NoSuchMessage { message: MessageId },
    #[error("{to} cannot read it: {why}")]
    NobodyReads { to: Party, why: String },
    #[error(
        "{to} has {max} unread messages, which is the limit; wait until it has read some",
        max = limits::MESSAGES_UNREAD_MAX
    )]
    MailboxFull { to: Party },
    #[error(
        "{worker} has sent {max} notes within a minute, which is the limit; continue your task, and put the rest into your summary",
        max = limits::NOTES_PER_MINUTE_MAX
    )]
    NotesTooFast { worker: WorkerId },
    #[error("the message is empty; write something")]
    EmptyMessage,
    #[error("{worker} has no parent; omit `to` to reach the orchestrator")]
    NoParent { worker: WorkerId },
    #[error(
        "{worker} already waits for {max} answers, which is the limit; end your turn, they are in your next prompt",
        max = limits::QUESTIONS_OPEN_MAX
    )]
    TooManyQuestions { worker: WorkerId },
    #[error("`reply_to` is missing; send the id of the message that you answer")]
    NoReplyTo,
    #[error("{message} is not a question to you, or its sender no longer waits for the answer")]
    NothingToAnswer { message: MessageId },
    #[error("the query is empty; send the name of a symbol, such as `AuthValidator`")]
    EmptyQuery,
    #[error(
        "{worker} already waits for {max} answers, which is the limit; wait for some of them",
        max = limits::QUERIES_OPEN_MAX
    )]
    TooManyQueries { worker: WorkerId },
    #[error("{worker} has sent {max} queries, which is the limit; continue without", max = limits::QUERIES_PER_WORKER_MAX)]
    QueriesUsedUp { worker: WorkerId },
    #[error("max_agents must be between 1 and {max}", max = limits::AGENTS_MAX)]
    AgentsMaxRange { count: u32 },
    #[error("cannot write the journal: {message}; nothing was changed")]
    JournalFull { message: String },
    #[error("the orchestrator is shutting down; run the command again")]
    ShuttingDown,
    #[error("tier {min_tier} is required, but this machine offers {available}{}", because(obstacle.as_deref()))]
    TierTooLow { available: Tier, min_tier: Tier, obstacle: Option<String> },
    #[error(
        "no OS sandbox is available (tier T1){}; to run agents unconfined, agree once with `--accept-tier T1`",
        because(obstacle.as_deref())
    )]
    NeedsConsent { obstacle: Option<String> },
    #[error(
        "agents would run as root with Landlock and seccomp only (tier T2), which do not protect the modes and times of files of root{}; run pitcrew as an ordinary user, or accept this once with `--accept-tier T2`",
        because(obstacle.as_deref())
    )]
    RootNeedsConsent { obstacle: Option<String> },
}

fn because(obstacle: Option<&str>) -> String {
    obstacle.map(|it| alloc::format!(": {it}")).unwrap_or_default()
}

fn landing(plan: PlanId, status: LandingStatus) -> String {
    match status {
        LandingStatus::Review => {
            format!("is waiting for your approval to land: `pitcrew approve {plan}`")
        }
        LandingStatus::Merging => "is being landed; try again in a moment".into(),
        LandingStatus::Merged | LandingStatus::Cleaned => "has already landed".into(),
        LandingStatus::Undoing => "is being removed from the branch; try again in a moment".into(),
        LandingStatus::Undone => "is no longer landed: its landing was undone".into(),
        LandingStatus::None
        | LandingStatus::Conflict
        | LandingStatus::SideBranch
        | LandingStatus::Signing
        | LandingStatus::Abandoned => "has not landed".into(),
    }
}

fn plan_changed(plan: PlanId, count: usize, added: &[TaskId]) -> String {
    const LISTED_MAX: usize = 10;
    let listed: Vec<String> = added.iter().take(LISTED_MAX).map(|it| format!("{it}")).collect();
    let more = match added.len().saturating_sub(LISTED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let what = match added {
        [] => format!("{plan} does not have that many tasks: it has {count}"),
        [_] => format!("{plan} has changed: {} was added, and it has {count} tasks now", listed[0]),
        _ => format!(
            "{plan} has changed: {}{more} were added, and it has {count} tasks now",
            listed.join(", ")
        ),
    };
    format!("{what}; look at it with `pitcrew inbox`, then approve it with `--tasks {count}`")
}

fn duplicate(key: &str, known: Option<TaskId>) -> String {
    match known {
        Some(task) => format!(
            "{task} of this plan already has the id `{key}`; give the new task another `id`"
        ),
        None => format!("two tasks of the plan have the id `{key}`; give one of them another `id`"),
    }
}

fn plan_transition(plan: PlanId, status: PlanStatus, wanted: PlanStatus) -> String {
    match (status, wanted) {
        (PlanStatus::Cancelled, PlanStatus::Cancelled) => {
            format!("{plan} is already cancelled; to start over, run its file again")
        }
        (PlanStatus::Completed, PlanStatus::Cancelled) => format!(
            "{plan} is completed and cannot be cancelled; `pitcrew land {plan}` merges its work, `pitcrew abandon {plan}` discards it"
        ),
        (PlanStatus::Cancelled, PlanStatus::Active) => {
            format!("{plan} is cancelled and cannot continue; to start over, run its file again")
        }
        (status, wanted) => {
            format!("{plan} is {status} and cannot become {wanted}; see `pitcrew status {plan}`")
        }
    }
}

fn task_transition(task: TaskName, status: TaskStatus, wanted: TaskStatus) -> String {
    match (status, wanted) {
        (TaskStatus::Cancelled, TaskStatus::Cancelled) => {
            format!("{task} is already cancelled; `pitcrew retry {task}` starts it again")
        }
        (TaskStatus::Completed, TaskStatus::Cancelled) => {
            format!("{task} is completed and integrated and cannot be cancelled")
        }
        (TaskStatus::Integrating, TaskStatus::Cancelled) => {
            format!("{task} is being integrated and can no longer be cancelled")
        }
        (status, wanted) => {
            format!("{task} is {status} and cannot become {wanted}; see `pitcrew status`")
        }
    }
}

fn not_retryable(task: TaskName, status: TaskStatus) -> String {
    let remedy = if status == TaskStatus::Completed {
        "it has nothing left to do".into()
    } else {
        format!("cancel it first with `pitcrew cancel {task}`")
    };
    format!("{task} cannot be retried: it is {status}; {remedy}")
}

fn closed(request: RequestId, status: RequestStatus, successor: Option<RequestId>) -> String {
    match (status, successor) {
        (RequestStatus::Withdrawn, Some(successor)) => format!(
            "{request} is withdrawn: its worker has ended, and the next one has the same request; decide {successor}"
        ),
        (RequestStatus::Withdrawn, None) => format!(
            "{request} is withdrawn: it is no longer needed; `pitcrew inbox` lists the open requests"
        ),
        (
            RequestStatus::Requested
            | RequestStatus::AtParent
            | RequestStatus::AtOrchestrator
            | RequestStatus::AtUser
            | RequestStatus::Approved
            | RequestStatus::Denied
            | RequestStatus::Answered
            | RequestStatus::Expired,
            _,
        ) => format!("{request} is already {status}; `pitcrew inbox` lists the open requests"),
    }
}

fn seconds(wait_ms: u64) -> String {
    match wait_ms.div_ceil(1_000) {
        1 => "a second".into(),
        count => alloc::format!("{count} seconds"),
    }
}

fn range(count: u32) -> String {
    match count {
        1 => "is only number 1".into(),
        count => alloc::format!("are 1 to {count}"),
    }
}
