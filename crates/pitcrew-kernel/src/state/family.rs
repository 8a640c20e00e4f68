//! Who works for whom: the sub-tasks of an attempt, and what of them it has heard.

use super::{Attempt, State, Task};
use alloc::{
    collections::{BTreeSet, VecDeque},
    string::String,
    vec::Vec,
};
use pitcrew_model::{
    AttemptId, EffectId, Outcome, SubtaskResult, TaskId, TaskName, TaskStatus, Timestamp, Workspace,
};

/// What an attempt has handed out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Family {
    /// In the order in which they were handed out.
    pub children: Vec<TaskId>,
    /// Those that have not ended.
    pub open: BTreeSet<TaskId>,
    /// Those that have ended, and whose parent was not told.
    pub unseen: BTreeSet<TaskId>,
    /// How many of them are in an attempt.
    pub active_count: u32,
    /// How often their parent had one of them tried again.
    pub retries_count: u32,
    /// When the last of them were handed out or tried again, oldest first.
    pub spawned_at: VecDeque<Timestamp>,
    /// Sub-tasks that begin where the checkout of this attempt stands, once that is kept.
    pub waiters: Vec<TaskId>,
    /// What is being brought into the checkout of this attempt.
    pub pulls: BTreeSet<EffectId>,
}

/// A call of a worker's that stays open until others have ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    pub tasks: Vec<TaskId>,
    /// Those of them that have not ended.
    pub open: BTreeSet<TaskId>,
    pub until: Timestamp,
    pub call: Option<String>,
}

/// Where the pulling of a sub-task's changes stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pull {
    #[default]
    None,
    UnderWay(EffectId),
    Done,
}

/// How much may be handed out.
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

    pub fn workspace(&self) -> Option<Workspace> {
        self.delegation.as_ref().map(|it| it.workspace)
    }

    /// It works in a checkout that is not its own.
    pub fn borrows(&self) -> bool {
        self.workspace().is_some_and(Workspace::is_borrowed)
    }

    /// It works in its parent's, beside it.
    pub fn is_guest(&self) -> bool {
        self.workspace() == Some(Workspace::Shared)
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

    /// How far the task is below a worker of a plan, or below an agent that works for none.
    pub fn depth_of(&self, task: &Task) -> u32 {
        let above = u32::from(self.plans[task.plan].standalone.is_some());
        task.delegation.as_ref().map_or(above, |it| it.depth)
    }

    /// How deep what is below it may be.
    pub fn depth_max(&self, task: &Task) -> u32 {
        let limits = &self.matrix.limits;
        let standalone = self.plans[task.plan].standalone.is_some();
        if standalone { limits.subtask_depth_standalone } else { limits.subtask_depth }
    }

    /// Whether there is depth left below it.
    pub fn may_spawn(&self, task: &Task) -> bool {
        self.depth_of(task) < self.depth_max(task)
    }

    /// The attempt that handed the task out.
    pub fn parent_of(&self, task: &Task) -> Option<&Attempt> {
        task.delegation.as_ref().map(|it| &self.attempts[it.parent])
    }

    /// The task, and those that it is a part of, up to the plan's own.
    pub fn chain(&self, task: TaskId) -> impl Iterator<Item = &Task> {
        let parent = |it: &&Task| self.parent_of(it).map(|it| &self.tasks[it.task]);
        core::iter::successors(Some(&self.tasks[task]), parent)
    }

    /// The task, and the sub-tasks of it that have not ended, however deep.
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

    /// Whether its last attempt handed in anything new.
    pub fn has_changed(&self, task: &Task) -> bool {
        let last = task.last_attempt().map(|it| &self.attempts[it]);
        last.is_some_and(|it| it.work.as_ref().is_some_and(|work| work.commit != it.base))
    }

    /// Whose checkout the attempt works in: its own, unless it shares that of its parent.
    pub fn checkout_owner(&self, attempt: AttemptId) -> AttemptId {
        let above = |it: &AttemptId| {
            let task = &self.tasks[self.attempts[*it].task];
            self.parent_of(task).filter(|_| task.is_guest()).map(|it| it.id)
        };
        core::iter::successors(Some(attempt), above).last().expect("an attempt works somewhere")
    }

    /// Whose checkout lends others for reading: the next one above that has one of its own, which is
    /// removed at the end, and all that it lent with it.
    pub fn lender(&self, attempt: AttemptId) -> AttemptId {
        let above = |it: &AttemptId| {
            let task = &self.tasks[self.attempts[*it].task];
            self.parent_of(task).filter(|_| task.borrows()).map(|it| it.id)
        };
        core::iter::successors(Some(attempt), above).last().expect("an attempt works somewhere")
    }

    /// The tasks of a plan and the sub-tasks of it that have not ended.
    pub fn units(&self, plan: &super::Plan) -> Vec<TaskId> {
        plan.tasks.iter().chain(&plan.subtasks).copied().collect()
    }

    /// What the parent gets of a sub-task that has ended. It can be asked for again and again.
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
