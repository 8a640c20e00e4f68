//! What drivers report, and the one type that goes into the kernel.

use crate::{
    Access, Actor, AttemptId, CheckResult, Command, CommitId, Confined, EffectId, EgressDecision,
    Failure, Landing, OracleAnswer, PermissionOption, PlanBase, PlanId, QueryId, Snapshot, TaskId,
    Timestamp, ToolUse, Usage, Work, WorkerId,
};
use alloc::{string::String, vec::Vec};
use serde::{Deserialize, Serialize};

/// Everything that can make something happen. Time arrives inside it.
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
    /// Something the kernel asked to be woken for may be due.
    Tick,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signal {
    /// An effect came to its end.
    EffectEnded { effect: EffectId, result: EffectResult },
    /// The agent's process ended and nobody had asked for it.
    AgentExited { worker: WorkerId, exit: Exit },
    /// The agent has worked on while nobody was there, for so long.
    AgentReattached { worker: WorkerId, away_ms: u64 },
    /// The agent waits for permission, in the middle of a turn. `call` is the driver's name for it;
    /// what the kernel knows already may be told again under the same name.
    PermissionAsked {
        worker: WorkerId,
        call: String,
        tool: ToolUse,
        options: Vec<PermissionOption>,
    },
    /// What the agent just did, in a few words.
    Activity { worker: WorkerId, note: String },
    /// What the turn that is going on has used so far. The end of the turn tells the whole again.
    UsageTold { worker: WorkerId, usage: Usage },
    /// The agent wanted to reach a file through us that lies outside its zone, and was refused.
    AccessBlocked {
        worker: WorkerId,
        /// Where the request stands in what the agent has said: what is told again is known by it.
        place: u64,
        access: Access,
        path: String,
        /// What it did not have to read.
        bytes_saved: u64,
    },
    /// The agent asked in its own words for something of another part of the code. Told before the end
    /// of the turn; `nonce` is the same for whoever tells it again.
    QueryHeard {
        worker: WorkerId,
        nonce: String,
        symbol: String,
        /// Where it is said to be, or what was said around it.
        context: String,
    },
    /// The way out of a box has decided. What the kernel knows already may be told again.
    EgressDecided(EgressDecision),
    /// What the agent is about to be started with.
    AgentConfined { worker: WorkerId, confined: Confined },
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
        /// Things a person should know: submodules left empty.
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
    /// The last state of a failed attempt; absent when its checkout was never made.
    WorkSaved {
        attempt: AttemptId,
        commit: Option<CommitId>,
    },
    SnapshotTaken {
        attempt: AttemptId,
        snapshot: Snapshot,
    },
    /// The checkout is as the last snapshot of it.
    SnapshotUnchanged {
        attempt: AttemptId,
    },
    /// Costs the attempt nothing: the next one may work out.
    SnapshotNotTaken {
        attempt: AttemptId,
        reason: String,
    },
    /// The checks ran on the merge of the work and `onto`; all of them passed.
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
        /// Loose objects that were put into a pack; 0 where there were too few to matter.
        packed_count: u64,
    },
    VaultNotTidied {
        reason: String,
    },
    /// The parent's checkout has what the sub-task changed.
    WorkPulled {
        attempt: AttemptId,
        task: TaskId,
        work: Work,
    },
    /// The parent's checkout is as before.
    WorkNotPulled {
        attempt: AttemptId,
        task: TaskId,
        failure: Failure,
    },
    /// The attempt's step failed.
    AttemptFailed {
        attempt: AttemptId,
        failure: Failure,
    },
    OracleAnswered {
        query: QueryId,
        answer: OracleAnswer,
    },
}

/// How a turn ended. Not whether the work is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum StopReason {
    EndTurn,
    MaxTokens,
    MaxTurnRequests,
    Refusal,
    Cancelled,
    /// The agent answered the prompt with an error, or with a reason nobody knows.
    Error {
        /// Absent in what was written before causes were told apart.
        #[serde(default)]
        cause: ErrorCause,
        message: String,
    },
}

/// What kind of error ended a turn, where it can be known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ErrorCause {
    /// The agent is not logged in, or its key is refused.
    Auth,
    /// A limit of the provider, until a time where it says so.
    Quota { until: Option<Timestamp> },
    /// The provider could not or would not answer.
    Model,
    #[default]
    Other,
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    pub code: Option<i32>,
    pub signal: Option<i32>,
    /// The end of what it wrote to standard error.
    pub stderr: String,
}

impl Exit {
    /// Nobody saw it end: it went down with the machine, or with those who should have watched it.
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
