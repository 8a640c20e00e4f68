//! What a task or a plan changed, and where.

use pitcrew_model::{AttemptId, CommitId, KeptKind, PlanId, TaskId, Timestamp};
use serde::{Deserialize, Serialize};

/// The answer to `GET /v1/tasks/{id}/diff`: what the newest attempt changed so far.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskDiff {
    pub task: TaskId,
    pub attempt: AttemptId,
    pub diff: Diff,
}

/// The answer to `GET /v1/plans/{id}/review`: what landing would bring.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanReview {
    pub plan: PlanId,
    /// Where it would land; absent on a detached HEAD.
    #[serde(default)]
    pub branch: Option<String>,
    /// From what the plan started from to its integration head.
    pub diff: Diff,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diff {
    pub from: CommitId,
    /// Absent: what is in the checkout now.
    #[serde(default)]
    pub to: Option<CommitId>,
    pub files_count: u64,
    pub insertions: u64,
    pub deletions: u64,
    /// The first of the changed files.
    pub files: Vec<FileStat>,
    /// In git's format; what is not UTF-8 is replaced.
    pub text: String,
    /// The text ends early: it was too long.
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

/// The answer to `GET /v1/tasks/{id}/snapshots`: what can be restored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskSnapshots {
    pub task: TaskId,
    pub snapshots: Vec<SnapshotRow>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotRow {
    /// 1 for the first of its task.
    pub number: u32,
    pub attempt: AttemptId,
    pub at: Timestamp,
    pub kind: KeptKind,
    pub commit: CommitId,
    /// Against what the task began from.
    pub files_count: u64,
    pub insertions: u64,
    pub deletions: u64,
}

/// The answer to `GET /v1/tasks/{id}/path`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskPath {
    pub task: TaskId,
    pub attempt: AttemptId,
    /// A clean copy of its work. Only people write there.
    pub path: String,
    /// An older copy, which a person has changed: it stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
}
