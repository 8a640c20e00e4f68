//! The settings themselves.

use crate::plan::PlanDefaults;
use pitcrew_model::{AgentRef, limits};
use std::{collections::BTreeMap, fmt, path::PathBuf};

/// The keys at the top of a settings file, in the order of the reference.
pub const SETTING_KEYS: &[&str] =
    &["max_agents", "max_live_agents", "agent", "worktrees", "task_timeout", "lease", "backends"];

/// The keys of a `[backends.NAME]`.
pub const BACKEND_KEYS: &[&str] = &["command", "env"];

/// How the well-known agents are started when the settings do not say.
pub(crate) const BACKENDS_DEFAULT: &[(&str, &[&str])] = &[
    ("claude", &["claude-agent-acp"]),
    ("codex", &["codex-acp"]),
    ("gemini", &["gemini", "--acp"]),
    ("goose", &["goose", "acp"]),
    ("opencode", &["opencode", "acp"]),
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Workers that may be starting or running at the same time.
    pub max_agents: u32,
    /// Agent processes alive at the same time, waiting ones included. Never less than `max_agents`.
    pub max_live_agents: u32,
    /// Who does a task that names nobody.
    pub agent: Option<AgentRef>,
    /// The folder of the checkouts; beside the repository when absent.
    pub worktrees: Option<PathBuf>,
    pub task_timeout_ms: u64,
    /// How long an agent is kept while no orchestrator is there.
    pub lease_ms: u64,
    pub backends: BTreeMap<String, BackendSettings>,
}

/// How the program of a backend is started.
#[derive(Clone, PartialEq, Eq)]
pub struct BackendSettings {
    /// The program and its arguments. Never empty.
    pub command: Vec<String>,
    pub env: BTreeMap<String, String>,
}

// The values of `env` may be keys to a paid service, and `Debug` ends up in logs.
impl fmt::Debug for BackendSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BackendSettings")
            .field("command", &self.command)
            .field("env", &self.env.keys())
            .finish()
    }
}

impl Default for Settings {
    fn default() -> Self {
        let backend = |(name, command): &(&str, &[&str])| {
            let command = command.iter().map(ToString::to_string).collect();
            (name.to_string(), BackendSettings { command, env: BTreeMap::new() })
        };
        Self {
            max_agents: limits::AGENTS_MAX_DEFAULT,
            max_live_agents: limits::AGENTS_LIVE_MAX_DEFAULT,
            agent: None,
            worktrees: None,
            task_timeout_ms: limits::TASK_TIMEOUT_MS_DEFAULT,
            lease_ms: limits::LEASE_MS_DEFAULT,
            backends: BACKENDS_DEFAULT.iter().map(backend).collect(),
        }
    }
}

impl Settings {
    /// What holds where a plan says nothing.
    pub fn plan_defaults(&self) -> PlanDefaults {
        PlanDefaults {
            agent: self.agent.clone(),
            attempts_max: limits::ATTEMPTS_PER_TASK_DEFAULT,
            timeout_ms: self.task_timeout_ms,
            backends: self.backends.keys().cloned().collect(),
        }
    }
}
