//! The shape of the board as it is shown and sent: flat lists that name each other by id.
//!
//! Clients of another version read it: a field may be added with a default, never renamed or reused.

use super::{
    facts::{Attempt, BaseCheck, LandingView, RefusedPlace, Worker},
    queries::QueryTally,
};
use crate::plain;
use pitcrew_model::{
    AttemptId, CommitId, Deploy, Failure, PlanBase, PlanId, PlanStatus, RepoPath, Sandbox, Seq,
    Spending, SubtaskKind, SubtaskResult, TaskId, TaskName, TaskStatus, Timestamp, Usage, WorkerId,
    WorkerStatus, Workspace,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoardView {
    /// The last entry that it knows of: `events?after=` goes on from here.
    pub seq: Seq,
    /// When it was made, by the orchestrator's clock. Ages are to be told from here.
    pub at: Timestamp,
    pub agents_max: u32,
    /// How programs are confined; agreed to by the settings or by a person where that is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Sandbox>,
    /// Workers that count against `agents_max` now.
    pub slots_taken: u32,
    pub plans: Vec<PlanView>,
    pub tasks: Vec<TaskView>,
    /// What workers have handed out, each after the one that handed it out.
    #[serde(default)]
    pub subtasks: Vec<TaskView>,
    pub workers: Vec<Worker>,
    /// Which worker owns which part of the repository now.
    pub regions: Vec<RegionView>,
    /// The conversations with agents that are open now.
    pub sessions: Vec<SessionView>,
    /// The backends that wait for a limit of their provider, and until when.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub held: BTreeMap<String, Timestamp>,
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
    /// What makes each fresh checkout usable.
    #[serde(default)]
    pub setup: Vec<String>,
    /// Absent until the vault knows what the plan starts from.
    pub base: Option<PlanBase>,
    pub base_check: BaseCheck,
    /// Where the integration branch is.
    pub head: Option<CommitId>,
    pub landing: LandingView,
    pub tasks: Vec<TaskId>,
    /// How many tasks are in which status; those with none are left out.
    pub counts: BTreeMap<TaskStatus, u64>,
    pub usage: Usage,
    /// By backend; those that have used nothing are left out.
    #[serde(default)]
    pub vendors: BTreeMap<String, Usage>,
    /// What its workers asked about code of others.
    #[serde(default, skip_serializing_if = "QueryTally::is_empty")]
    pub queries: QueryTally,
    /// How much of each cap of the plan is used.
    #[serde(default)]
    pub caps: Vec<Spending>,
    /// Places outside their box that its own checks were refused, the last ones.
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
    /// Why it is blocked or has failed, or what it waits for.
    pub reason: Option<String>,
    /// When its back-off ends.
    pub not_before: Option<Timestamp>,
    pub region: Vec<RepoPath>,
    pub depends_on: Vec<TaskId>,
    pub agent: String,
    pub attempts_max: u32,
    pub attempts: Vec<Attempt>,
    /// Who works on it now.
    pub worker: Option<WorkerId>,
    pub usage: Usage,
    /// How much of each cap of the task is used.
    #[serde(default)]
    pub caps: Vec<Spending>,
    /// What it has used, and everything that was handed out for it.
    #[serde(default)]
    pub usage_below: Usage,
    /// Present where a worker has handed it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subtask: Option<SubtaskView>,
}

/// What there is to say of a task because a worker has handed it out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubtaskView {
    pub parent_task: TaskId,
    pub parent_attempt: AttemptId,
    pub parent_worker: WorkerId,
    pub kind: SubtaskKind,
    pub depth: u32,
    pub workspace: Workspace,
    pub target_files: Vec<RepoPath>,
    /// Its parent asked to wait for it when it handed it out.
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

    /// Tasks and sub-tasks.
    pub fn units(&self) -> impl Iterator<Item = &TaskView> {
        self.tasks.iter().chain(&self.subtasks)
    }

    /// What was handed out for a task and for that again, each after the one that handed it out.
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

    /// The tasks of a plan, none before those it depends on.
    pub fn tasks_of(&self, plan: PlanId) -> impl Iterator<Item = &TaskView> {
        self.tasks.iter().filter(move |it| it.plan == plan)
    }

    /// The tasks of a plan, each with what was handed out for it behind it.
    pub fn tree_of(&self, plan: PlanId) -> impl Iterator<Item = &TaskView> {
        self.tasks_of(plan).flat_map(|it| [it].into_iter().chain(self.below(it.id)))
    }

    pub fn worker(&self, worker: WorkerId) -> Option<&Worker> {
        self.workers.iter().find(|it| it.id == worker)
    }
}

impl TaskView {
    /// `task-3 core`, or `subtask-4 look at the tests`: as people know it.
    pub fn name(&self) -> String {
        format!("{} {}", self.known_as(), plain::line(&self.key))
    }

    pub fn known_as(&self) -> TaskName {
        TaskName { task: self.id, is_part: self.subtask.is_some() }
    }

    /// How many attempts it may have. Those that were interrupted or met a limit of their provider
    /// cost it none, and come on top.
    pub fn attempts_allowed(&self) -> u64 {
        let is_free = |it: &&Attempt| {
            matches!(it.failure, Some(Failure::Interrupted | Failure::Quota { .. }))
        };
        let free = self.attempts.iter().filter(is_free).count() as u64;
        u64::from(self.attempts_max).saturating_add(free).max(self.attempts.len() as u64)
    }

    pub fn newest_attempt(&self) -> Option<&Attempt> {
        self.attempts.last()
    }
}

impl RegionView {
    /// The worker that owns `path`: the longest region that holds it, by whole components.
    pub fn owner_of<'a>(regions: &'a [Self], path: &str) -> Option<&'a Self> {
        regions
            .iter()
            .filter(|it| it.region.contains(path))
            .max_by_key(|it| it.region.as_str().len())
    }
}
