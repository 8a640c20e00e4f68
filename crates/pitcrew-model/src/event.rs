//! Events: facts that are stored forever.

use crate::{
    Access, Action, Actor, AttemptId, AwaitEnd, Claim, CommitId, Confined, Crew, Delegation,
    EffectId, EffectResult, EgressDecision, Exit, Failure, Freshness, Grant, GrantId, History,
    HoldCause, Hooks, LandingStatus, Matrix, Message, MessageId, MessageStatus, Outcome, PlanHead,
    PlanId, PlanStatus, QueryId, QueryLimits, QueryOutcome, QueryVia, RequestId, RequestKind,
    RequestStatus, RuleSource, Sandbox, Seq, Sign, Spending, TaskId, TaskOutput, TaskSpec,
    TaskStatus, Tier, Timestamp, TurnCause, Usage, WorkerId, WorkerStatus,
};
use alloc::{string::String, vec::Vec};
use core::fmt;
use serde::{Deserialize, Serialize};

/// An event with its position and time in the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub seq: Seq,
    pub at: Timestamp,
    pub event: Event,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// The settings have changed since they were last applied.
    SettingsApplied {
        agents_max: u32,
        agents_live_max: u32,
        #[serde(default, skip_serializing_if = "History::is_merge")]
        history: History,
        #[serde(default, skip_serializing_if = "Sign::is_terminal")]
        sign: Sign,
    },
    AgentsMaxSet {
        count: u32,
    },
    PlanCreated {
        plan: PlanId,
        head: PlanHead,
        status: PlanStatus,
        clean_base: bool,
        actor: Actor,
    },
    TaskAdded {
        plan: PlanId,
        task: TaskId,
        spec: TaskSpec,
        depends_on: Vec<TaskId>,
    },
    PlanMoved {
        plan: PlanId,
        from: PlanStatus,
        to: PlanStatus,
        reason: String,
        actor: Actor,
    },
    /// The work of the plan can begin.
    PlanOpened {
        plan: PlanId,
    },
    BaseCheckAsked {
        plan: PlanId,
    },
    TaskMoved {
        task: TaskId,
        from: TaskStatus,
        to: TaskStatus,
        reason: Reason,
        actor: Actor,
    },
    TaskDeployed {
        task: TaskId,
        actor: Actor,
    },
    /// Only a person may deploy the task, because it was added after the plan was approved.
    TaskHeld {
        task: TaskId,
        actor: Actor,
    },
    /// A person granted one more attempt.
    RetryGranted {
        task: TaskId,
        freshness: Freshness,
        actor: Actor,
    },
    AttemptOpened {
        attempt: AttemptId,
        task: TaskId,
        worker: WorkerId,
        number: u32,
        start: CommitId,
        /// The base of the comparison at the gate.
        base: CommitId,
    },
    AttemptEnded {
        attempt: AttemptId,
        outcome: Outcome,
        failure: Option<Failure>,
    },
    /// The backend has reached a limit of its provider, or cannot reach it. None of its agents
    /// starts or continues before `until`.
    BackendHeld {
        backend: String,
        until: Timestamp,
        reason: String,
        #[serde(default, skip_serializing_if = "HoldCause::is_limit")]
        cause: HoldCause,
    },
    /// One task tries whether the provider can be reached again; the others still wait.
    BackendProbed {
        backend: String,
        task: TaskId,
    },
    /// The limit has ended, the provider can be reached, or a person retries before that.
    BackendReleased {
        backend: String,
        actor: Actor,
    },
    WorkerMoved {
        worker: WorkerId,
        from: WorkerStatus,
        to: WorkerStatus,
        reason: String,
    },
    AgentStartAsked {
        worker: WorkerId,
    },
    TurnOpened {
        worker: WorkerId,
        cause: TurnCause,
    },
    /// The agent's process should end.
    StopAsked {
        worker: WorkerId,
    },
    InterruptAsked {
        worker: WorkerId,
    },
    AgentExited {
        worker: WorkerId,
        exit: Exit,
    },
    /// The agent kept running while the orchestrator was down. That time does not count against it.
    AgentReattached {
        worker: WorkerId,
        away_ms: u64,
    },
    /// A call of the worker was accepted. Its effects are the events that follow. A repeated call
    /// has the same nonce.
    CallTaken {
        worker: WorkerId,
        nonce: String,
    },
    ActivityNoted {
        worker: WorkerId,
        note: String,
    },
    /// The usage of the current turn so far.
    UsageNoted {
        worker: WorkerId,
        usage: Usage,
    },
    /// Little of a cap is left. Recorded once.
    BudgetWarned(Spending),
    CompletionClaimed {
        attempt: AttemptId,
        claim: Claim,
        summary: String,
    },
    CollectAsked {
        attempt: AttemptId,
    },
    SaveAsked {
        attempt: AttemptId,
    },
    SnapshotAsked {
        attempt: AttemptId,
    },
    VerifyAsked {
        attempt: AttemptId,
        onto: CommitId,
    },
    IntegrateAsked {
        attempt: AttemptId,
    },
    RequestOpened {
        request: RequestId,
        plan: PlanId,
        task: Option<TaskId>,
        worker: Option<WorkerId>,
        kind: RequestKind,
    },
    RequestMoved {
        request: RequestId,
        from: RequestStatus,
        to: RequestStatus,
        /// The answer to a question, or the reason for a decision.
        text: Option<String>,
        actor: Actor,
    },
    /// The matrix decided a tool use without asking.
    ToolDecided {
        worker: WorkerId,
        call: String,
        title: String,
        option: Option<String>,
        /// The strictest action of the tool use. Absent if it needs no permission.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        action: Option<Action>,
        /// The grant that allowed it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        grant: Option<GrantId>,
        /// The rule that denied it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        denied_by: Option<RuleSource>,
    },
    /// A person's decision about a tool use reaches the agent.
    ToolAnswered {
        request: RequestId,
        worker: WorkerId,
        call: String,
        option: Option<String>,
    },
    /// How the plan is landed when its landing begins.
    LandingPlanned {
        plan: PlanId,
        history: History,
        message: Option<String>,
        #[serde(default, skip_serializing_if = "Hooks::are_run")]
        hooks: Hooks,
        /// What the person has signed, if the commits need a signature.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signed: Option<CommitId>,
    },
    /// The base branch contains the result, but the orchestrator did not move the branch.
    MergedByHand {
        plan: PlanId,
        branch: String,
    },
    LandingMoved {
        plan: PlanId,
        from: LandingStatus,
        to: LandingStatus,
        reason: String,
        actor: Actor,
    },
    Abandoned {
        attempt: AttemptId,
        actor: Actor,
    },
    RemovalAsked {
        attempt: AttemptId,
    },
    RestoreAsked {
        task: TaskId,
        number: u32,
        actor: Actor,
    },
    /// The snapshots of the attempt are no longer needed. Its last state stays.
    DropAsked {
        attempt: AttemptId,
    },
    TidyAsked,
    MessageQueued(Message),
    MessageMoved {
        message: MessageId,
        /// The task that it belongs to.
        task: TaskId,
        from: MessageStatus,
        to: MessageStatus,
        /// The worker whose prompt contains or contained it.
        reader: Option<WorkerId>,
        reason: String,
    },
    EffectEnded {
        effect: EffectId,
        result: EffectResult,
    },
    /// A worker created a sub-task. It is not one of the tasks of the plan.
    SubtaskAdded {
        plan: PlanId,
        task: TaskId,
        spec: TaskSpec,
        delegation: Delegation,
    },
    /// A call of the worker stays open until these sub-tasks have ended, or until a time.
    AwaitBegun {
        worker: WorkerId,
        tasks: Vec<TaskId>,
        until: Timestamp,
        call: Option<String>,
    },
    /// The call was answered.
    AwaitEnded {
        worker: WorkerId,
        tasks: Vec<TaskId>,
        /// The sub-tasks that are still open.
        open: Vec<TaskId>,
        end: AwaitEnd,
        call: Option<String>,
    },
    /// The results of these sub-tasks reach their parent: in the answer to its call, or in its next
    /// prompt. Recorded once for each.
    ResultsHanded {
        worker: WorkerId,
        tasks: Vec<TaskId>,
    },
    /// The output that a worker reports besides the summary.
    OutputHanded {
        attempt: AttemptId,
        output: TaskOutput,
    },
    /// The parent requests the changes of its sub-task.
    PullAsked {
        attempt: AttemptId,
        task: TaskId,
    },
    /// The matrix has changed since it was last applied.
    MatrixApplied {
        matrix: Matrix,
    },
    /// The agent definitions or the backends have changed since they were last applied.
    CrewApplied {
        crew: Crew,
    },
    GrantGiven {
        grant: Grant,
        request: RequestId,
        actor: Actor,
    },
    GrantRevoked {
        grant: GrantId,
        actor: Actor,
    },
    /// The query limits have changed since they were last applied.
    QueryLimitsApplied {
        limits: QueryLimits,
    },
    QueryAsked {
        query: QueryId,
        worker: WorkerId,
        symbol: String,
        context: String,
        via: QueryVia,
        until: Timestamp,
        /// The worker's idempotency key.
        nonce: String,
    },
    /// The index does not know the symbol, so the owner of the code is asked.
    QueryRouted {
        query: QueryId,
        worker: WorkerId,
        owner: WorkerId,
        message: MessageId,
    },
    /// The end of a query, with its cost and its savings. There is exactly one.
    QueryEnded {
        query: QueryId,
        worker: WorkerId,
        outcome: QueryOutcome,
        text: String,
        tokens_spent: u64,
        tokens_saved: u64,
    },
    /// An owner answered a query that had already ended. The answer is kept for later queries.
    QueryAnsweredLate {
        query: QueryId,
        worker: WorkerId,
        owner: WorkerId,
        text: String,
        tokens_spent: u64,
    },
    /// The agent was refused a file outside its zone. Repeated attempts are recorded only a few
    /// times.
    AccessBlocked {
        worker: WorkerId,
        place: u64,
        access: Access,
        path: String,
        bytes_saved: u64,
    },
    /// A program of the attempt tried to reach something outside its box.
    EgressDecided(EgressDecision),
    /// A call of an outside client was accepted. A repeated call has the same nonce.
    ClientCallTaken {
        nonce: String,
    },
    /// A worker created several sub-tasks in one call. The first of them identifies the group.
    AgentGroupCreated {
        group: u64,
        parent: AttemptId,
        tasks: Vec<TaskId>,
    },
    /// A sub-task of a group has ended.
    AgentGroupMemberCompleted {
        group: u64,
        task: TaskId,
        success: bool,
    },
    /// An outside client created these sub-tasks. They have a plan of their own.
    StandaloneSpawned {
        plan: PlanId,
        tasks: Vec<TaskId>,
        /// Those of them that only read: none of their changes is integrated.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        readers: Vec<TaskId>,
        call: Option<String>,
    },
    /// The available or required sandbox has changed.
    SandboxApplied {
        sandbox: Sandbox,
    },
    /// Agents may be started with this tier if no stronger one is available.
    TierAccepted {
        tier: Tier,
        actor: Actor,
    },
    /// The agent is started with this sandbox.
    AgentConfined {
        worker: WorkerId,
        confined: Confined,
    },
}

impl Event {
    /// Returns the effect that this event removes from the outbox.
    pub fn retires(&self) -> Option<EffectId> {
        if let Self::EffectEnded { effect, .. } = self { Some(*effect) } else { None }
    }
}

/// Why a task changed its status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Reason {
    /// The ordinary course of the lifecycle.
    Progress,
    DependenciesCompleted,
    /// A dependency ended without completion.
    DependencyEnded {
        task: TaskId,
        status: TaskStatus,
    },
    /// The dependency that blocked it was retried.
    Unblocked,
    SlotFree,
    Failure {
        failure: Failure,
        retry_at: Option<Timestamp>,
    },
    Retry,
    Cancelled,
    Accepted,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Progress => Ok(()),
            Self::DependenciesCompleted => f.write_str("dependencies are integrated"),
            Self::DependencyEnded { task, status } => write!(f, "{task} is {status}"),
            Self::Unblocked => f.write_str("what blocked it is gone"),
            Self::SlotFree => f.write_str("a slot is free"),
            Self::Failure { failure, .. } => failure.fmt(f),
            Self::Retry => f.write_str("a person asked for a retry"),
            Self::Cancelled => f.write_str("cancelled"),
            Self::Accepted => f.write_str("a person accepted it as it is"),
        }
    }
}
