//! The changes of a task or a plan, and where they are.

use pitcrew_model::{AttemptId, CommitId, KeptKind, PlanId, TaskId, Timestamp};
use serde::{Deserialize, Serialize};

/// The answer to `GET /v1/tasks/{id}/diff`: the changes of the newest attempt so far.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskDiff {
    pub task: TaskId,
    pub attempt: AttemptId,
    pub diff: Diff,
}

/// The answer to `GET /v1/plans/{id}/review`: the changes that a landing would bring.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanReview {
    pub plan: PlanId,
    /// The target branch; absent on a detached HEAD.
    #[serde(default)]
    pub branch: Option<String>,
    /// From the start of the plan to its integration head.
    pub diff: Diff,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diff {
    pub from: CommitId,
    /// Absent: the current content of the checkout.
    #[serde(default)]
    pub to: Option<CommitId>,
    pub files_count: u64,
    pub insertions: u64,
    pub deletions: u64,
    /// The first of the changed files.
    pub files: Vec<FileStat>,
    /// In git's format; bytes that are not UTF-8 are replaced.
    pub text: String,
    /// The text was too long and is cut.
    pub truncated: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStat {
    pub path: String,
    /// git's letter: A, M, D, T.
    pub change: char,
    /// Absent for a binary file.
    #[serde(default)]
    pub insertions: Option<u64>,
    #[serde(default)]
    pub deletions: Option<u64>,
}

/// The answer to `GET /v1/tasks/{id}/snapshots`: the states that can be restored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskSnapshots {
    pub task: TaskId,
    pub snapshots: Vec<SnapshotRow>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotRow {
    /// 1 for the first state of a task.
    pub number: u32,
    pub attempt: AttemptId,
    pub at: Timestamp,
    pub kind: KeptKind,
    pub commit: CommitId,
    /// Compared with the start of the task.
    pub files_count: u64,
    pub insertions: u64,
    pub deletions: u64,
}

/// The answer to `GET /v1/tasks/{id}/path`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskPath {
    pub task: TaskId,
    pub attempt: AttemptId,
    /// A clean copy of the work. Only people write there.
    pub path: String,
    /// An older copy that a person has changed: it is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
}
