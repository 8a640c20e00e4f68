//! The result of a plan: for each task and in total.
//!
//! Computed from a board as it is sent, so that a client can compute it too.

use crate::{
    BoardView, PlanView, QueryTally, RefusedChanges, RefusedPlace, TaskView, plain,
    words::{counted, duration, plural},
};
use pitcrew_model::{
    Landing, LandingStatus, PlanId, PlanStatus, Spending, TaskId, TaskStatus, Timestamp, Usage,
};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    pub plan: PlanId,
    pub name: String,
    pub status: PlanStatus,
    pub landing: LandingStatus,
    pub landed: Option<Landing>,
    pub tasks: Vec<TaskSummary>,
    pub totals: Totals,
    /// The usage of each backend, without zeros.
    #[serde(default)]
    pub vendors: BTreeMap<String, Usage>,
    /// Usage outside of tasks: none, because scheduling, retrying and merging are code.
    #[serde(default)]
    pub supervision: Usage,
    /// The queries of its workers.
    #[serde(default, skip_serializing_if = "QueryTally::is_empty")]
    pub queries: QueryTally,
    /// The usage of each cap of the plan and of its tasks.
    #[serde(default)]
    pub caps: Vec<Spending>,
    /// Hosts that the checks of the plan itself were refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused_places: Vec<RefusedPlace>,
    /// Tasks that are not part of the result, and why.
    pub not_completed: Vec<NotCompleted>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskSummary {
    pub task: TaskId,
    pub key: String,
    pub status: TaskStatus,
    pub attempts_count: u64,
    /// The time of all its attempts.
    pub took_ms: u64,
    pub files_count: u64,
    pub insertions: u64,
    pub deletions: u64,
    /// The worker's summary.
    pub said: Option<String>,
    /// The number of its sub-tasks, and of those that were not completed.
    #[serde(default)]
    pub subtasks_count: u64,
    #[serde(default)]
    pub subtasks_failed_count: u64,
    /// Hosts that its newest attempt, or that of a sub-task, was refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused_places: Vec<RefusedPlace>,
    /// Changes of all its attempts, and of its sub-tasks, that were refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused_changes: Vec<RefusedChanges>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    pub tasks_count: u64,
    pub completed_count: u64,
    pub attempts_count: u64,
    /// From the creation of the plan to its end, or to now.
    pub took_ms: u64,
    /// Of completed tasks. A file that two of them changed counts twice until it has landed.
    pub files_count: u64,
    pub insertions: u64,
    pub deletions: u64,
    pub usage: Usage,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotCompleted {
    pub task: TaskId,
    pub key: String,
    pub status: TaskStatus,
    pub reason: String,
    /// States of its work that can be restored.
    #[serde(default)]
    pub kept_count: u64,
}

impl Summary {
    /// Returns nothing if the board does not contain the plan.
    pub fn of(board: &BoardView, plan: PlanId) -> Option<Self> {
        let shown = board.plan(plan)?;
        let views: Vec<&TaskView> = board.tasks_of(plan).collect();
        let tasks: Vec<TaskSummary> =
            views.iter().map(|it| TaskSummary::of(it, &board.below(it.id), board.at)).collect();
        let not_completed = views.iter().filter(|it| it.status != TaskStatus::Completed);
        Some(Self {
            plan,
            name: shown.name.clone(),
            refused_places: shown.refused_places.clone(),
            status: shown.status,
            landing: shown.landing.status,
            landed: shown.landing.result.clone(),
            totals: Totals::of(shown, &tasks, board.at),
            tasks,
            vendors: shown.vendors.clone(),
            supervision: supervision(&shown.vendors, shown.usage),
            queries: shown.queries,
            caps: shown.caps.iter().chain(views.iter().flat_map(|it| &it.caps)).copied().collect(),
            not_completed: not_completed.map(|it| NotCompleted::of(it)).collect(),
        })
    }
}

/// Returns the usage of a plan outside of its agents.
pub fn supervision(vendors: &BTreeMap<String, Usage>, total: Usage) -> Usage {
    vendors.values().fold(total, |rest, it| rest.without(*it))
}

impl TaskSummary {
    fn of(task: &TaskView, below: &[&TaskView], now: Timestamp) -> Self {
        let took = task.attempts.iter().map(|it| it.ended_at.unwrap_or(now).since(it.started_at));
        let newest = task.newest_attempt();
        let units = || [task].into_iter().chain(below.iter().copied());
        let attempts = units().filter_map(TaskView::newest_attempt);
        Self {
            refused_changes: units().flat_map(TaskView::refused_changes).collect(),
            refused_places: attempts.flat_map(|it| it.refused_places.clone()).collect(),
            task: task.id,
            key: task.key.clone(),
            status: task.status,
            attempts_count: task.attempts.len() as u64,
            took_ms: took.fold(0, u64::saturating_add),
            files_count: newest.map_or(0, |it| it.files_count),
            insertions: newest.map_or(0, |it| it.insertions),
            deletions: newest.map_or(0, |it| it.deletions),
            said: newest.and_then(|it| it.summary.clone()),
            subtasks_count: below.len() as u64,
            subtasks_failed_count: below.iter().filter(|it| is_lost(it.status)).count() as u64,
        }
    }
}

/// Returns whether it is completed without any change.
pub fn changed_nothing(status: TaskStatus, files_count: u64) -> bool {
    status == TaskStatus::Completed && files_count == 0
}

/// Returns whether it has ended without success.
fn is_lost(status: TaskStatus) -> bool {
    status.has_ended() && status != TaskStatus::Completed
}

impl Totals {
    fn of(plan: &PlanView, tasks: &[TaskSummary], now: Timestamp) -> Self {
        let completed = || tasks.iter().filter(|it| it.status == TaskStatus::Completed);
        let sum =
            |part: fn(&TaskSummary) -> u64| completed().map(part).fold(0, u64::saturating_add);
        let landed = plan.landing.result.as_ref();
        Self {
            tasks_count: tasks.len() as u64,
            completed_count: completed().count() as u64,
            attempts_count: tasks.iter().map(|it| it.attempts_count).fold(0, u64::saturating_add),
            took_ms: plan.ended_at.unwrap_or(now).since(plan.created_at),
            files_count: landed.map_or_else(|| sum(|it| it.files_count), |it| it.files_count),
            insertions: landed.map_or_else(|| sum(|it| it.insertions), |it| it.insertions),
            deletions: landed.map_or_else(|| sum(|it| it.deletions), |it| it.deletions),
            usage: plan.usage,
        }
    }
}

impl NotCompleted {
    fn of(task: &TaskView) -> Self {
        Self {
            task: task.id,
            key: task.key.clone(),
            status: task.status,
            reason: task.reason.clone().unwrap_or_default(),
            kept_count: task.attempts.iter().map(|it| it.kept_count).fold(0, u64::saturating_add),
        }
    }
}

/// A table with one line per task, the totals, and the reasons below.
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} {}: {}", self.plan, plain::line(&self.name), self.status)?;
        let width = self.tasks.iter().map(|it| it.name().chars().count()).max().unwrap_or(0);
        for task in &self.tasks {
            let name = task.name();
            write!(f, "  {name:<width$}  {:<11}", task.status)?;
            write!(
                f,
                "  {:>2} {:<8}",
                task.attempts_count,
                plural(task.attempts_count, "attempt")
            )?;
            write!(f, "  {:>8}", duration(task.took_ms))?;
            write!(f, "  {:>3} {:<5}", task.files_count, plural(task.files_count, "file"))?;
            writeln!(f, "  +{} -{}", task.insertions, task.deletions)?;
        }
        let all = &self.totals;
        write!(f, "  total: {} of {} completed", all.completed_count, all.tasks_count)?;
        write!(f, ", {}", counted(all.attempts_count, "attempt"))?;
        write!(f, ", {}", duration(all.took_ms))?;
        write!(f, ", {}", counted(all.files_count, "file"))?;
        writeln!(f, ", +{} -{}", all.insertions, all.deletions)?;
        if !self.queries.is_empty() {
            writeln!(f, "  {}", self.queries)?;
        }
        for task in &self.not_completed {
            write!(f, "  {} {} is {}", task.task, plain::line(&task.key), task.status)?;
            let colon = if task.reason.is_empty() { "" } else { ": " };
            writeln!(f, "{colon}{}", task.reason)?;
        }
        Ok(())
    }
}

impl TaskSummary {
    fn name(&self) -> String {
        format!("{} {}", self.task, plain::line(&self.key))
    }
}
