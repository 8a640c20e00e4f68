//! The names of branches, refs and folders.

use pitcrew_model::{AttemptId, PlanId, SubtaskName, TaskId};

/// What names everything that belongs to one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptName {
    pub attempt: AttemptId,
    pub plan: PlanId,
    pub task: TaskId,
    /// The first attempt of a task is number 1.
    pub number: u32,
    /// A few plain letters that say what the task is.
    pub slug: String,
}

/// What a checkout is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Task,
    Subtask,
}

impl AttemptName {
    /// The branch that the worker is on, in its checkout.
    pub fn branch(&self, kind: Kind) -> String {
        format!(
            "pitcrew/{}/{}-{}/a{}",
            self.plan,
            known_as(kind, self.task),
            self.slug,
            self.number
        )
    }

    /// Where the work is in the vault once it came through the gate.
    pub fn work_ref(&self) -> String {
        format!("refs/pitcrew/plans/{}/{}-{}/a{}", self.plan, self.task, self.slug, self.number)
    }

    /// The folder of the checkout.
    pub(crate) fn folder(&self, kind: Kind) -> String {
        let first = folder(kind, self.task, &self.slug);
        match self.number {
            0 | 1 => first,
            number => format!("{first}-a{number}"),
        }
    }
}

/// The folder of the checkout of a first attempt.
pub(crate) fn folder(kind: Kind, task: TaskId, slug: &str) -> String {
    format!("{}-{slug}", known_as(kind, task))
}

/// As people and agents know it.
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

/// What a plan started from.
pub(crate) fn start_ref(plan: PlanId) -> String {
    format!("refs/pitcrew/plans/{plan}/start")
}

/// Keeps a commit of the user's repository that we need.
pub(crate) fn user_ref(plan: PlanId) -> String {
    format!("refs/pitcrew/user/{plan}")
}

/// Where the snapshots of an attempt are.
pub(crate) fn snapshot_refs(attempt: AttemptId) -> String {
    format!("refs/pitcrew/snapshots/{attempt}/")
}

/// A state of an attempt's checkout, kept while the attempt went on.
pub(crate) fn snapshot_ref(attempt: AttemptId, number: u32) -> String {
    format!("{}{number}", snapshot_refs(attempt))
}

/// The last saved state of an attempt's checkout.
pub(crate) fn saved_ref(attempt: AttemptId) -> String {
    format!("refs/pitcrew/saved/{attempt}")
}

/// Where the states of a checkout are that were there before something was pulled into it.
pub(crate) fn pull_refs(attempt: AttemptId) -> String {
    format!("refs/pitcrew/pulls/{attempt}/")
}
