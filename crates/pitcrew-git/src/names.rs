//! Names of branches, refs and folders.

use pitcrew_model::{AttemptId, PlanId, SubtaskName, TaskId};

/// The parts of every name that belongs to an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptName {
    pub attempt: AttemptId,
    pub plan: PlanId,
    pub task: TaskId,
    /// The first attempt of a task has number 1.
    pub number: u32,
    /// A few plain letters that describe the task.
    pub slug: String,
}

/// The purpose of a checkout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Task,
    Subtask,
}

impl AttemptName {
    /// The branch of the worker in its checkout.
    pub fn branch(&self, kind: Kind) -> String {
        format!(
            "pitcrew/{}/{}-{}/a{}",
            self.plan,
            known_as(kind, self.task),
            self.slug,
            self.number
        )
    }

    /// The ref of the work in the vault after it has passed the gate.
    pub fn work_ref(&self) -> String {
        format!("refs/pitcrew/plans/{}/{}-{}/a{}", self.plan, self.task, self.slug, self.number)
    }

    /// The name of the checkout's folder.
    pub(crate) fn folder(&self, kind: Kind) -> String {
        let first = folder(kind, self.task, &self.slug);
        match self.number {
            0 | 1 => first,
            number => format!("{first}-a{number}"),
        }
    }
}

/// The name of the folder for a first attempt's checkout.
pub(crate) fn folder(kind: Kind, task: TaskId, slug: &str) -> String {
    format!("{}-{slug}", known_as(kind, task))
}

/// The name that people and agents see.
fn known_as(kind: Kind, task: TaskId) -> String {
    match kind {
        Kind::Task => task.to_string(),
        Kind::Subtask => SubtaskName(task).to_string(),
    }
}

/// The integration branch of a plan.
pub(crate) fn head_ref(plan: PlanId) -> String {
    format!("refs/pitcrew/plans/{plan}/head")
}

/// All integration branches, and all commits that plans started from.
pub(crate) const PLAN_REFS: [&str; 2] = ["refs/pitcrew/plans/*/head", "refs/pitcrew/plans/*/start"];

/// The ref of the commit that a plan started from.
pub(crate) fn start_ref(plan: PlanId) -> String {
    format!("refs/pitcrew/plans/{plan}/start")
}

/// The ref that keeps a commit of the user's repository that the plan needs.
pub(crate) fn user_ref(plan: PlanId) -> String {
    format!("refs/pitcrew/user/{plan}")
}

/// The prefix of the refs of an attempt's snapshots.
pub(crate) fn snapshot_refs(attempt: AttemptId) -> String {
    format!("refs/pitcrew/snapshots/{attempt}/")
}

/// A snapshot of an attempt's checkout, taken while the attempt was running.
pub(crate) fn snapshot_ref(attempt: AttemptId, number: u32) -> String {
    format!("{}{number}", snapshot_refs(attempt))
}

/// The last saved state of an attempt's checkout.
pub(crate) fn saved_ref(attempt: AttemptId) -> String {
    format!("refs/pitcrew/saved/{attempt}")
}

/// The prefix of the refs of a checkout's states before something was pulled into it.
pub(crate) fn pull_refs(attempt: AttemptId) -> String {
    format!("refs/pitcrew/pulls/{attempt}/")
}
