//! What a worker hands to others: sub-tasks, what they may do, and what comes back.
//!
//! A sub-task is a task with a parent. Its machine, attempts, workers, usage and failures are those
//! of every task; what is different is here.

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
    /// The attempt that wants the result. When it ends, so does the sub-task.
    pub parent: AttemptId,
    pub kind: SubtaskKind,
    /// 1 below a worker of a plan, 2 below that.
    pub depth: u32,
    pub workspace: Workspace,
    /// What it may change. Empty: what its parent may change.
    pub target_files: Vec<RepoPath>,
    /// Whether the parent asked to wait for it when it handed it out.
    pub blocking: bool,
    pub expected_output: String,
    /// The first of those that were handed out together.
    pub group: Option<u64>,
    /// The mark of its result in the parent's prompt depends on it, so that nobody can know that mark.
    pub nonce: String,
    /// The worker's own name for the call that handed it out.
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

/// Where a sub-task works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Workspace {
    /// In a state of its parent's work that it shares with others. What it writes there is lost.
    #[default]
    ReadOnly,
    /// In a checkout of its own that begins as its parent's. The parent pulls what it wants of it.
    Isolated,
    /// In its parent's checkout, on files that nobody else works on meanwhile.
    Shared,
}

/// What an agent may do with the checkout that it is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stay {
    /// It is its own, and nobody else is there.
    #[default]
    Owner,
    /// It is that of whoever asked it, who is there too: it changes what it was given.
    Guest,
    /// It changes nothing. Others may read there too.
    Reader,
}

impl Stay {
    pub fn is_owner(&self) -> bool {
        *self == Self::Owner
    }
}

impl Workspace {
    /// Whether it works in a checkout that is not its own: nothing is taken from there, and nobody
    /// removes it.
    pub fn is_borrowed(self) -> bool {
        match self {
            Self::ReadOnly | Self::Shared => true,
            Self::Isolated => false,
        }
    }
}

impl fmt::Display for Workspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::ReadOnly => "read_only",
            Self::Isolated => "isolated",
            Self::Shared => "shared",
        })
    }
}

/// What a worker asks for.
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
    #[serde(default)]
    pub workspace: Workspace,
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

/// What a worker hands in besides its summary.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskOutput {
    /// A file that holds the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<RepoPath>,
    /// JSON text, for whoever asked for a structured result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<String>,
    /// What it could not do for want of permission.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub permissions_requested: Vec<String>,
}

impl TaskOutput {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What a parent gets of a sub-task that has ended, whichever way it did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubtaskResult {
    pub task: TaskId,
    pub status: Outcome,
    pub output: String,
    pub output_file: Option<RepoPath>,
    pub metadata: Option<String>,
    pub permissions_requested: Vec<String>,
    pub error: Option<String>,
    /// Files that it changed in a checkout of its own, and that its parent has not taken over.
    #[serde(default, skip_serializing_if = "is_none")]
    pub files_count: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_none(count: &u64) -> bool {
    *count == 0
}

impl SubtaskResult {
    /// Of what its last attempt said and came to. One that never began was cancelled or failed before.
    /// Of what has failed nothing can be taken over, whatever it changed.
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

    /// How much it changed; nothing where it did not.
    pub fn changed(&self) -> Option<String> {
        match self.files_count {
            0 => None,
            1 => Some("1 file changed".into()),
            count => Some(format!("{count} files changed")),
        }
    }

    /// Whether the error says already what the sub-task said: why it gave up.
    pub fn is_told(&self) -> bool {
        let said = self.output.trim();
        self.error.as_deref().is_some_and(|it| it.contains(said))
    }
}

/// How a wait for sub-tasks came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AwaitEnd {
    AllEnded,
    /// What there is is told; the others go on.
    TimedOut,
    /// The turn in which it was asked is over, so nobody waits for the answer.
    TurnOver,
    /// One of them asks for something that its parent may decide.
    ChildAsks,
    /// Another worker asks it something, and waits for the answer.
    Questioned,
    /// The worker has called again: nobody waits for this answer any more.
    Replaced,
}

/// A sub-task as people and agents name it: `subtask-41`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubtaskName(pub TaskId);

impl fmt::Display for SubtaskName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "subtask-{}", self.0.0)
    }
}

/// A task as people and agents name it: `task-7`, or `subtask-41` where somebody handed it out.
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

/// Several of them, as a list in words.
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

    /// S1-036: people and agents know a sub-task by a name of its own.
    #[test]
    fn a_subtask_is_found_by_both_of_its_names() {
        assert_eq!(SubtaskName(TaskId(41)).to_string(), "subtask-41");
        for name in ["subtask-41", "task-41"] {
            assert_eq!(name.parse(), Ok(TaskId(41)), "{name}");
        }
        for wrong in ["subtask-", "subtask-x", "sub-41", "subtask-+1", "subtasks-41"] {
            assert!(wrong.parse::<TaskId>().is_err(), "{wrong}");
        }
    }

    /// S4-036, S4-161: text, a file, structured data, and why it did not work out.
    #[test]
    fn a_result_says_all_there_is() {
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
