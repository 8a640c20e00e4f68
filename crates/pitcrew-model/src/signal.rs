//! Signals of drivers, and the input type of the kernel.

use crate::{
    Access, Actor, AttemptId, CheckResult, Command, CommitId, Confined, EffectId, EgressDecision,
    Failure, Landing, OracleAnswer, PermissionOption, PlanBase, PlanId, QueryId, Snapshot, TaskId,
    Timestamp, ToolUse, Undo, Unsigned, Usage, Work, WorkerId,
};
use alloc::{string::String, vec::Vec};
use serde::{Deserialize, Serialize};

/// An input of the kernel. It contains the time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    pub at: Timestamp,
    pub actor: Actor,
    pub body: InputBody,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputBody {
    Command(Command),
    Signal(Signal),
    /// A requested wake-up time may have passed.
    Tick,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signal {
    /// An effect has ended.
    EffectEnded { effect: EffectId, result: EffectResult },
    /// The agent's process ended unexpectedly.
    AgentExited { worker: WorkerId, exit: Exit },
    /// The agent kept running for this time while the orchestrator was down.
    AgentReattached { worker: WorkerId, away_ms: u64 },
    /// The agent requests a permission during a turn. `call` is the driver's id of it. A repeated
    /// request has the same id.
    PermissionAsked {
        worker: WorkerId,
        call: String,
        tool: ToolUse,
        options: Vec<PermissionOption>,
    },
    /// What the agent just did, in a few words.
    Activity { worker: WorkerId, note: String },
    /// The usage of the current turn so far. The end of the turn reports the total.
    UsageReported { worker: WorkerId, usage: Usage },
    /// The agent was refused a file outside its zone.
    AccessBlocked {
        worker: WorkerId,
        /// The position of the call in the agent's output. A repeated signal has the same position.
        place: u64,
        access: Access,
        path: String,
        /// The size of what it did not have to read.
        bytes_saved: u64,
    },
    /// The agent's text contains a `NEED` line. Sent before the end of the turn. A repeated signal
    /// has the same `nonce`.
    NeedLine {
        worker: WorkerId,
        nonce: String,
        symbol: String,
        /// The path of the line, or the text around it.
        context: String,
    },
    /// The egress process of a box decided. The signal may be repeated.
    EgressDecided(EgressDecision),
    /// The sandbox in which the agent is about to start.
    AgentConfined { worker: WorkerId, confined: Confined },
    /// The base branch of a plan contains the result that was on a separate branch.
    MergedByHand { plan: PlanId, branch: String, landed: CommitId },
}

/// How an effect ended. Each variant names its subject, so that it can be read alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum EffectResult {
    PlanPrepared {
        plan: PlanId,
        base: PlanBase,
    },
    PlanNotPrepared {
        plan: PlanId,
        failure: Failure,
    },
    BaseChecked {
        plan: PlanId,
        checks: Vec<CheckResult>,
    },
    CheckoutPrepared {
        attempt: AttemptId,
        path: String,
        /// Notes for a person, such as submodules that were left empty.
        #[serde(default)]
        notes: Vec<String>,
    },
    AgentReady {
        worker: WorkerId,
        agent: String,
        session: String,
    },
    TurnEnded {
        worker: WorkerId,
        stop: StopReason,
        usage: Usage,
        last_words: String,
    },
    PermissionAnswered {
        worker: WorkerId,
    },
    TurnInterrupted {
        worker: WorkerId,
    },
    AgentStopped {
        worker: WorkerId,
        exit: Exit,
    },
    WorkCollected {
        attempt: AttemptId,
        work: Work,
    },
    /// The last state of a failed attempt. Absent if its checkout was never created.
    WorkSaved {
        attempt: AttemptId,
        commit: Option<CommitId>,
    },
    SnapshotTaken {
        attempt: AttemptId,
        snapshot: Snapshot,
    },
    /// The checkout has not changed since the last snapshot.
    SnapshotUnchanged {
        attempt: AttemptId,
    },
    /// The snapshot failed. The attempt continues, and the next snapshot may succeed.
    SnapshotNotTaken {
        attempt: AttemptId,
        reason: String,
    },
    /// The checks passed on the merge of the work and `onto`.
    Verified {
        attempt: AttemptId,
        merged: CommitId,
        checks: Vec<CheckResult>,
    },
    Integrated {
        attempt: AttemptId,
        head: CommitId,
    },
    Landed {
        plan: PlanId,
        landing: Landing,
    },
    NotLanded {
        plan: PlanId,
        failure: Failure,
    },
    /// The commits of a landing or of its revert need signatures. No branch was changed.
    Unsigned {
        plan: PlanId,
        unsigned: Unsigned,
    },
    LandingUndone {
        plan: PlanId,
        undo: Undo,
    },
    /// The landing could not be undone. No branch was changed.
    LandingNotUndone {
        plan: PlanId,
        failure: Failure,
    },
    CheckoutRemoved {
        attempt: AttemptId,
    },
    CheckoutKept {
        attempt: AttemptId,
        reason: String,
    },
    Restored {
        task: TaskId,
        number: u32,
        branch: String,
        snapshot: Snapshot,
    },
    NotRestored {
        task: TaskId,
        number: u32,
        failure: Failure,
    },
    SnapshotsDropped {
        attempt: AttemptId,
    },
    SnapshotsNotDropped {
        attempt: AttemptId,
        reason: String,
    },
    VaultTidied {
        /// Loose objects that were packed; 0 if there were too few.
        packed_count: u64,
    },
    VaultNotTidied {
        reason: String,
    },
    /// The parent's checkout contains the changes of the sub-task.
    WorkPulled {
        attempt: AttemptId,
        task: TaskId,
        work: Work,
    },
    /// The parent's checkout is unchanged.
    WorkNotPulled {
        attempt: AttemptId,
        task: TaskId,
        failure: Failure,
    },
    /// A step of the attempt failed.
    AttemptFailed {
        attempt: AttemptId,
        failure: Failure,
    },
    OracleAnswered {
        query: QueryId,
        answer: OracleAnswer,
    },
}

/// How a turn ended. It does not say whether the work is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum StopReason {
    EndTurn,
    MaxTokens,
    MaxTurnRequests,
    Refusal,
    Cancelled,
    /// The agent answered the prompt with an error or an unknown stop reason.
    Error {
        /// Absent in journals from before causes were recorded.
        #[serde(default)]
        cause: ErrorCause,
        message: String,
    },
}

/// The kind of the error that ended a turn, if known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ErrorCause {
    /// The agent is not logged in, or its key is refused.
    Auth,
    /// A limit of the provider, with its end if known.
    Quota { until: Option<Timestamp> },
    /// The provider cannot be reached.
    Unreachable,
    /// The provider failed or refused to answer.
    Model,
    #[default]
    Other,
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    pub code: Option<i32>,
    pub signal: Option<i32>,
    /// The end of its standard error.
    pub stderr: String,
}

impl Exit {
    /// Returns whether its end was not observed: it was lost with the machine or its supervisor.
    pub fn is_lost(&self) -> bool {
        self.code.is_none() && self.signal.is_none()
    }
}

impl core::fmt::Display for Exit {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match (self.code, self.signal) {
            (Some(code), _) => write!(f, "exit code {code}"),
            (None, Some(signal)) => write!(f, "signal {signal}"),
            (None, None) => f.write_str("lost"),
        }
    }
}
