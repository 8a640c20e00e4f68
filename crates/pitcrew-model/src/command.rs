//! Commands from people and agents.

use crate::{
    Addressee, AgentRef, AttemptId, CommitId, Crew, GrantId, GrantScope, History, Hooks,
    HouseRules, Matrix, MessageId, Party, PlanId, PlanSpec, Priority, QueryLimits, QueryVia,
    RequestId, Sandbox, Sign, SubtaskSpec, TaskId, TaskOutput, TaskSpec, Tier,
};
use alloc::{boxed::Box, string::String, vec::Vec};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum Command {
    CreatePlan(CreatePlan),
    /// Approves or denies an open request.
    DecideRequest {
        request: RequestId,
        verdict: Verdict,
        reason: Option<String>,
        /// How long an approval is valid.
        #[serde(default, skip_serializing_if = "GrantScope::is_once")]
        scope: GrantScope,
        /// How many tasks of the plan the sender has seen, in a request to run a plan. Absent: those
        /// that the plan had when the request was opened.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shown: Option<u32>,
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
    /// Discards the work that a task or a plan left in checkouts, so that they may be removed.
    AbandonTask {
        task: TaskId,
    },
    AbandonPlan {
        plan: PlanId,
    },
    /// Restores a saved state of a task's work as a branch of the user's repository.
    RestoreTask {
        task: TaskId,
        /// Absent: the last state.
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
        #[serde(default, skip_serializing_if = "Hooks::are_run")]
        hooks: Hooks,
        /// The last of the commits that the person has signed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signed: Option<CommitId>,
    },
    /// Removes a landing from the base branch again.
    UndoLanding {
        plan: PlanId,
        /// The revert commit, signed by the person.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signed: Option<CommitId>,
    },
    /// Removes unused checkouts, drops old snapshots and repacks the vault.
    CollectGarbage,
    /// Applies the settings. Sent at every start of the orchestrator.
    ApplySettings {
        agents_max: u32,
        agents_live_max: u32,
        #[serde(default, skip_serializing_if = "History::is_merge")]
        history: History,
        #[serde(default, skip_serializing_if = "Sign::is_terminal")]
        sign: Sign,
    },
    SetAgentsMax {
        count: u32,
    },
    /// Reports the end of the worker's task.
    CompleteTask {
        attempt: AttemptId,
        claim: Claim,
        summary: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<TaskOutput>,
    },
    /// Sends a note or a question of a worker.
    Notify {
        attempt: AttemptId,
        kind: NoteKind,
        message: String,
        #[serde(default)]
        to: Addressee,
        /// The message that this one answers.
        #[serde(default)]
        reply_to: Option<MessageId>,
    },
    /// Sends a message to a worker or a task. It is read when the current turn ends.
    SendMessage {
        to: Party,
        content: String,
        /// Absent: high, so that a person does not wait behind agents.
        #[serde(default)]
        priority: Option<Priority>,
        /// The conversation to continue. Absent: a new one.
        #[serde(default)]
        thread: Option<MessageId>,
        /// The sender's idempotency key: a message with a known key is not queued again.
        #[serde(default)]
        key: Option<String>,
    },
    /// Wraps a worker's command that may be sent again. The worker chooses the nonce.
    Once {
        nonce: String,
        order: Box<Command>,
    },
    /// Creates sub-tasks: all of them or none.
    SpawnSubtasks {
        attempt: AttemptId,
        subtasks: Vec<SubtaskSpec>,
        /// How long the call waits for the results. Absent: it does not wait.
        wait_ms: Option<u64>,
        /// Random, made by the receiver of the call. The sub-tasks never see it.
        nonce: String,
    },
    /// Waits for sub-tasks of the worker.
    AwaitSubtasks {
        attempt: AttemptId,
        /// Empty: all of them.
        tasks: Vec<TaskId>,
        timeout_ms: u64,
    },
    /// Brings the changes of a sub-task into its parent's checkout.
    PullSubtask {
        attempt: AttemptId,
        task: TaskId,
    },
    /// Applies the permission files. Sent at every start of the orchestrator.
    ApplyMatrix {
        matrix: Matrix,
    },
    /// Applies the agent definitions and the backends of this machine. Sent before commands that
    /// name agents, if they have changed.
    ApplyCrew {
        crew: Crew,
    },
    /// Revokes a grant: the same action asks again from now on.
    RevokeGrant {
        grant: GrantId,
    },
    /// Decides requests of the worker's own sub-tasks: all of them or none.
    DecideForChild {
        attempt: AttemptId,
        /// Empty: all requests that wait for this worker.
        requests: Vec<RequestId>,
        verdict: Verdict,
        reason: Option<String>,
    },
    /// Looks up a symbol outside the worker's region.
    AskQuery {
        attempt: AttemptId,
        /// The worker's idempotency key: a query with a known key is not sent again.
        nonce: String,
        symbol: String,
        /// Where the symbol is used: an import line, a path, a few words.
        context: String,
        via: QueryVia,
    },
    /// Applies the query limits. Sent at every start of the orchestrator.
    ApplyQueryLimits {
        limits: QueryLimits,
    },
    /// Creates sub-tasks for an outside client: all of them or none.
    SpawnStandalone {
        subtasks: Vec<SubtaskSpec>,
        /// The plan settings that apply to every plan, and to these sub-tasks.
        #[serde(default, skip_serializing_if = "HouseRules::are_none")]
        rules: HouseRules,
    },
    /// Applies the sandbox settings. Sent at every start of the orchestrator.
    ApplySandbox {
        sandbox: Sandbox,
    },
    /// Agrees to this tier if no stronger one is available.
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
    /// The sender's agent for tasks that name none. Absent: that of the crew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_agent: Option<AgentRef>,
}

/// The origin of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A plan file.
    File,
    /// An intent that was split into tasks.
    Intent,
}

/// Whether the sender has already approved what the matrix would ask for.
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

/// The outcome that a worker reports. It is a claim, not evidence.
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
