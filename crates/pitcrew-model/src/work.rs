//! Results of git steps and usage of models, as drivers report them.

use crate::{CommitId, TaskId};
use alloc::{string::String, vec::Vec};
use serde::{Deserialize, Serialize};

/// The start of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanBase {
    /// The branch to land on; absent on a detached HEAD.
    pub branch: Option<String>,
    /// The commit that the user had checked out.
    pub tip: CommitId,
    /// Where the tasks start: the tip, or a snapshot of the uncommitted work on top of it.
    pub start: CommitId,
    /// Uncommitted paths in the snapshot; 0 if the tree was clean.
    pub dirty_count: u64,
    /// Notes for a person: a shallow source, omitted submodules.
    pub notes: Vec<String>,
    #[serde(default, skip_serializing_if = "LeftBehind::is_none")]
    pub left_behind: LeftBehind,
}

/// Uncommitted files that are not in the snapshot, because they look like secrets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftBehind {
    /// The first of them.
    pub files: Vec<SecretFile>,
    pub count: u64,
}

impl LeftBehind {
    pub fn is_none(&self) -> bool {
        self.count == 0
    }
}

/// A file that looks like a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretFile {
    pub path: String,
    /// What looks like a secret: `its name`, `a private key`.
    pub sign: String,
}

/// The work of an attempt that passed the gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// Equal to the start of the attempt if nothing was changed.
    pub commit: CommitId,
    pub files_count: u64,
    pub insertions: u64,
    pub deletions: u64,
    /// The first of the changed files.
    pub files: Vec<FileChange>,
}

/// The state of a checkout during an attempt. It did not pass the gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    pub commit: CommitId,
    /// Against the base of its attempt.
    pub files_count: u64,
    pub insertions: u64,
    pub deletions: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    pub path: String,
    /// git's letter: A, M, D, T.
    pub change: char,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckResult {
    pub command: String,
    /// Absent if it was killed at its timeout.
    pub code: Option<i32>,
    pub output: String,
    pub took_ms: u64,
}

impl CheckResult {
    pub fn passed(&self) -> bool {
        self.code == Some(0)
    }
}

/// How landed work enters the history of the branch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum History {
    /// One commit for each completed task, below one merge commit.
    #[default]
    Merge,
    /// One commit with everything.
    Squash,
    /// One commit for each completed task on top of the branch, without a merge commit.
    Linear,
}

impl History {
    pub const ALL: [(&'static str, Self); 3] =
        [("merge", Self::Merge), ("squash", Self::Squash), ("linear", Self::Linear)];

    pub fn is_merge(&self) -> bool {
        *self == Self::Merge
    }
}

/// Who signs the commits of a landing if the user's git settings require signatures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sign {
    /// The person, in the terminal of `pitcrew land`. The landing waits for that.
    #[default]
    Terminal,
    /// The commits are not signed.
    Never,
}

impl Sign {
    pub const ALL: [(&'static str, Self); 2] =
        [("terminal", Self::Terminal), ("never", Self::Never)];

    pub fn is_terminal(&self) -> bool {
        *self == Self::Terminal
    }
}

/// Whether a landing runs the git hooks of the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hooks {
    #[default]
    Run,
    Skip,
}

impl Hooks {
    pub fn are_run(&self) -> bool {
        *self == Self::Run
    }
}

/// Commits that wait for the signature of a person. They are in the user's repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unsigned {
    /// The last of them.
    pub commit: CommitId,
    /// The commits that they are on top of, which are not signed again.
    pub below: Vec<CommitId>,
    pub commits_count: u64,
}

/// How a landing was undone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undo {
    pub branch: String,
    /// The commit of the branch now.
    pub commit: CommitId,
    pub by: UndoneBy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UndoneBy {
    /// The branch is where it was before the landing.
    Restore,
    /// A commit reverts the landing, because a remote repository has it.
    RevertOfPushed,
    /// A commit reverts the landing, because the branch has later commits.
    RevertBelowOthers,
}

/// A completed task, as its commit in the history describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LandedTask {
    pub task: TaskId,
    pub key: String,
    pub summary: String,
    /// The agent that did the work; absent for scripts and commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The integration head before and after the task.
    pub onto: CommitId,
    pub merged: CommitId,
}

/// The landed work of a plan in the user's repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Landing {
    pub commit: CommitId,
    pub at: LandedAt,
    pub files_count: u64,
    pub insertions: u64,
    pub deletions: u64,
    /// New commits on the branch.
    #[serde(default)]
    pub commits_count: u64,
    /// The commit that the branch was at before. Absent in journals of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<CommitId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum LandedAt {
    /// The base branch was moved there by fast-forward.
    Base { branch: String },
    /// The base branch was not moved. The merge is on a branch of its own.
    Side { branch: String, reason: String },
}

/// Tokens and cost of model calls. Integers, because sums must be exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    pub tokens_in: u64,
    pub tokens_out: u64,
    pub tokens_cached: u64,
    /// Millionths of a US dollar.
    pub cost_micros: u64,
}

impl Usage {
    pub const NONE: Self = Self { tokens_in: 0, tokens_out: 0, tokens_cached: 0, cost_micros: 0 };

    /// Returns what counts against a cap. Tokens read from a cache do not count.
    pub fn of(&self, measure: crate::Measure) -> u64 {
        match measure {
            crate::Measure::Tokens => self.tokens_in.saturating_add(self.tokens_out),
            crate::Measure::Cost => self.cost_micros,
        }
    }

    /// Returns the sum after one of its parts has grown from `before` to `now`.
    #[must_use]
    pub fn grown(self, before: Self, now: Self) -> Self {
        let grown =
            |sum: u64, before: u64, now: u64| sum.saturating_add(now.saturating_sub(before));
        Self {
            tokens_in: grown(self.tokens_in, before.tokens_in, now.tokens_in),
            tokens_out: grown(self.tokens_out, before.tokens_out, now.tokens_out),
            tokens_cached: grown(self.tokens_cached, before.tokens_cached, now.tokens_cached),
            cost_micros: grown(self.cost_micros, before.cost_micros, now.cost_micros),
        }
    }

    /// Returns the difference, at least zero.
    #[must_use]
    pub fn without(self, others: Self) -> Self {
        Self {
            tokens_in: self.tokens_in.saturating_sub(others.tokens_in),
            tokens_out: self.tokens_out.saturating_sub(others.tokens_out),
            tokens_cached: self.tokens_cached.saturating_sub(others.tokens_cached),
            cost_micros: self.cost_micros.saturating_sub(others.cost_micros),
        }
    }

    /// Returns the larger of each part. Reported usage never shrinks.
    #[must_use]
    pub fn at_least(self, other: Self) -> Self {
        Self {
            tokens_in: self.tokens_in.max(other.tokens_in),
            tokens_out: self.tokens_out.max(other.tokens_out),
            tokens_cached: self.tokens_cached.max(other.tokens_cached),
            cost_micros: self.cost_micros.max(other.cost_micros),
        }
    }

    /// Returns the sum. It saturates, because agents may report huge numbers.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            tokens_in: self.tokens_in.saturating_add(other.tokens_in),
            tokens_out: self.tokens_out.saturating_add(other.tokens_out),
            tokens_cached: self.tokens_cached.saturating_add(other.tokens_cached),
            cost_micros: self.cost_micros.saturating_add(other.cost_micros),
        }
    }
}
