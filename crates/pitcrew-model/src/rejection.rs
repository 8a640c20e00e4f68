//! Answers to commands that cannot be carried out. Nothing has changed when one is given.

use crate::{
    Action, Actor, AttemptId, EffectId, GrantId, LandingStatus, MessageId, Party, PlanId,
    PlanStatus, RepoPath, RequestId, RequestStatus, RuleSource, SubtaskName, SubtaskNames, TaskId,
    TaskName, TaskStatus, Tier, WorkerId, Workspace, limits,
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
    #[error("{}", duplicate(key, *known))]
    DuplicateTask {
        key: String,
        /// The one that the plan has already.
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
    #[error("task `{key}`: {problem}")]
    BadTask { key: String, problem: String },
    #[error("{worker} has asked for too much already; go on without asking")]
    TooManyRequests { worker: WorkerId },
    #[error("{}", plan_transition(*plan, *status, *wanted))]
    PlanTransition { plan: PlanId, status: PlanStatus, wanted: PlanStatus },
    #[error("{}", task_transition(*task, *status, *wanted))]
    TaskTransition { task: TaskName, status: TaskStatus, wanted: TaskStatus },
    #[error("{task} cannot be deployed: it is {status}; `pitcrew status` shows what it waits for")]
    NotDeployable { task: TaskId, status: TaskStatus },
    #[error("{plan} is {status}; a task can be added only before a plan has ended")]
    NotExtendable { plan: PlanId, status: PlanStatus },
    #[error(
        "only a person may deploy {task}, which was added after the approval: `pitcrew deploy {task}`"
    )]
    NeedsPerson { task: TaskId },
    #[error("{actor} may not do this: only a person can")]
    NotForYou { actor: Actor },
    #[error("{task} is not deployable by hand: its plan deploys automatically")]
    DeploysItself { task: TaskId },
    #[error("{}", not_retryable(*task, *status))]
    NotRetryable { task: TaskName, status: TaskStatus },
    #[error("{task} is still being put away after its last attempt; try again in a moment")]
    StillSaving { task: TaskName },
    #[error("{plan} is {status}; only an active plan can be paused")]
    NotPausable { plan: PlanId, status: PlanStatus },
    #[error("{plan} is {status}; only a paused plan can be resumed")]
    NotResumable { plan: PlanId, status: PlanStatus },
    #[error(
        "{plan} is {status}; it can be landed when all its tasks have ended and some are completed"
    )]
    NotLandable { plan: PlanId, status: PlanStatus },
    #[error(
        "the sub-tasks of {plan} only read: there is nothing to land; `pitcrew status {plan}` shows what they said"
    )]
    NothingToLand { plan: PlanId },
    #[error("{plan} {}", landing(*plan, *status))]
    LandingUnderWay { plan: PlanId, status: LandingStatus },
    #[error("{}", closed(*request, *status, *successor))]
    RequestClosed {
        request: RequestId,
        status: RequestStatus,
        /// What asks the same now.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        successor: Option<RequestId>,
    },
    #[error("{request} is a question: use `pitcrew answer {request} \"...\"`")]
    IsQuestion { request: RequestId },
    #[error(
        "{request} is no question: use `pitcrew approve {request}` or `pitcrew deny {request}`"
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
        "{action} is ask_user ({rule}), so only a person hands out work here: do it yourself; a person allows it with `{action}` under Auto-Approve in `pitcrew permissions edit`, and `pitcrew stop`, after which the files are read anew"
    )]
    NeedsRule {
        action: Action,
        #[serde(default)]
        rule: RuleSource,
    },
    #[error(
        "{request} does not say enough of itself to be allowed for more than once: leave out `--scope`"
    )]
    OnceOnly { request: RequestId },
    #[error("there is no {grant} that holds; `pitcrew permissions` lists them")]
    NoSuchGrant { grant: GrantId },
    #[error("{request} is not a request of a sub-task of yours")]
    NotYourChild { request: RequestId },
    #[error("{request} is {status}: it is not yours to decide")]
    NotAtParent { request: RequestId, status: RequestStatus },
    #[error("you cannot allow {request}: you would have to ask for {action} yourself")]
    NotHeld { request: RequestId, action: Action },
    #[error("{count} grants hold already; revoke one with `pitcrew permissions revoke GRANT`")]
    TooManyGrants { count: usize },
    #[error("{attempt} is over: its task went on without it")]
    AttemptOver { attempt: AttemptId },
    #[error(
        "{task} is {status}; only a task that has ended without being completed can be abandoned"
    )]
    NotAbandonable { task: TaskName, status: TaskStatus },
    #[error("nothing of {task} is kept yet: it has changed nothing so far")]
    NothingKept { task: TaskName },
    #[error("{task} has no snapshot {number}: there {}; `pitcrew restore {task} --list` shows them", range(*count))]
    NoSuchSnapshot { task: TaskName, number: u32, count: u32 },
    #[error(
        "snapshot {number} of {task} is not kept any more; `pitcrew restore {task} --list` shows what is"
    )]
    SnapshotDropped { task: TaskName, number: u32 },
    #[error("no sub-tasks were named; give at least one")]
    NoSubtasks,
    #[error(
        "a sub-task of yours would be at depth {depth}, and {max} is the deepest there may be: do this part yourself"
    )]
    SubtaskTooDeep { depth: u32, max: u32 },
    #[error(
        "{worker} has handed out {count} sub-tasks and asks for {asked} more, and {max} is all that one worker may: do the rest yourself"
    )]
    TooManySubtasks { worker: WorkerId, count: u32, asked: u32, max: u32 },
    #[error(
        "{count} sub-tasks of clients have not ended and {asked} more are asked for, and {max} is all there may be at a time: ask for fewer, or wait for some of them"
    )]
    TooManyStandalone { count: u32, asked: u32, max: u32 },
    #[error(
        "sub-task {number} would share your checkout, and you work in none of ours: say `isolated`, or `read_only`"
    )]
    NothingToShare { number: u32 },
    #[error(
        "{worker} may hand out {max} sub-tasks in a minute; wait {}, then try again", seconds(*wait_ms)
    )]
    SubtasksTooFast { worker: WorkerId, max: u32, wait_ms: u64 },
    #[error(
        "{agent} is at work on these same words already, as {ancestor}, which asks for this one: that would never end; do it yourself, or ask for a smaller part of it"
    )]
    SubtaskCycle { agent: String, ancestor: String },
    #[error(
        "sub-task {number} works in its parent's files: name those that it may change as `target_files`"
    )]
    TargetFilesMissing { number: usize },
    #[error(
        "sub-task {number} would change {path}, which is not yours to change: name files within {zone}"
    )]
    TargetFilesOutside { number: usize, path: RepoPath, zone: String },
    #[error(
        "sub-task {number} would change {path}, and `{rule}` is denied to every task: give it other files"
    )]
    TargetFilesDenied { number: usize, path: RepoPath, rule: RepoPath },
    #[error(
        "sub-task {number} would change {path}, and so does {by}: name other files, or hand it out when that one has ended"
    )]
    TargetFilesTaken { number: usize, path: RepoPath, by: String },
    #[error(
        "sub-task {number} asks for the workspace {workspace}, but you may change nothing yourself: use `read_only`"
    )]
    WorkspaceNotYours { number: usize, workspace: Workspace },
    #[error(
        "{max} agents are alive, and more there may not be: wait for some of them to end, or do it yourself"
    )]
    AgentsLiveMax { max: u32 },
    #[error("{backend} is at a limit of its provider for another {}: use another agent, or do it yourself", seconds(*wait_ms))]
    BackendAtLimit { backend: String, wait_ms: u64 },
    #[error(
        "{backend} is at a limit of its provider: only a person has it tried before that is over"
    )]
    HeldForAll { backend: String },
    #[error("{backend} cannot be used: {reason}; use another agent, or do it yourself")]
    BackendBroken { backend: String, reason: String },
    #[error("{attempt} has said already how its task went")]
    AlreadyClaimed { attempt: AttemptId },
    #[error("{worker} is not in the middle of a turn: the results come with the next one")]
    NotInTurn { worker: WorkerId },
    #[error("{} is no sub-task of yours", SubtaskName(*task))]
    NotYourSubtask { task: TaskId },
    #[error("you have handed out no sub-tasks")]
    NothingToAwait,
    #[error(
        "what you have handed out has not ended ({}): wait for it with `a2a_await_subtasks`, or cancel it, and then say that you are done",
        SubtaskNames(tasks)
    )]
    SubtasksOpen { tasks: Vec<TaskId> },
    #[error("{} is {status}; its changes can be pulled when it has ended with some", SubtaskName(*task))]
    NotPullable { task: TaskId, status: TaskStatus },
    #[error("{} works in `{workspace}`, so it has no changes of its own to pull", SubtaskName(*task))]
    NothingOfItsOwn { task: TaskId, workspace: Workspace },
    #[error("{} has changed nothing", SubtaskName(*task))]
    NothingToPull { task: TaskId },
    #[error(
        "the changes of {} are being brought into your checkout: wait until the pull has ended",
        SubtaskName(*task)
    )]
    PullUnderWay { task: TaskId },
    #[error("{} cannot go on: whoever asked for it has ended", SubtaskName(*task))]
    ParentOver { task: TaskId },
    #[error("{} is a sub-task: it is its parent who takes what it did", SubtaskName(*task))]
    IsSubtask { task: TaskId },
    #[error("what is handed in besides the summary may have {max} bytes; write the rest to a file", max = limits::SUMMARY_BYTES_MAX)]
    OutputTooLong,
    #[error("there is no {message}; `pitcrew messages` lists them")]
    NoSuchMessage { message: MessageId },
    #[error("{to} cannot read it: {why}")]
    NobodyReads { to: Party, why: String },
    #[error(
        "{to} has {max} messages that it has not read; wait until it has read some",
        max = limits::MESSAGES_UNREAD_MAX
    )]
    MailboxFull { to: Party },
    #[error(
        "{worker} has told {max} things within a minute; go on with your task, and tell the rest with your summary",
        max = limits::NOTES_PER_MINUTE_MAX
    )]
    NotesTooFast { worker: WorkerId },
    #[error("a message needs words")]
    EmptyMessage,
    #[error("{worker} works for no other worker: leave `to` out to reach the orchestrator")]
    NoParent { worker: WorkerId },
    #[error(
        "{worker} waits for {max} answers already: end your turn, they arrive as your next prompt",
        max = limits::QUESTIONS_OPEN_MAX
    )]
    TooManyQuestions { worker: WorkerId },
    #[error("say which message you answer, with `reply_to`: its id stands in its first line")]
    NoReplyTo,
    #[error("{message} is not for you, or nobody waits for its answer any more")]
    NothingToAnswer { message: MessageId },
    #[error("say what you need to know: the name of a symbol, such as `AuthValidator`")]
    EmptyQuery,
    #[error(
        "{worker} waits for {max} answers already; wait for some of them",
        max = limits::QUERIES_OPEN_MAX
    )]
    TooManyQueries { worker: WorkerId },
    #[error("{worker} has asked {max} times already; go on with what you know", max = limits::QUERIES_PER_WORKER_MAX)]
    QueriesUsedUp { worker: WorkerId },
    #[error("max_agents must be between 1 and {max}", max = limits::AGENTS_MAX)]
    AgentsMaxRange { count: u32 },
    #[error("the journal could not be written: {message}. Nothing was changed")]
    JournalFull { message: String },
    #[error("the orchestrator is shutting down; run the command again")]
    ShuttingDown,
    #[error("tier {min_tier} is wanted and this machine offers {available}{}", because(obstacle.as_deref()))]
    TierTooLow { available: Tier, min_tier: Tier, obstacle: Option<String> },
    #[error(
        "nothing of the operating system would hold the agents here (tier T1){}; to work like this nevertheless, agree once with `--accept-tier T1`",
        because(obstacle.as_deref())
    )]
    NeedsConsent { obstacle: Option<String> },
}

fn because(obstacle: Option<&str>) -> String {
    obstacle.map(|it| alloc::format!(": {it}")).unwrap_or_default()
}

fn landing(plan: PlanId, status: LandingStatus) -> String {
    match status {
        LandingStatus::Review => format!("waits for you to be landed: `pitcrew approve {plan}`"),
        LandingStatus::Merging => "is being landed; try again in a moment".into(),
        LandingStatus::Merged | LandingStatus::Cleaned => "has landed already".into(),
        LandingStatus::None
        | LandingStatus::Conflict
        | LandingStatus::SideBranch
        | LandingStatus::Abandoned => "has not landed".into(),
    }
}

fn duplicate(key: &str, known: Option<TaskId>) -> String {
    match known {
        Some(task) => format!(
            "{task} of this plan has the id `{key}` already: give the new task another `id`"
        ),
        None => format!("two tasks of the plan have the id `{key}`: give one of them another `id`"),
    }
}

fn plan_transition(plan: PlanId, status: PlanStatus, wanted: PlanStatus) -> String {
    match (status, wanted) {
        (PlanStatus::Cancelled, PlanStatus::Cancelled) => {
            format!("{plan} is cancelled already; to begin it anew, run its file again")
        }
        (PlanStatus::Completed, PlanStatus::Cancelled) => format!(
            "{plan} is completed, so there is nothing to cancel; `pitcrew land {plan}` merges its work, `pitcrew abandon {plan}` gives it up"
        ),
        (PlanStatus::Cancelled, PlanStatus::Active) => {
            format!("{plan} is cancelled and does not go on; to begin it anew, run its file again")
        }
        (status, wanted) => format!(
            "{plan} is {status}, so it cannot become {wanted}; `pitcrew status {plan}` shows where it stands"
        ),
    }
}

fn task_transition(task: TaskName, status: TaskStatus, wanted: TaskStatus) -> String {
    match (status, wanted) {
        (TaskStatus::Cancelled, TaskStatus::Cancelled) => {
            format!("{task} is cancelled already; `pitcrew retry {task}` takes it up again")
        }
        (TaskStatus::Completed, TaskStatus::Cancelled) => {
            format!("{task} is completed and integrated, so there is nothing to cancel")
        }
        (TaskStatus::Integrating, TaskStatus::Cancelled) => format!(
            "{task} is being integrated and cannot be cancelled any more; it is completed in a moment"
        ),
        (status, wanted) => format!(
            "{task} is {status}, so it cannot become {wanted}; `pitcrew status` shows where it stands"
        ),
    }
}

fn not_retryable(task: TaskName, status: TaskStatus) -> String {
    let remedy = if status == TaskStatus::Completed {
        "there is nothing left to do".into()
    } else {
        format!("`pitcrew cancel {task}` ends it, and what has ended can be")
    };
    format!("{task} cannot be retried: it is {status}; {remedy}")
}

fn closed(request: RequestId, status: RequestStatus, successor: Option<RequestId>) -> String {
    match (status, successor) {
        (RequestStatus::Withdrawn, Some(successor)) => format!(
            "{request} is withdrawn: its worker has ended, and the one after it asks the same as {successor}: decide that one"
        ),
        (RequestStatus::Withdrawn, None) => format!(
            "{request} is withdrawn: what it was about is over, or has changed; `pitcrew inbox` lists what waits"
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
        ) => format!("{request} is {status} already; `pitcrew inbox` lists what waits"),
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
