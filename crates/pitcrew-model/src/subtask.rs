//! Sub-tasks: their delegation, workspace and result.
//!
//! A sub-task is a task with a parent. It has the same lifecycle, attempts, workers, usage and
//! failures as every task. This module contains the differences.

use crate::{AgentRef, AttemptId, Claim, Failure, Outcome, RepoPath, TaskId, TaskWork, limits};
use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};
use core::fmt;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// What makes a task a sub-task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delegation {
    /// The attempt that gets the result. When it ends, the sub-task ends too.
    pub parent: AttemptId,
    pub kind: SubtaskKind,
    /// 1 below a worker of a plan, 2 below that.
    pub depth: u32,
    pub workspace: WorkspaceMode,
    /// The paths that it may change. Empty: those of its parent.
    pub target_files: Vec<RepoPath>,
    /// Whether the parent waits for it in the same call.
    pub blocking: bool,
    pub expected_output: String,
    /// The first sub-task of the same call, if there are several.
    pub group: Option<u64>,
    /// The tag of its result in the parent's prompt depends on it. The sub-task never sees it.
    pub nonce: String,
    /// The worker's idempotency key of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubtaskKind {
    #[default]
    Delegate,
    Advisor,
    Route,
    Handoff,
    TeamMember,
    Review,
}

impl fmt::Display for SubtaskKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Delegate => "delegate",
            Self::Advisor => "advisor",
            Self::Route => "route",
            Self::Handoff => "handoff",
            Self::TeamMember => "team_member",
            Self::Review => "review",
        })
    }
}

/// The workspace mode of a sub-task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceMode {
    /// A copy of the parent's work, shared with other readers. Changes are discarded.
    #[default]
    ReadOnly,
    /// Its own copy of the parent's checkout. The parent pulls the changes.
    Isolated,
    /// The parent's checkout, on files that no other worker changes meanwhile.
    Shared,
}

/// The rights of an agent in its checkout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckoutRole {
    /// The only worker in its own checkout.
    #[default]
    Owner,
    /// A guest in its parent's checkout: it changes only its target files.
    Guest,
    /// A reader: it changes nothing.
    Reader,
}

impl CheckoutRole {
    pub fn is_owner(&self) -> bool {
        *self == Self::Owner
    }
}

impl WorkspaceMode {
    /// Returns whether it uses another attempt's checkout: no work is collected from there, and it
    /// is not removed.
    pub fn is_borrowed(self) -> bool {
        match self {
            Self::ReadOnly | Self::Shared => true,
            Self::Isolated => false,
        }
    }
}

impl fmt::Display for WorkspaceMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::ReadOnly => "read_only",
            Self::Isolated => "isolated",
            Self::Shared => "shared",
        })
    }
}

/// A sub-task as a worker requests it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubtaskSpec {
    #[serde(default)]
    pub kind: SubtaskKind,
    pub agent: AgentRef,
    pub work: TaskWork,
    #[serde(default)]
    pub expected_output: String,
    #[serde(default)]
    pub model: Option<String>,
    /// Absent: what the agent's definition says, else derived from the work.
    #[serde(default)]
    pub workspace: Option<WorkspaceMode>,
    #[serde(default)]
    pub target_files: Vec<RepoPath>,
    #[serde(default = "attempts_default")]
    pub attempts_max: u32,
    #[serde(default = "timeout_default")]
    pub timeout_ms: u64,
}

fn attempts_default() -> u32 {
    limits::ATTEMPTS_PER_SUBTASK_DEFAULT
}

fn timeout_default() -> u64 {
    limits::TASK_TIMEOUT_MS_DEFAULT
}

/// The output of a worker besides its summary.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskOutput {
    /// A file with the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<RepoPath>,
    /// JSON text, if a structured result was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<String>,
    /// Actions for which it lacked permission.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub permissions_requested: Vec<String>,
}

impl TaskOutput {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The result of a sub-task, as its parent gets it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubtaskResult {
    pub task: TaskId,
    pub status: Outcome,
    pub output: String,
    pub output_file: Option<RepoPath>,
    pub metadata: Option<String>,
    pub permissions_requested: Vec<String>,
    pub error: Option<String>,
    /// The number of files changed in its own checkout that its parent has not pulled.
    #[serde(default, skip_serializing_if = "is_none")]
    pub files_count: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_none(count: &u64) -> bool {
    *count == 0
}

impl SubtaskResult {
    /// Built from the report and the end of the last attempt, if there was one. A failed sub-task
    /// has no changes to pull.
    pub fn new(
        task: TaskId,
        status: Outcome,
        claim: Option<&(Claim, String)>,
        output: Option<&TaskOutput>,
        failure: Option<&Failure>,
        files_count: u64,
    ) -> Self {
        let is_kept = matches!(status, Outcome::Success | Outcome::Partial);
        let said = claim.map(|it| it.1.clone()).unwrap_or_default();
        let output = output.cloned().unwrap_or_default();
        Self {
            task,
            status,
            output: said,
            output_file: output.file,
            metadata: output.metadata,
            permissions_requested: output.permissions_requested,
            error: failure.map(ToString::to_string),
            files_count: if is_kept { files_count } else { 0 },
        }
    }

    /// Describes the changes; none if nothing was changed.
    pub fn changed(&self) -> Option<String> {
        match self.files_count {
            0 => None,
            1 => Some("1 file changed".into()),
            count => Some(format!("{count} files changed")),
        }
    }

    /// Returns whether the error already contains the summary of an agent that gave up.
    pub fn error_has_output(&self) -> bool {
        let said = self.output.trim();
        self.error.as_deref().is_some_and(|it| it.contains(said))
    }
}

/// Why a wait for sub-tasks ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AwaitEnd {
    AllEnded,
    /// The time is over. The sub-tasks continue.
    TimedOut,
    /// The turn of the call has ended.
    TurnOver,
    /// A sub-task requests something that its parent may decide.
    ChildAsks,
    /// Another worker asked it a question.
    Questioned,
    /// The worker made a new call.
    Replaced,
}

/// The name of a sub-task for people and agents: `subtask-41`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubtaskName(pub TaskId);

impl fmt::Display for SubtaskName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "subtask-{}", self.0.0)
    }
}

/// The name of a task for people and agents: `task-7`, or `subtask-41` for a sub-task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskName {
    pub task: TaskId,
    pub is_part: bool,
}

impl fmt::Display for TaskName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_part { SubtaskName(self.task).fmt(f) } else { self.task.fmt(f) }
    }
}

impl Serialize for TaskName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TaskName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let task = name.parse().map_err(D::Error::custom)?;
        Ok(Self { task, is_part: name.starts_with("subtask-") })
    }
}

/// Several sub-tasks as a list.
#[derive(Clone, Copy, Debug)]
pub struct SubtaskNames<'a>(pub &'a [TaskId]);

impl fmt::Display for SubtaskNames<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, task) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{}", SubtaskName(*task))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S1-036: a sub-task has a name of its own.
    #[test]
    fn both_names_of_a_subtask_are_parsed() {
        assert_eq!(SubtaskName(TaskId(41)).to_string(), "subtask-41");
        for name in ["subtask-41", "task-41"] {
            assert_eq!(name.parse(), Ok(TaskId(41)), "{name}");
        }
        for wrong in ["subtask-", "subtask-x", "sub-41", "subtask-+1", "subtasks-41"] {
            assert!(wrong.parse::<TaskId>().is_err(), "{wrong}");
        }
    }

    /// S4-036, S4-161: text, a file, structured data and the error.
    #[test]
    fn a_result_contains_all_outputs() {
        let claim = (Claim::Partial, String::from("half of it"));
        let output = TaskOutput {
            file: RepoPath::parse("docs/plan.md").ok(),
            metadata: Some("{\"n\":1}".into()),
            permissions_requested: alloc::vec!["network".into()],
        };
        let result = SubtaskResult::new(
            TaskId(4),
            Outcome::Timeout,
            Some(&claim),
            Some(&output),
            Some(&Failure::Timeout { after_ms: 5_000 }),
            3,
        );
        assert_eq!(result.output, "half of it");
        assert_eq!(result.output_file.expect("a file").as_str(), "docs/plan.md");
        assert_eq!(result.metadata.as_deref(), Some("{\"n\":1}"));
        assert_eq!(result.permissions_requested, ["network"]);
        assert!(result.error.expect("a reason").contains('5'), "it names the time");
        assert_eq!(result.files_count, 0, "nothing of it is kept");
    }
}
