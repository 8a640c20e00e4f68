//! The settings themselves.

use super::{ModelPrices, ModelSettings, SandboxSettings};
use crate::{
    backend::{self, BackendSettings, CostTold},
    permissions::PermissionEntries,
    plan::PlanDefaults,
};
use pitcrew_model::{
    AgentRef, BACKEND_BUILTIN, Caps, History, HostPattern, QueryLimits, Reads, RepoPath, limits,
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
    "prices",
    "permissions",
    "egress_allow",
    "forward",
    "sandbox",
    "landing",
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
    /// What models cost whose agents do not tell it, by the name of the model or of the backend.
    pub prices: BTreeMap<String, ModelPrices>,
    /// What the user wants to be asked, or not; merged with the files by `Permissions`.
    pub permissions: PermissionEntries,
    /// What may be reached from a box, beyond what a worker needs anyway.
    pub egress_allow: Vec<HostPattern>,
    /// Ports of this machine's loopback that are reached from a box under the same number.
    pub forward: Vec<u16>,
    /// How programs are confined.
    pub sandbox: SandboxSettings,
    /// How landed work enters the history of the branch.
    pub history: History,
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
            prices: BTreeMap::new(),
            permissions: PermissionEntries::default(),
            egress_allow: Vec::new(),
            forward: Vec::new(),
            sandbox: SandboxSettings::default(),
            history: History::default(),
        }
    }
}

impl Settings {
    /// Whether it will be known what a backend's work costs: it tells that itself, or there is a price
    /// for the model, where that is known before its start, or for whatever it works with.
    pub fn cost_known(&self, backend: &str, model: Option<&str>) -> CostTold {
        let known = |it: bool| if it { CostTold::Told } else { CostTold::None };
        if backend == BACKEND_BUILTIN {
            let named =
                |it: &ModelSettings| model.map_or_else(|| it.clone(), |name| it.named(name));
            return known(self.model.as_ref().is_some_and(|it| named(it).prices.is_some()));
        }
        let settings = self.backends.get(backend);
        let model = model.or_else(|| settings?.model.as_deref());
        let is_priced = |it: &str| self.prices.contains_key(it);
        if is_priced(backend) || model.is_some_and(is_priced) {
            return CostTold::Told;
        }
        match settings.map(|it| it.cost).unwrap_or_default() {
            // The model that it will choose by itself may be one that has a price.
            CostTold::None if model.is_none() && !self.prices.is_empty() => CostTold::Partly,
            told @ (CostTold::Told | CostTold::Partly | CostTold::None) => told,
        }
    }

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
