//! Effects: instructions to drivers, stored in the outbox with the events that request them.

use crate::{
    AttemptId, CheckoutRole, CommitId, History, Hooks, LandedTask, PlanId, QueryId, Reads,
    RepoPath, Sign, TaskId, WorkerId, WorkspaceMode, Zone,
};
use alloc::{string::String, vec::Vec};
use serde::{Deserialize, Serialize};

/// An instruction to a driver. It is complete: the driver needs nothing else of the state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum Effect {
    /// Imports the user's repository into the vault, resolves the start of the plan, and finds the
    /// programs of its checks.
    PreparePlan {
        plan: PlanId,
        base: Option<String>,
        clean_base: bool,
        /// Uncommitted paths that are part of the start even if they look like secrets.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        include: Vec<RepoPath>,
        /// Runs before the programs are looked up, if some are not found without it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        setup: Vec<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        checks: Vec<String>,
    },
    /// Runs every check of the plan on the base, to know which ones already fail.
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
        /// Where a sub-task works. Absent for tasks of a plan.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        place: Option<CheckoutPlace>,
    },
    StartAgent {
        worker: WorkerId,
        attempt: AttemptId,
        backend: Backend,
        path: String,
        /// Absent: the default model of the backend.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// The paths that it may change, and read through us.
        #[serde(default, skip_serializing_if = "Zone::is_unset")]
        zone: Zone,
        /// Further paths that it may read.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        sees: Vec<RepoPath>,
        #[serde(default, skip_serializing_if = "Reads::is_guided")]
        reads: Reads,
        #[serde(default, skip_serializing_if = "CheckoutRole::is_owner")]
        stay: CheckoutRole,
    },
    Prompt {
        worker: WorkerId,
        text: String,
        /// What the built-in agent executes. It never takes orders from the text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        order: Option<BuiltinOrder>,
    },
    /// If `option` is absent, the request is answered as cancelled.
    AnswerPermission {
        worker: WorkerId,
        call: String,
        option: Option<String>,
    },
    InterruptTurn {
        worker: WorkerId,
    },
    /// Stops the agent and waits until its process tree is empty.
    StopAgent {
        worker: WorkerId,
    },
    /// Commits the remaining changes, bundles the work and checks it at the gate.
    CollectWork {
        attempt: AttemptId,
        plan: PlanId,
        task: TaskId,
        number: u32,
        slug: String,
        path: String,
        start: CommitId,
        /// The base of the comparison at the gate: where the first attempt began, so that work of
        /// earlier attempts is checked too.
        base: CommitId,
        zone: Zone,
        message: String,
    },
    /// Saves the state of a checkout that a worker may be writing to. Skips the gate.
    Snapshot {
        attempt: AttemptId,
        path: String,
        start: CommitId,
        /// The base of its size.
        base: CommitId,
        /// Its number among the snapshots of the task, if anything has changed.
        number: u32,
        /// The last saved state of the attempt.
        last: Option<CommitId>,
    },
    /// Saves the last state of a failed attempt. Skips the gate.
    SaveWork {
        attempt: AttemptId,
        plan: PlanId,
        task: TaskId,
        number: u32,
        slug: String,
        path: Option<String>,
    },
    /// Merges the work and runs the checks on the merged tree, in a clean checkout.
    Verify {
        attempt: AttemptId,
        onto: CommitId,
        work: CommitId,
        title: String,
        setup: Vec<String>,
        checks: Vec<String>,
        expected_files: Vec<RepoPath>,
        /// The paths that the merge may change.
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
        /// The merge base: the start of the plan.
        start: CommitId,
        tip: CommitId,
        head: CommitId,
        setup: Vec<String>,
        /// Runs again on the result if the base has moved.
        checks: Vec<String>,
        #[serde(default)]
        history: History,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        #[serde(default, skip_serializing_if = "Hooks::are_run")]
        hooks: Hooks,
        #[serde(default, skip_serializing_if = "Sign::is_terminal")]
        sign: Sign,
        /// What the person has signed: the last commit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signed: Option<CommitId>,
        /// What was completed, in the order of its integration.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tasks: Vec<LandedTask>,
    },
    /// Moves the base branch back to where it was before the landing, or reverts the landing by a
    /// commit.
    UndoLanding {
        plan: PlanId,
        title: String,
        branch: String,
        /// The landed commit, and the branch before it.
        landed: CommitId,
        before: CommitId,
        sign: Sign,
        signed: Option<CommitId>,
    },
    /// Creates a branch of the user's repository at a commit of the vault. Changes nothing else
    /// there.
    Restore {
        task: TaskId,
        slug: String,
        number: u32,
        commit: CommitId,
        /// The base of its size.
        base: CommitId,
    },
    /// Brings the changes of a sub-task into its parent's checkout. On a conflict it lists the
    /// files and changes nothing.
    PullWork {
        /// The parent's attempt.
        attempt: AttemptId,
        path: String,
        /// The sub-task, and the work that it submitted.
        task: TaskId,
        commit: CommitId,
        /// Where the sub-task began. The difference is pulled.
        base: CommitId,
        title: String,
        /// The paths that the sub-task may change.
        #[serde(default)]
        zone: Zone,
    },
    /// Drops all snapshots of an attempt except the last one.
    DropSnapshots {
        attempt: AttemptId,
    },
    /// Repacks the vault. Drops nothing.
    TidyVault,
    /// Removes a checkout whose work is saved and that no process uses.
    RemoveCheckout {
        attempt: AttemptId,
        path: String,
    },
    /// Looks up a symbol in the index of a checkout. Changes nothing.
    ConsultOracle {
        query: QueryId,
        /// The attempt that sent the query, and its checkout.
        attempt: AttemptId,
        path: String,
        symbol: String,
        context: String,
        /// The region of the sender. Empty: the whole repository.
        region: Vec<RepoPath>,
    },
}

/// Where a sub-task works.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckoutPlace {
    pub workspace: WorkspaceMode,
    /// The attempt whose checkout it copies or uses.
    pub parent: AttemptId,
    pub parent_path: String,
}

/// What the built-in agent executes, byte for byte. Always a field of its own, never part of a
/// text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum BuiltinOrder {
    Script { script: String },
    Command { command: String },
}

/// The program that runs the agent of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Backend {
    /// The built-in agent: scripts and commands.
    Builtin,
    /// The built-in agent with the configured model.
    Model,
    /// A program from the settings.
    Program { name: String },
}

/// Why a worker gets a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TurnCause {
    Start,
    /// A turn ended without completion.
    Reminder,
    /// A person answered a question.
    Answer {
        question: String,
        answer: String,
    },
    /// The plan was paused and has been resumed.
    Resumed,
    /// The limit that ended the last turn is over.
    QuotaOver,
    /// The sub-tasks of the worker have ended.
    Results,
    /// The worker has new messages.
    Messages,
}
