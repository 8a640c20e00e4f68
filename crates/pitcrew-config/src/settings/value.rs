//! The settings themselves.

use super::{ModelSettings, SandboxSettings};
use crate::{
    backend::{self, BackendSettings},
    permissions::PermissionEntries,
    plan::PlanDefaults,
};
use pitcrew_model::{
    AgentRef, BACKEND_BUILTIN, Caps, HostPattern, QueryLimits, Reads, RepoPath, limits,
};
use std::{collections::BTreeMap, path::PathBuf};

/// The keys at the top of a settings file, in the order of the reference.
pub const SETTING_KEYS: &[&str] = &[
    "max_agents",
    "max_live_agents",
    "agent",
    "worktrees",
    "task_timeout",
    "lease",
    "query_tokens",
    "query_plan_tokens",
    "query_deadline",
    "max_tokens",
    "max_cost",
    "denied",
    "reads",
    "backends",
    "model",
    "permissions",
    "egress_allow",
    "forward",
    "sandbox",
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
    /// What questions to the owners of code may cost, and how long they may take.
    pub queries: QueryLimits,
    /// What a plan may use that does not say.
    pub caps: Caps,
    /// What no task of any plan may change.
    pub denied: Vec<RepoPath>,
    /// What keeps workers from reading beyond their zones; a plan can only be stricter.
    pub reads: Reads,
    pub backends: BTreeMap<String, BackendSettings>,
    /// What the built-in agent works with where a task has words only.
    pub model: Option<ModelSettings>,
    /// What the user wants to be asked, or not; merged with the files by `Permissions`.
    pub permissions: PermissionEntries,
    /// What may be reached from a box, beyond what a worker needs anyway.
    pub egress_allow: Vec<HostPattern>,
    /// Ports of this machine's loopback that are reached from a box under the same number.
    pub forward: Vec<u16>,
    /// How programs are confined.
    pub sandbox: SandboxSettings,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_agents: limits::AGENTS_MAX_DEFAULT,
            max_live_agents: limits::AGENTS_LIVE_MAX_DEFAULT,
            agent: None,
            worktrees: None,
            task_timeout_ms: limits::TASK_TIMEOUT_MS_DEFAULT,
            lease_ms: limits::LEASE_MS_DEFAULT,
            queries: QueryLimits::default(),
            caps: Caps::NONE,
            denied: Vec::new(),
            reads: Reads::Guided,
            backends: backend::known(),
            model: None,
            permissions: PermissionEntries::default(),
            egress_allow: Vec::new(),
            forward: Vec::new(),
            sandbox: SandboxSettings::default(),
        }
    }
}

impl Settings {
    /// What holds where a plan says nothing.
    pub fn plan_defaults(&self) -> PlanDefaults {
        // Whoever sets a model wants it to be used.
        let own = || self.model.as_ref().map(|_| AgentRef::backend(BACKEND_BUILTIN));
        PlanDefaults {
            agent: self.agent.clone().or_else(own),
            attempts_max: limits::ATTEMPTS_PER_TASK_DEFAULT,
            timeout_ms: self.task_timeout_ms,
            caps: self.caps,
            denied: self.denied.clone(),
            reads: self.reads,
            backends: self.backends.keys().cloned().collect(),
            model: self.model.as_ref().map(ModelSettings::title),
            ..PlanDefaults::default()
        }
    }
}
