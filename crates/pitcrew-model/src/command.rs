//! Orders from outside: people and agents.

use crate::{
    Addressee, AttemptId, GrantId, GrantScope, History, HouseRules, Matrix, MessageId, Party,
    PlanId, PlanSpec, Priority, QueryLimits, QueryVia, RequestId, Sandbox, SubtaskSpec, TaskId,
    TaskOutput, TaskSpec, Tier,
};
use alloc::{boxed::Box, string::String, vec::Vec};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum Command {
    CreatePlan(CreatePlan),
    /// Approves or denies what waits for a person.
    DecideRequest {
        request: RequestId,
        verdict: Verdict,
        reason: Option<String>,
        /// How far an approval reaches.
        #[serde(default, skip_serializing_if = "GrantScope::is_once")]
        scope: GrantScope,
    },
    AnswerQuestion {
        request: RequestId,
        text: String,
    },
    DeployTask {
        task: TaskId,
    },
    /// Adds a task to a plan that has not ended. `depends_on` names other tasks of that plan.
    AddTask {
        plan: PlanId,
        task: Box<TaskSpec>,
    },
    /// Grants each of the tasks one more attempt.
    RetryTasks {
        tasks: Vec<TaskId>,
        freshness: Freshness,
    },
    /// Integrates a partial task as it is.
    AcceptTask {
        task: TaskId,
    },
    CancelTask {
        task: TaskId,
    },
    CancelPlan {
        plan: PlanId,
    },
    PausePlan {
        plan: PlanId,
    },
    ResumePlan {
        plan: PlanId,
    },
    /// Gives up what a task or all of a plan left in checkouts, so that they may be removed.
    AbandonTask {
        task: TaskId,
    },
    AbandonPlan {
        plan: PlanId,
    },
    /// Brings a kept state of a task's work back as a branch of the user's repository.
    RestoreTask {
        task: TaskId,
        /// Absent: the last one.
        number: Option<u32>,
    },
    LandPlan {
        plan: PlanId,
        approval: Approval,
        /// Absent: what the settings say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        history: Option<History>,
        /// Instead of our own message of the merge or the squashed commit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// Removes the checkouts that nobody needs any more, drops old snapshots, tidies the vault.
    CollectGarbage,
    /// What the settings say, at every start of the orchestrator.
    ApplySettings {
        agents_max: u32,
        agents_live_max: u32,
        #[serde(default, skip_serializing_if = "History::is_merge")]
        history: History,
    },
    SetAgentsMax {
        count: u32,
    },
    /// A worker says that its task is done, or that it cannot be done.
    CompleteTask {
        attempt: AttemptId,
        claim: Claim,
        summary: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<TaskOutput>,
    },
    /// A worker tells or asks something.
    Notify {
        attempt: AttemptId,
        kind: NoteKind,
        message: String,
        #[serde(default)]
        to: Addressee,
        /// The message that is answered.
        #[serde(default)]
        reply_to: Option<MessageId>,
    },
    /// Words for a worker, or for whoever works on a task: read when its turn ends.
    SendMessage {
        to: Party,
        content: String,
        /// Absent: high. A person does not wait behind agents.
        #[serde(default)]
        priority: Option<Priority>,
        /// The conversation that it belongs to; absent: a new one.
        #[serde(default)]
        thread: Option<MessageId>,
        /// The sender's own name for it: sent again it is queued once.
        #[serde(default)]
        key: Option<String>,
    },
    /// A worker's order that is sent again when its answer was lost. The nonce is the worker's own.
    Once {
        nonce: String,
        order: Box<Command>,
    },
    /// A worker hands out sub-tasks: all of them, or none.
    SpawnSubtasks {
        attempt: AttemptId,
        subtasks: Vec<SubtaskSpec>,
        /// How long it waits for their results; absent: not at all.
        wait_ms: Option<u64>,
        /// Made for this call by whoever takes it, and never told to those who do the work.
        nonce: String,
    },
    /// A worker waits for sub-tasks of its own.
    AwaitSubtasks {
        attempt: AttemptId,
        /// Empty: all of them.
        tasks: Vec<TaskId>,
        timeout_ms: u64,
    },
    /// A worker takes what a sub-task of its own has changed into its checkout.
    PullSubtask {
        attempt: AttemptId,
        task: TaskId,
    },
    /// What the files say of permissions, at every start of the orchestrator.
    ApplyMatrix {
        matrix: Matrix,
    },
    /// What was allowed is asked again from now on.
    RevokeGrant {
        grant: GrantId,
    },
    /// A worker decides what its own sub-tasks wait for: all of it, or nothing.
    DecideForChild {
        attempt: AttemptId,
        /// Empty: all that stand at this worker.
        requests: Vec<RequestId>,
        verdict: Verdict,
        reason: Option<String>,
    },
    /// A worker needs to know something of code that is not its own.
    AskQuery {
        attempt: AttemptId,
        /// The worker's own name for it: asked again it is asked once.
        nonce: String,
        symbol: String,
        /// Where it is needed: an import line, a path, a few words.
        context: String,
        via: QueryVia,
    },
    /// What the settings say of queries, at every start of the orchestrator.
    ApplyQueryLimits {
        limits: QueryLimits,
    },
    /// An outside client hands out sub-tasks: all of them, or none.
    SpawnStandalone {
        subtasks: Vec<SubtaskSpec>,
        /// What the settings say of every plan, and so of theirs.
        #[serde(default, skip_serializing_if = "HouseRules::are_none")]
        rules: HouseRules,
    },
    /// Which confinement there is, at every start of the orchestrator.
    ApplySandbox {
        sandbox: Sandbox,
    },
    /// A person agrees to this tier where there is no stronger one.
    AcceptTier {
        tier: Tier,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreatePlan {
    pub spec: PlanSpec,
    pub origin: Origin,
    /// Refuse to start while the user's tree has uncommitted changes.
    pub clean_base: bool,
    pub approval: Approval,
}

/// Where a plan came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A person's file.
    File,
    /// A request in words, split into tasks.
    Intent,
}

/// Whether the person who gives the order has already agreed to what the matrix would ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    Ask,
    Given,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Approve,
    Deny,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Freshness {
    /// From the previous attempt's last snapshot.
    Continue,
    /// From the integration head.
    Fresh,
}

/// What a worker says of its own work. Evidence is another matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    Success,
    Partial,
    Failed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteKind {
    Status,
    Question,
    Completion,
    Error,
    Answer,
}
