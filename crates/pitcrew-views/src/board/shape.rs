//! The board as it is shown and sent: flat lists with references by id.
//!
//! Clients of other versions read it: a field may be added with a default, never renamed or reused.

use super::{
    facts::{Attempt, BaseCheck, LandingView, RefusedPlace, Worker},
    queries::QueryTally,
};
use crate::plain;
use pitcrew_model::{
    AttemptId, CommitId, Deploy, Failure, PlanBase, PlanId, PlanStatus, RepoPath, Sandbox, Seq,
    Spending, SubtaskKind, SubtaskResult, TaskId, TaskName, TaskStatus, Timestamp, Usage, WorkerId,
    WorkerStatus, WorkspaceMode,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoardView {
    /// The last folded entry: `events?after=` continues from here.
    pub seq: Seq,
    /// The time of the view by the orchestrator's clock. Ages are relative to it.
    pub at: Timestamp,
    pub agents_max: u32,
    /// The sandbox tier in force, if the settings or a person agreed to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Sandbox>,
    /// Workers that count against `agents_max`.
    pub slots_taken: u32,
    pub plans: Vec<PlanView>,
    pub tasks: Vec<TaskView>,
    /// The sub-tasks, each after its parent.
    #[serde(default)]
    pub subtasks: Vec<TaskView>,
    pub workers: Vec<Worker>,
    /// The regions of live workers.
    pub regions: Vec<RegionView>,
    /// The open sessions of agents.
    pub sessions: Vec<SessionView>,
    /// The backends that are held, and until when.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub held: BTreeMap<String, Timestamp>,
    /// Those of them that cannot reach their provider, and why.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unreachable: BTreeMap<String, String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanView {
    pub id: PlanId,
    pub name: String,
    pub description: String,
    pub status: PlanStatus,
    pub since: Timestamp,
    pub reason: String,
    pub deploy: Deploy,
    /// The commands that prepare a fresh checkout.
    #[serde(default)]
    pub setup: Vec<String>,
    /// Absent until the vault is prepared for the plan.
    pub base: Option<PlanBase>,
    pub base_check: BaseCheck,
    /// The head of the integration branch.
    pub head: Option<CommitId>,
    pub landing: LandingView,
    pub tasks: Vec<TaskId>,
    /// The number of tasks by status, without zeros.
    pub counts: BTreeMap<TaskStatus, u64>,
    pub usage: Usage,
    /// By backend, without those that used nothing.
    #[serde(default)]
    pub vendors: BTreeMap<String, Usage>,
    /// The queries of its workers.
    #[serde(default, skip_serializing_if = "QueryTally::is_empty")]
    pub queries: QueryTally,
    /// The usage of each cap of the plan.
    #[serde(default)]
    pub caps: Vec<Spending>,
    /// The last hosts that its own checks were refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused_places: Vec<RefusedPlace>,
    pub created_at: Timestamp,
    pub ended_at: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskView {
    pub id: TaskId,
    pub plan: PlanId,
    pub key: String,
    pub prompt: String,
    pub status: TaskStatus,
    pub since: Timestamp,
    /// Why it is blocked or failed, or what it waits for.
    pub reason: Option<String>,
    /// The end of its back-off.
    pub not_before: Option<Timestamp>,
    pub region: Vec<RepoPath>,
    pub depends_on: Vec<TaskId>,
    pub agent: String,
    pub attempts_max: u32,
    pub attempts: Vec<Attempt>,
    /// Its current worker.
    pub worker: Option<WorkerId>,
    pub usage: Usage,
    /// The usage of each cap of the task.
    #[serde(default)]
    pub caps: Vec<Spending>,
    /// Its usage, including that of its sub-tasks.
    #[serde(default)]
    pub usage_below: Usage,
    /// Present for a sub-task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subtask: Option<SubtaskView>,
}

/// The part of a task that only sub-tasks have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubtaskView {
    pub parent_task: TaskId,
    pub parent_attempt: AttemptId,
    pub parent_worker: WorkerId,
    pub kind: SubtaskKind,
    pub depth: u32,
    pub workspace: WorkspaceMode,
    pub target_files: Vec<RepoPath>,
    /// Its parent waits for it in the same call.
    pub blocking: bool,
    pub expected_output: String,
    pub model: Option<String>,
    pub created_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub result: Option<SubtaskResult>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegionView {
    pub region: RepoPath,
    pub worker: WorkerId,
    pub task: TaskId,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionView {
    pub worker: WorkerId,
    pub task: TaskId,
    pub attempt: AttemptId,
    pub agent: String,
    pub session: String,
    pub status: WorkerStatus,
}

impl BoardView {
    pub fn plan(&self, plan: PlanId) -> Option<&PlanView> {
        self.plans.iter().find(|it| it.id == plan)
    }

    pub fn task(&self, task: TaskId) -> Option<&TaskView> {
        self.units().find(|it| it.id == task)
    }

    /// Returns tasks and sub-tasks.
    pub fn units(&self) -> impl Iterator<Item = &TaskView> {
        self.tasks.iter().chain(&self.subtasks)
    }

    /// Returns all descendants of a task, each after its parent.
    pub fn below(&self, task: TaskId) -> Vec<&TaskView> {
        let is_child =
            |it: &&TaskView| it.subtask.as_ref().is_some_and(|it| it.parent_task == task);
        let mut below = Vec::new();
        for child in self.subtasks.iter().filter(is_child) {
            below.push(child);
            below.extend(self.below(child.id));
        }
        below
    }

    /// Returns the tasks of a plan, dependencies first.
    pub fn tasks_of(&self, plan: PlanId) -> impl Iterator<Item = &TaskView> {
        self.tasks.iter().filter(move |it| it.plan == plan)
    }

    /// Returns the tasks of a plan, each followed by its descendants.
    pub fn tree_of(&self, plan: PlanId) -> impl Iterator<Item = &TaskView> {
        self.tasks_of(plan).flat_map(|it| [it].into_iter().chain(self.below(it.id)))
    }

    pub fn worker(&self, worker: WorkerId) -> Option<&Worker> {
        self.workers.iter().find(|it| it.id == worker)
    }
}

impl TaskView {
    /// Returns the display name: `task-3 core`, or `subtask-4 look at the tests`.
    pub fn name(&self) -> String {
        format!("{} {}", self.known_as(), plain::line(&self.key))
    }

    pub fn known_as(&self) -> TaskName {
        TaskName { task: self.id, is_part: self.subtask.is_some() }
    }

    /// Returns the number of attempts it may have, plus those that were interrupted or reached a
    /// provider limit, because they do not count.
    pub fn attempts_allowed(&self) -> u64 {
        let is_free = |it: &&Attempt| {
            matches!(
                it.failure,
                Some(Failure::Interrupted | Failure::Quota { .. } | Failure::Unreachable { .. })
            )
        };
        let free = self.attempts.iter().filter(is_free).count() as u64;
        u64::from(self.attempts_max).saturating_add(free).max(self.attempts.len() as u64)
    }

    pub fn newest_attempt(&self) -> Option<&Attempt> {
        self.attempts.last()
    }
}

impl RegionView {
    /// Returns the worker that owns `path`: the longest region that contains it, by whole
    /// components.
    pub fn owner_of<'a>(regions: &'a [Self], path: &str) -> Option<&'a Self> {
        regions
            .iter()
            .filter(|it| it.region.contains(path))
            .max_by_key(|it| it.region.as_str().len())
    }
}
