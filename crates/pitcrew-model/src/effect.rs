//! Orders to drivers. Stored in the outbox with the events that asked for them.

use crate::{
    AttemptId, CommitId, History, LandedTask, PlanId, QueryId, Reads, RepoPath, Stay, TaskId,
    WorkerId, Workspace, Zone,
};
use alloc::{string::String, vec::Vec};
use serde::{Deserialize, Serialize};

/// An order to a driver, whole: the driver needs nothing else of the state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum Effect {
    /// Makes the vault know the user's repository and finds what the plan starts from.
    PreparePlan {
        plan: PlanId,
        base: Option<String>,
        clean_base: bool,
    },
    /// Runs every check of the plan on the base, so that "already red" is known.
    CheckBase {
        plan: PlanId,
        commit: CommitId,
        setup: Vec<String>,
        checks: Vec<String>,
    },
    PrepareCheckout {
        attempt: AttemptId,
        plan: PlanId,
        task: TaskId,
        number: u32,
        slug: String,
        start: CommitId,
        setup: Vec<String>,
        /// Where a sub-task works, instead of in a checkout of a plan's task.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        place: Option<CheckoutPlace>,
    },
    StartAgent {
        worker: WorkerId,
        attempt: AttemptId,
        backend: Backend,
        path: String,
        /// That of the backend where absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// What it may change, and read through us.
        #[serde(default, skip_serializing_if = "Zone::is_unsaid")]
        zone: Zone,
        /// What it may read besides.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        sees: Vec<RepoPath>,
        #[serde(default, skip_serializing_if = "Reads::is_guided")]
        reads: Reads,
        #[serde(default, skip_serializing_if = "Stay::is_owner")]
        stay: Stay,
    },
    Prompt {
        worker: WorkerId,
        text: String,
        /// What the built-in agent executes. Nothing in the text is an order for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        order: Option<BuiltinOrder>,
    },
    /// `option` absent: the request is answered as cancelled.
    AnswerPermission {
        worker: WorkerId,
        call: String,
        option: Option<String>,
    },
    InterruptTurn {
        worker: WorkerId,
    },
    /// Ends the agent and proves its process tree empty.
    StopAgent {
        worker: WorkerId,
    },
    /// Commits what was left, bundles it, and takes it through the gate.
    CollectWork {
        attempt: AttemptId,
        plan: PlanId,
        task: TaskId,
        number: u32,
        slug: String,
        path: String,
        start: CommitId,
        /// What the gate compares with: the commit this attempt's task began from, so that what an earlier attempt left is judged too.
        base: CommitId,
        zone: Zone,
        message: String,
    },
    /// Keeps the state of a checkout that a worker may be writing to. Judges nothing.
    Snapshot {
        attempt: AttemptId,
        path: String,
        start: CommitId,
        /// What its size is told against.
        base: CommitId,
        /// The number it gets among the snapshots of its task, if anything has changed.
        number: u32,
        /// The last kept state of the attempt.
        last: Option<CommitId>,
    },
    /// Saves the last state of an attempt that failed. Judges nothing.
    SaveWork {
        attempt: AttemptId,
        plan: PlanId,
        task: TaskId,
        number: u32,
        slug: String,
        path: Option<String>,
    },
    /// Merges, and runs the checks on the merged tree in a clean checkout.
    Verify {
        attempt: AttemptId,
        onto: CommitId,
        work: CommitId,
        title: String,
        setup: Vec<String>,
        checks: Vec<String>,
        expected_files: Vec<RepoPath>,
        /// What the merge may change.
        #[serde(default)]
        zone: Zone,
    },
    /// Advances the integration branch by compare-and-set.
    Integrate {
        attempt: AttemptId,
        plan: PlanId,
        onto: CommitId,
        merged: CommitId,
    },
    Land {
        plan: PlanId,
        slug: String,
        title: String,
        branch: Option<String>,
        /// The merge base: what the plan started from.
        start: CommitId,
        tip: CommitId,
        head: CommitId,
        setup: Vec<String>,
        /// Run once more on the result where the base has moved since.
        checks: Vec<String>,
        #[serde(default)]
        history: History,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// What was completed, in the order of its integration.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tasks: Vec<LandedTask>,
    },
    /// Puts a commit of the vault at a branch of the user's repository. Touches nothing else of it.
    Restore {
        task: TaskId,
        slug: String,
        number: u32,
        commit: CommitId,
        /// What its size is told against.
        base: CommitId,
    },
    /// Brings what a sub-task has changed into its parent's checkout, or names the conflicts and
    /// changes nothing.
    PullWork {
        /// The parent's.
        attempt: AttemptId,
        path: String,
        /// The sub-task, and what it handed in.
        task: TaskId,
        commit: CommitId,
        /// What it began from: the difference is what is pulled.
        base: CommitId,
        title: String,
        /// What the sub-task may change.
        #[serde(default)]
        zone: Zone,
    },
    /// Forgets the snapshots of an attempt but the last one.
    DropSnapshots {
        attempt: AttemptId,
    },
    /// Gathers what the vault has in many files. Forgets nothing.
    TidyVault,
    /// Removes a checkout whose work is saved and that no process uses.
    RemoveCheckout {
        attempt: AttemptId,
        path: String,
    },
    /// Looks a name up in the index of a checkout. Changes nothing.
    ConsultOracle {
        query: QueryId,
        /// The asker's, and where it works.
        attempt: AttemptId,
        path: String,
        symbol: String,
        context: String,
        /// The asker's. Empty: the whole repository.
        region: Vec<RepoPath>,
    },
}

/// Where a sub-task works.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckoutPlace {
    pub workspace: Workspace,
    /// Whose checkout it begins from, or works in.
    pub parent: AttemptId,
    pub parent_path: String,
}

/// What the built-in agent executes, to the byte. It travels in a field of its own, never in text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum BuiltinOrder {
    Script { script: String },
    Command { command: String },
}

/// How the agent of a task is executed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Backend {
    /// Our own agent: scripts and commands.
    Builtin,
    /// Our own agent with the model of the settings, for words.
    Model,
    /// A program that the settings name.
    Program { name: String },
}

/// Why a worker gets a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TurnCause {
    Start,
    /// A turn ended without completion.
    Reminder,
    /// A person answered.
    Answer {
        question: String,
        answer: String,
    },
    /// The plan was paused and goes on.
    Resumed,
    /// The limit that ended the last turn is over.
    QuotaOver,
    /// The sub-tasks that it handed out have ended.
    Results,
    /// Somebody has written to it.
    Messages,
}
