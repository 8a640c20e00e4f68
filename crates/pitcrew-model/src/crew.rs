//! The crew: the agents that tasks can name, and the programs that run them.

use crate::{AgentRef, BACKEND_BUILTIN, BACKEND_COMMAND, TaskSpec, TaskWork, WorkspaceMode};
use alloc::{
    collections::{BTreeMap, BTreeSet},
    format,
    string::{String, ToString},
    sync::Arc,
    vec::Vec,
};
use core::fmt;
use serde::{Deserialize, Serialize};

/// Everything that decides who does a task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Crew {
    /// The agent of a task that names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_agent: Option<AgentRef>,
    pub backends: BTreeMap<String, BackendProfile>,
    pub agents: BTreeMap<String, Arc<AgentProfile>>,
    /// Agents that only the repository defines, in files that no person has trusted: name and file.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub untrusted: BTreeMap<String, String>,
}

/// A program that runs agents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackendProfile {
    pub title: String,
    pub readiness: Readiness,
}

/// Whether a backend can start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Readiness {
    Ready,
    /// It may still work: not every login can be seen from outside.
    NoLogin,
    /// It has no model, so it runs only scripts and commands.
    NoModel,
    /// It runs only commands.
    CommandsOnly,
    Missing {
        reason: String,
        help: String,
    },
}

/// An agent as its definition describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentProfile {
    pub name: String,
    pub description: String,
    /// The role prompt, which comes before the task.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub role: String,
    /// The backend to run it on. Absent: that of the default agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// Suitable models, best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
    /// Absent: everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<ToolSet>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub strengths: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weaknesses: Vec<String>,
    /// Where it works as a sub-task, unless the call says otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceMode>,
    /// Absent: as the permissions allow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub can_spawn_subtasks: Option<bool>,
    /// The greatest depth of sub-tasks below it. Absent: as the permissions allow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_subtask_depth: Option<u32>,
    /// The file that defines it, or `built in`.
    pub source: String,
}

/// What an agent may use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolSet {
    pub capabilities: BTreeSet<Capability>,
    /// Tools of the orchestrator, by name.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub names: BTreeSet<String>,
}

/// A group of tools that all vendors have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Capability {
    Read,
    Edit,
    Execute,
    Web,
    /// Creating sub-tasks.
    Delegate,
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Read => "read",
            Self::Edit => "edit",
            Self::Execute => "execute",
            Self::Web => "web",
            Self::Delegate => "agent",
        })
    }
}

impl AgentProfile {
    pub fn has(&self, capability: Capability) -> bool {
        self.tools.as_ref().is_none_or(|it| it.capabilities.contains(&capability))
    }

    /// Returns whether none of its tools can change a file.
    pub fn only_reads(&self) -> bool {
        !self.has(Capability::Edit) && !self.has(Capability::Execute)
    }

    pub fn may_spawn(&self) -> bool {
        self.can_spawn_subtasks.unwrap_or(true) && self.has(Capability::Delegate)
    }
}

/// Why no agent can do a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AgentProblem {
    #[error("has a prompt but no agent")]
    NoneNamed,
    #[error("names `{name}`, which is neither a backend nor an agent")]
    Unknown { name: String, known: Vec<String> },
    #[error(
        "names `{name}`, which `{file}` of the repository defines, and you have not trusted that file"
    )]
    Untrusted { name: String, file: String },
    #[error("names `@{agent}`, but no backend that runs it")]
    NoBackend { agent: String },
    #[error("needs `{backend}`, which is not installed: {reason}")]
    Missing { backend: String, reason: String, help: String, ready: Vec<String> },
    #[error("has a prompt for `{backend}`, but no model is set")]
    NoModel { backend: String, ready: Vec<String> },
    #[error("runs on `{backend}`, but has no command")]
    NoCommand { backend: String },
}

impl AgentProblem {
    /// Says what to do, to a caller without a plan file.
    pub fn remedy(&self) -> String {
        match self {
            Self::NoneNamed => "name an agent, or set a default agent in the settings".into(),
            Self::Unknown { known, .. } => format!("the agents are: {}", known.join(", ")),
            Self::Untrusted { .. } => "only a person can trust it".into(),
            Self::NoBackend { agent } => format!("write `backend:{agent}`"),
            Self::Missing { help, ready, .. } => {
                format!("{help}; ready agents: {}", ready.join(", "))
            }
            Self::NoModel { ready, .. } => format!(
                "send a `script`, or ask the person to configure a model; ready agents: {}",
                ready.join(", ")
            ),
            Self::NoCommand { .. } => "add one, or name an agent that works from a prompt".into(),
        }
    }
}

impl Crew {
    /// Completes the agent and the model of a task. `default_agent` comes before that of the crew.
    pub fn resolve_task(
        &self,
        task: &mut TaskSpec,
        default_agent: Option<&AgentRef>,
    ) -> Result<(), AgentProblem> {
        let (agent, model) =
            self.resolve(&task.agent, &task.work, task.model.as_deref(), default_agent)?;
        task.agent = agent;
        task.model = model;
        Ok(())
    }

    /// Returns the agent with its backend, and the model.
    pub fn resolve(
        &self,
        named: &AgentRef,
        work: &TaskWork,
        model: Option<&str>,
        default_agent: Option<&AgentRef>,
    ) -> Result<(AgentRef, Option<String>), AgentProblem> {
        let agent = complete(self, named, work, default_agent)?;
        check(self, agent.backend.as_deref().unwrap_or_default(), work)?;
        let profile = agent.agent.as_ref().and_then(|it| self.agents.get(it));
        let preferred = || profile.and_then(|it| it.models.first().cloned());
        let model = match work {
            TaskWork::Prompt { .. } => model.map(Into::into).or_else(preferred),
            TaskWork::Script { .. } | TaskWork::Command { .. } => model.map(Into::into),
        };
        Ok((agent, model))
    }
}

/// Returns the backend and the definition that a name means.
fn complete(
    crew: &Crew,
    named: &AgentRef,
    work: &TaskWork,
    default_agent: Option<&AgentRef>,
) -> Result<AgentRef, AgentProblem> {
    let own = match work {
        TaskWork::Prompt { .. } => None,
        TaskWork::Script { .. } => Some(BACKEND_BUILTIN),
        TaskWork::Command { .. } => Some(BACKEND_COMMAND),
    };
    let default = || match own {
        Some(backend) => Some(AgentRef::backend(backend)),
        None => default_agent.or(crew.default_agent.as_ref()).cloned(),
    };
    let unknown = |name: &str| unknown(crew, name);
    let (backend, agent) = match (&named.backend, &named.agent) {
        (None, None) => return default().ok_or(AgentProblem::NoneNamed),
        // `architect` alone is the agent of that name, unless a backend has the name.
        (Some(name), None) if crew.backends.contains_key(name) => return Ok(named.clone()),
        (Some(name), None) => (None, name),
        (Some(backend), Some(_)) if !crew.backends.contains_key(backend) => {
            return Err(unknown(backend));
        }
        (backend, Some(agent)) => (backend.clone(), agent),
    };
    // A backend may have agents of its own.
    let profile = crew.agents.get(agent);
    if backend.is_none() && profile.is_none() {
        return Err(unknown(agent));
    }
    let of_profile = || profile.and_then(|it| it.backend.clone());
    let backend = backend.or_else(of_profile).or_else(|| default()?.backend);
    let no_backend = || AgentProblem::NoBackend { agent: agent.clone() };
    Ok(AgentRef { backend: Some(backend.ok_or_else(no_backend)?), agent: Some(agent.clone()) })
}

/// Checks that the backend exists and can do such work.
fn check(crew: &Crew, backend: &str, work: &TaskWork) -> Result<(), AgentProblem> {
    let name = || backend.to_string();
    let Some(profile) = crew.backends.get(backend) else {
        return Err(unknown(crew, backend));
    };
    let is_prompt = matches!(work, TaskWork::Prompt { .. });
    let is_command = matches!(work, TaskWork::Command { .. });
    match &profile.readiness {
        Readiness::Missing { reason, help } => {
            let (reason, help) = (reason.clone(), help.clone());
            Err(AgentProblem::Missing { backend: name(), reason, help, ready: ready(crew) })
        }
        Readiness::NoModel if is_prompt => {
            Err(AgentProblem::NoModel { backend: name(), ready: ready(crew) })
        }
        Readiness::CommandsOnly if !is_command => Err(AgentProblem::NoCommand { backend: name() }),
        Readiness::Ready | Readiness::NoLogin | Readiness::NoModel | Readiness::CommandsOnly => {
            Ok(())
        }
    }
}

fn unknown(crew: &Crew, name: &str) -> AgentProblem {
    match crew.untrusted.get(name) {
        Some(file) => AgentProblem::Untrusted { name: name.into(), file: file.clone() },
        None => AgentProblem::Unknown { name: name.into(), known: names(crew) },
    }
}

fn names(crew: &Crew) -> Vec<String> {
    crew.backends.keys().chain(crew.agents.keys()).cloned().collect()
}

/// Returns the backends that can work from a prompt.
fn ready(crew: &Crew) -> Vec<String> {
    let ready = crew.backends.iter().filter(|it| it.1.readiness == Readiness::Ready);
    ready.map(|it| it.0.clone()).collect()
}
