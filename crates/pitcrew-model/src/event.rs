//! Facts. Stored forever.

use crate::{
    Access, Action, Actor, AttemptId, AwaitEnd, Claim, CommitId, Confined, Delegation, EffectId,
    EffectResult, EgressDecision, Exit, Failure, Freshness, Grant, GrantId, History, LandingStatus,
    Matrix, Message, MessageId, MessageStatus, Outcome, PlanHead, PlanId, PlanStatus, QueryId,
    QueryLimits, QueryOutcome, QueryVia, RequestId, RequestKind, RequestStatus, RuleSource,
    Sandbox, Seq, Spending, TaskId, TaskOutput, TaskSpec, TaskStatus, Tier, Timestamp, TurnCause,
    Usage, WorkerId, WorkerStatus,
};
use alloc::{string::String, vec::Vec};
use core::fmt;
use serde::{Deserialize, Serialize};

/// A fact with its place and time in the journal.
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
    /// The plan's work in the vault can begin.
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
    /// Nobody but a person may deploy the task: what it runs was not in the plan that was approved.
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
        /// What the gate will compare with.
        base: CommitId,
    },
    AttemptEnded {
        attempt: AttemptId,
        outcome: Outcome,
        failure: Option<Failure>,
    },
    /// A limit of the backend's provider is used up: nothing of it starts or goes on before `until`.
    BackendHeld {
        backend: String,
        until: Timestamp,
        reason: String,
    },
    /// The limit is over, or a person does not wait for that.
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
    /// The agent's process is to end.
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
    /// The agent has worked on while nobody was there. That time is not counted against it.
    AgentReattached {
        worker: WorkerId,
        away_ms: u64,
    },
    /// A call of the worker's was taken; its effects are the events that follow. Said again it is
    /// known by its nonce.
    CallTaken {
        worker: WorkerId,
        nonce: String,
    },
    ActivityNoted {
        worker: WorkerId,
        note: String,
    },
    /// What the turn that is going on has used so far.
    UsageNoted {
        worker: WorkerId,
        usage: Usage,
    },
    /// Little is left of a cap. Said once.
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
        /// The answer to a question, or the reason for a verdict.
        text: Option<String>,
        actor: Actor,
    },
    /// A tool use that the matrix decides by itself.
    ToolDecided {
        worker: WorkerId,
        call: String,
        title: String,
        option: Option<String>,
        /// The strictest of all that the tool does; absent for what needs no permission.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        action: Option<Action>,
        /// What a person has allowed before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        grant: Option<GrantId>,
        /// What denied it, where a rule did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        denied_by: Option<RuleSource>,
    },
    /// A tool use that a person decided reaches the agent.
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
    /// The snapshots of the attempt are not needed any more. Its last state stays.
    DropAsked {
        attempt: AttemptId,
    },
    TidyAsked,
    MessageQueued(Message),
    MessageMoved {
        message: MessageId,
        /// Where it belongs.
        task: TaskId,
        from: MessageStatus,
        to: MessageStatus,
        /// Whose prompt it is in, or was.
        reader: Option<WorkerId>,
        reason: String,
    },
    EffectEnded {
        effect: EffectId,
        result: EffectResult,
    },
    /// A worker has handed out a part of its work. Not one of the tasks that the plan is made of.
    SubtaskAdded {
        plan: PlanId,
        task: TaskId,
        spec: TaskSpec,
        delegation: Delegation,
    },
    /// A call of the worker's stays open until these have ended, or until a time.
    AwaitBegun {
        worker: WorkerId,
        tasks: Vec<TaskId>,
        until: Timestamp,
        call: Option<String>,
    },
    /// The call is answered.
    AwaitEnded {
        worker: WorkerId,
        tasks: Vec<TaskId>,
        /// Those that go on.
        open: Vec<TaskId>,
        end: AwaitEnd,
        call: Option<String>,
    },
    /// The results of these reach their parent: with the answer to its call, or with the turn that
    /// is opened next. Said once of each.
    ResultsHanded {
        worker: WorkerId,
        tasks: Vec<TaskId>,
    },
    /// What a worker hands in besides the words of its claim.
    OutputHanded {
        attempt: AttemptId,
        output: TaskOutput,
    },
    /// The parent wants what its sub-task has changed.
    PullAsked {
        attempt: AttemptId,
        task: TaskId,
    },
    /// The matrix has changed since it was last applied.
    MatrixApplied {
        matrix: Matrix,
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
    /// What the settings say of queries has changed since it was last applied.
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
        /// The worker's own name for it.
        nonce: String,
    },
    /// The index does not know it: whoever works there is asked.
    QueryRouted {
        query: QueryId,
        worker: WorkerId,
        owner: WorkerId,
        message: MessageId,
    },
    /// The one end of a question, with what it has cost and spared.
    QueryEnded {
        query: QueryId,
        worker: WorkerId,
        outcome: QueryOutcome,
        text: String,
        tokens_spent: u64,
        tokens_saved: u64,
    },
    /// An owner has answered a question that had ended. It is kept for the next who asks.
    QueryAnsweredLate {
        query: QueryId,
        worker: WorkerId,
        owner: WorkerId,
        text: String,
        tokens_spent: u64,
    },
    /// The agent was refused a file outside its zone. A path that it tries again and again is noted
    /// a few times only.
    AccessBlocked {
        worker: WorkerId,
        place: u64,
        access: Access,
        path: String,
        bytes_saved: u64,
    },
    /// A program of the attempt wanted to reach something outside its box.
    EgressDecided(EgressDecision),
    /// A call of an outside client was taken. Said again it is known by its nonce.
    ClientCallTaken {
        nonce: String,
    },
    /// A worker has handed out several parts together. Their group is known by the first of them.
    AgentGroupCreated {
        group: u64,
        parent: AttemptId,
        tasks: Vec<TaskId>,
    },
    /// One of a group has come to its end, one way or the other.
    AgentGroupMemberCompleted {
        group: u64,
        task: TaskId,
        success: bool,
    },
    /// These were handed out by an agent that works for no plan: theirs is one of their own.
    StandaloneSpawned {
        plan: PlanId,
        tasks: Vec<TaskId>,
        /// Those of them that only read: nothing that they change is taken.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        readers: Vec<TaskId>,
        call: Option<String>,
    },
    /// Another confinement can be had, or is wanted, than when it was last told.
    SandboxApplied {
        sandbox: Sandbox,
    },
    /// Agents may be started with this tier where there is no stronger one.
    TierAccepted {
        tier: Tier,
        actor: Actor,
    },
    /// The agent is started with this and no more.
    AgentConfined {
        worker: WorkerId,
        confined: Confined,
    },
}

impl Event {
    /// The effect that this event retires from the outbox.
    pub fn retires(&self) -> Option<EffectId> {
        if let Self::EffectEnded { effect, .. } = self { Some(*effect) } else { None }
    }
}

/// Why a task moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Reason {
    /// The machine went its ordinary way.
    Progress,
    DependenciesCompleted,
    /// A dependency ended without being completed.
    DependencyEnded {
        task: TaskId,
        status: TaskStatus,
    },
    /// What blocked it is gone.
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
