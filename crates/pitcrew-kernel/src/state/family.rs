//! Parents and sub-tasks: the sub-tasks of an attempt, and which results it has received.

use super::{Attempt, State, Task};
use alloc::{
    collections::{BTreeSet, VecDeque},
    string::String,
    vec::Vec,
};
use pitcrew_model::{
    AttemptId, EffectId, Outcome, SubtaskResult, TaskId, TaskName, TaskStatus, Timestamp, WorkerId,
    WorkspaceMode,
};

/// The sub-tasks of an attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Family {
    /// In the order of their creation.
    pub children: Vec<TaskId>,
    /// Those that have not ended.
    pub open: BTreeSet<TaskId>,
    /// Those that have ended, whose results the parent has not received.
    pub unseen: BTreeSet<TaskId>,
    /// The number of those in an attempt.
    pub active_count: u32,
    /// How often the parent has retried one.
    pub retries_count: u32,
    /// When the last ones were created or retried, oldest first.
    pub spawned_at: VecDeque<Timestamp>,
    /// Sub-tasks that start from a snapshot of this attempt's checkout.
    pub waiters: Vec<TaskId>,
    /// The running pulls into the checkout of this attempt.
    pub pulls: BTreeSet<EffectId>,
}

/// An open call that waits for sub-tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    pub tasks: Vec<TaskId>,
    /// Those that have not ended.
    pub open: BTreeSet<TaskId>,
    pub until: Timestamp,
    pub call: Option<String>,
}

/// The state of the pull of a sub-task's changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pull {
    #[default]
    None,
    UnderWay(EffectId),
    Done,
}

/// The limits of sub-tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpawnLimits {
    pub total_max: u32,
    pub parallel_max: u32,
    pub per_minute_max: u32,
}

impl Task {
    pub fn name(&self) -> TaskName {
        TaskName { task: self.id, is_part: self.delegation.is_some() }
    }

    pub fn workspace(&self) -> Option<WorkspaceMode> {
        self.delegation.as_ref().map(|it| it.workspace)
    }

    /// Returns whether it works in another attempt's checkout.
    pub fn borrows(&self) -> bool {
        self.workspace().is_some_and(WorkspaceMode::is_borrowed)
    }

    /// Returns whether it works in its parent's checkout, at the same time.
    pub fn is_guest(&self) -> bool {
        self.workspace() == Some(WorkspaceMode::Shared)
    }
}

impl State {
    pub fn spawn_limits(&self) -> SpawnLimits {
        let limits = &self.matrix.limits;
        SpawnLimits {
            total_max: limits.subtasks_total,
            parallel_max: limits.subtasks_parallel,
            per_minute_max: limits.subtasks_per_minute,
        }
    }

    /// Returns the depth of the task below a worker of a plan or below an outside client.
    pub fn depth_of(&self, task: &Task) -> u32 {
        let above = u32::from(self.plans[task.plan].standalone.is_some());
        task.delegation.as_ref().map_or(above, |it| it.depth)
    }

    /// Returns the greatest depth below the task.
    pub fn depth_max(&self, task: &Task) -> u32 {
        let limits = &self.matrix.limits;
        let standalone = self.plans[task.plan].standalone.is_some();
        let max = if standalone { limits.subtask_depth_standalone } else { limits.subtask_depth };
        let of_definition =
            |it: &Task| Some(self.depth_of(it) + it.profile.as_ref()?.max_subtask_depth?);
        self.chain(task.id).filter_map(of_definition).fold(max, u32::min)
    }

    /// Returns whether the task may have sub-tasks.
    pub fn may_spawn(&self, task: &Task) -> bool {
        let is_allowed = task.profile.as_ref().is_none_or(|it| it.may_spawn());
        is_allowed && self.depth_of(task) < self.depth_max(task)
    }

    /// Returns the task that the worker works on.
    pub fn task_of(&self, worker: WorkerId) -> Option<TaskId> {
        Some(self.attempts.get(self.workers.get(worker)?.attempt)?.task)
    }

    /// Returns the attempt that created the task.
    pub fn parent_of(&self, task: &Task) -> Option<&Attempt> {
        task.delegation.as_ref().map(|it| &self.attempts[it.parent])
    }

    /// Returns the task and its ancestors, up to the task of the plan.
    pub fn chain(&self, task: TaskId) -> impl Iterator<Item = &Task> {
        let parent = |it: &&Task| self.parent_of(it).map(|it| &self.tasks[it.task]);
        core::iter::successors(Some(&self.tasks[task]), parent)
    }

    /// Returns the task and its open sub-tasks at any depth.
    pub fn parts(&self, task: TaskId) -> Vec<TaskId> {
        let mut parts = alloc::vec![task];
        let mut next = 0;
        while let Some(part) = parts.get(next) {
            let last = self.tasks[*part].last_attempt();
            parts.extend(last.into_iter().flat_map(|it| &self.attempts[it].family.open));
            next += 1;
        }
        parts
    }

    /// Returns whether its last attempt submitted changes.
    pub fn has_changed(&self, task: &Task) -> bool {
        let last = task.last_attempt().map(|it| &self.attempts[it]);
        last.is_some_and(|it| it.work.as_ref().is_some_and(|work| work.commit != it.base))
    }

    /// Returns the attempt that owns the checkout: itself, unless it shares that of its parent.
    pub fn checkout_owner(&self, attempt: AttemptId) -> AttemptId {
        let above = |it: &AttemptId| {
            let task = &self.tasks[self.attempts[*it].task];
            self.parent_of(task).filter(|_| task.is_guest()).map(|it| it.id)
        };
        core::iter::successors(Some(attempt), above).last().expect("an attempt works somewhere")
    }

    /// Returns the ancestor that lends its readers a copy: the next one with its own checkout, with
    /// which all copies are removed.
    pub fn lender(&self, attempt: AttemptId) -> AttemptId {
        let above = |it: &AttemptId| {
            let task = &self.tasks[self.attempts[*it].task];
            self.parent_of(task).filter(|_| task.borrows()).map(|it| it.id)
        };
        core::iter::successors(Some(attempt), above).last().expect("an attempt works somewhere")
    }

    /// Returns the tasks of a plan and their open sub-tasks.
    pub fn units(&self, plan: &super::Plan) -> Vec<TaskId> {
        plan.tasks.iter().chain(&plan.subtasks).copied().collect()
    }

    /// Returns the result of an ended sub-task. It can be read repeatedly.
    pub fn result_of(&self, task: TaskId) -> Option<SubtaskResult> {
        let task = self.tasks.get(task).filter(|it| it.status.has_ended())?;
        let last = task.last_attempt().map(|it| &self.attempts[it]);
        let status = match task.status {
            TaskStatus::Completed => Outcome::Success,
            TaskStatus::Partial => Outcome::Partial,
            TaskStatus::Cancelled => Outcome::Cancelled,
            TaskStatus::Failed => match last.and_then(|it| it.outcome) {
                Some(Outcome::Timeout) => Outcome::Timeout,
                Some(
                    Outcome::Success | Outcome::Partial | Outcome::Failed | Outcome::Cancelled,
                )
                | None => Outcome::Failed,
            },
            TaskStatus::Pending
            | TaskStatus::Queued
            | TaskStatus::Blocked
            | TaskStatus::Starting
            | TaskStatus::Running
            | TaskStatus::Verifying
            | TaskStatus::Integrating => return None,
        };
        let failure = task.failure.as_ref().or_else(|| last?.failure.as_ref());
        let claim = last.and_then(|it| it.claim.as_ref());
        let output = last.and_then(|it| it.output.as_ref());
        let work = last.and_then(|it| it.work.as_ref()).filter(|_| task.pull != Pull::Done);
        let files_count = work.map_or(0, |it| it.files_count);
        Some(SubtaskResult::new(task.id, status, claim, output, failure, files_count))
    }
}
