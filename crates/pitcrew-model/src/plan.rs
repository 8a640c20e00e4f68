//! Plans and tasks as people write them.

use crate::{Backend, BuiltinOrder, Caps, Failure, Reads, RepoPath, limits};
use alloc::{string::String, vec::Vec};
use core::{fmt, str::FromStr};
use serde::{Deserialize, Serialize};

/// A validated plan, with names instead of ids.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanSpec {
    pub head: PlanHead,
    /// In the order of the file. `depends_on` names other tasks of the same plan.
    pub tasks: Vec<TaskSpec>,
}

/// Everything about a plan except its tasks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanHead {
    pub name: String,
    pub description: String,
    /// The branch or commit to start from and to land on; the current branch when absent.
    pub base: Option<String>,
    pub deploy: Deploy,
    pub overlap: Overlap,
    pub effort: Effort,
    /// Paths that every task may change and that do not count as overlap.
    pub shared: Vec<RepoPath>,
    /// Commands that prepare a fresh checkout.
    pub setup: Vec<String>,
    /// Files that `setup` depends on, for checkouts that are reused.
    pub setup_inputs: Vec<RepoPath>,
    /// The caps of all of its tasks together.
    #[serde(default, skip_serializing_if = "Caps::is_none")]
    pub caps: Caps,
    /// Paths that no task may change, whatever its region says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<RepoPath>,
    #[serde(default, skip_serializing_if = "Reads::is_guided")]
    pub reads: Reads,
    /// Uncommitted paths that are part of the base even if they look like secrets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub include: Vec<RepoPath>,
    /// How many of its workers may have a slot at the same time; absent: as many as there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agents_max: Option<u32>,
}

/// The settings that apply to every plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HouseRules {
    #[serde(default, skip_serializing_if = "Caps::is_none")]
    pub caps: Caps,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<RepoPath>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<RepoPath>,
    #[serde(default, skip_serializing_if = "Reads::is_guided")]
    pub reads: Reads,
}

impl HouseRules {
    pub fn are_none(&self) -> bool {
        *self == Self::default()
    }
}

/// One unit of work as a person describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskSpec {
    /// The name that people and other tasks use.
    pub key: String,
    pub work: TaskWork,
    /// Empty: the whole repository, not exclusive.
    pub region: Vec<RepoPath>,
    pub depends_on: Vec<String>,
    pub agent: AgentRef,
    /// Shell commands that must succeed on the merged tree.
    pub checks: Vec<String>,
    /// Files that the work must change.
    pub expected_files: Vec<RepoPath>,
    /// Acceptance criteria in words, for the agent and the reviewer.
    pub criteria: Vec<String>,
    pub attempts_max: u32,
    pub timeout_ms: u64,
    /// The caps of all of its attempts together.
    #[serde(default, skip_serializing_if = "Caps::is_none")]
    pub caps: Caps,
    /// The model. Absent: the default of the backend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// The work of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TaskWork {
    /// A prompt for an agent with a model.
    Prompt { prompt: String },
    /// Steps for the built-in agent.
    Script { prompt: String, script: String },
    /// A shell command. Exit code 0 completes the task.
    Command { prompt: String, command: String },
}

impl TaskWork {
    /// Returns whether the next attempt must not start from the work of this failure: a command
    /// does not know about its own unfinished work, and an interrupted script would start from its
    /// beginning.
    pub fn starts_over(&self, failure: &Failure) -> bool {
        match self {
            Self::Prompt { .. } => false,
            Self::Command { .. } => true,
            Self::Script { .. } => matches!(
                failure,
                Failure::Interrupted | Failure::AgentExited { .. } | Failure::Timeout { .. }
            ),
        }
    }

    /// Returns what the built-in agent executes instead of a prompt.
    pub fn order(&self) -> Option<BuiltinOrder> {
        match self {
            Self::Prompt { .. } => None,
            Self::Script { script, .. } => Some(BuiltinOrder::Script { script: script.clone() }),
            Self::Command { command, .. } => {
                Some(BuiltinOrder::Command { command: command.clone() })
            }
        }
    }

    pub fn prompt(&self) -> &str {
        match self {
            Self::Prompt { prompt }
            | Self::Script { prompt, .. }
            | Self::Command { prompt, .. } => prompt,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deploy {
    /// A task starts as soon as its dependencies are integrated and a slot is free.
    #[default]
    Auto,
    /// A task also waits for `pitcrew deploy`.
    Manual,
}

/// Whether tasks with overlapping regions may run at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overlap {
    #[default]
    Wait,
    Allow,
}

/// How much of the plan a prompt contains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// Only the task.
    Low,
    /// Also the purpose of the plan and the results of the dependencies.
    #[default]
    Medium,
    /// Also the other tasks of the plan and the files that the dependencies changed.
    High,
}

/// The built-in agent with a script, or with a model.
pub const BACKEND_BUILTIN: &str = "builtin";
/// The built-in agent with a shell command.
pub const BACKEND_COMMAND: &str = "command";

/// The agent of a task: `claude`, `claude:agent` (backend and agent) or `@architect` (an agent
/// definition).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AgentRef {
    pub backend: Option<String>,
    pub agent: Option<String>,
}

impl TaskSpec {
    /// Returns the backend whose model does the work. Scripts and commands need none.
    pub fn vendor(&self) -> Option<&str> {
        self.agent.vendor(&self.work)
    }

    /// Returns the backend to start; none if no agent is set.
    pub fn program(&self) -> Option<Backend> {
        Some(match (self.agent.backend.as_deref()?, &self.work) {
            (BACKEND_BUILTIN, TaskWork::Prompt { .. }) => Backend::Model,
            (BACKEND_BUILTIN | BACKEND_COMMAND, _) => Backend::Builtin,
            (name, _) => Backend::Program { name: name.into() },
        })
    }
}

impl AgentRef {
    /// Returns the backend whose model does such work.
    pub fn vendor(&self, work: &TaskWork) -> Option<&str> {
        let backend = self.backend.as_deref()?;
        let is_ours = matches!(backend, BACKEND_BUILTIN | BACKEND_COMMAND);
        match work {
            TaskWork::Script { .. } | TaskWork::Command { .. } if is_ours => None,
            TaskWork::Prompt { .. } | TaskWork::Script { .. } | TaskWork::Command { .. } => {
                Some(backend)
            }
        }
    }

    pub fn backend(name: &str) -> Self {
        Self { backend: Some(name.into()), agent: None }
    }
}

impl FromStr for AgentRef {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const SHAPE: &str = "write a backend such as `claude`, `backend:agent`, or `@agent`";
        let name = |it: &str| {
            let plain = |it: &u8| it.is_ascii_alphanumeric() || b"-_.".contains(it);
            let fits = !it.is_empty() && it.len() <= limits::NAME_BYTES_MAX;
            if fits && it.as_bytes().iter().all(plain) {
                Ok(Some(String::from(it)))
            } else {
                Err(SHAPE)
            }
        };
        if let Some(agent) = text.strip_prefix('@') {
            return Ok(Self { backend: None, agent: name(agent)? });
        }
        match text.split_once(':') {
            Some((backend, agent)) => Ok(Self { backend: name(backend)?, agent: name(agent)? }),
            None => Ok(Self { backend: name(text)?, agent: None }),
        }
    }
}

impl fmt::Display for AgentRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.backend, &self.agent) {
            (Some(backend), Some(agent)) => write!(f, "{backend}:{agent}"),
            (Some(backend), None) => f.write_str(backend),
            (None, Some(agent)) => write!(f, "@{agent}"),
            (None, None) => f.write_str("none"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    /// S1-015: an agent string carries the backend, or names a definition.
    #[test]
    fn an_agent_string_carries_the_backend() {
        for text in ["claude", "claude:agent", "@architect"] {
            assert_eq!(text.parse::<AgentRef>().expect(text).to_string(), text);
        }
        assert_eq!(
            "claude:agent".parse::<AgentRef>().expect("it").backend.as_deref(),
            Some("claude")
        );
        for wrong in ["", "@", "a:", ":b", "a b", "a/b"] {
            assert!(wrong.parse::<AgentRef>().is_err(), "{wrong}");
        }
    }
}
