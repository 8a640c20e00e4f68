//! The settings.

use super::{ModelPrices, ModelSettings, NotifySettings, SandboxSettings};
use crate::{
    backend::{self, BackendSettings, CostReporting},
    permissions::PermissionEntries,
    plan::PlanDefaults,
};
use pitcrew_model::{
    AgentRef, BACKEND_BUILTIN, Caps, History, HostPattern, QueryLimits, Reads, RepoPath, Sign,
    limits,
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
    "notify",
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Workers that may start or run at the same time.
    pub max_agents: u32,
    /// Agent processes alive at the same time, including waiting ones. Never less than
    /// `max_agents`.
    pub max_live_agents: u32,
    /// The agent of a task that names none.
    pub agent: Option<AgentRef>,
    /// The folder of the checkouts. If absent, they are beside the repository.
    pub worktrees: Option<PathBuf>,
    pub task_timeout_ms: u64,
    /// How long agents keep running without an orchestrator.
    pub lease_ms: u64,
    /// The cost and time limits of questions to code owners.
    pub queries: QueryLimits,
    /// The spending caps of a plan that sets none.
    pub caps: Caps,
    /// The paths that no task of any plan may change.
    pub denied: Vec<RepoPath>,
    /// Whether workers may read outside their zones; a plan can only be stricter.
    pub reads: Reads,
    pub backends: BTreeMap<String, BackendSettings>,
    /// The model that the built-in agent uses for prompts.
    pub model: Option<ModelSettings>,
    /// Model prices for agents that do not report cost, by model or backend name.
    pub prices: BTreeMap<String, ModelPrices>,
    /// The user's permission rules; `Permissions` merges them with the files.
    pub permissions: PermissionEntries,
    /// Hosts that a sandbox may reach in addition to what every worker needs.
    pub egress_allow: Vec<HostPattern>,
    /// Loopback ports of this machine that a sandbox reaches under the same number.
    pub forward: Vec<u16>,
    /// The sandbox limits.
    pub sandbox: SandboxSettings,
    /// How landed work enters the history of the branch.
    pub history: History,
    /// Who signs landed commits, if the git settings require signatures.
    pub sign: Sign,
    /// How the person is notified.
    pub notify: NotifySettings,
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
            sign: Sign::default(),
            notify: NotifySettings::default(),
        }
    }
}

impl Settings {
    /// Whether the cost of a backend's work will be known: the backend reports it, or there is a
    /// price for the backend or for the model, if that is known before the start.
    pub fn cost_known(&self, backend: &str, model: Option<&str>) -> CostReporting {
        let known = |it: bool| if it { CostReporting::Full } else { CostReporting::None };
        if backend == BACKEND_BUILTIN {
            let named =
                |it: &ModelSettings| model.map_or_else(|| it.clone(), |name| it.named(name));
            return known(self.model.as_ref().is_some_and(|it| named(it).prices.is_some()));
        }
        let settings = self.backends.get(backend);
        let model = model.or_else(|| settings?.model.as_deref());
        let is_priced = |it: &str| self.prices.contains_key(it);
        if is_priced(backend) || model.is_some_and(is_priced) {
            return CostReporting::Full;
        }
        match settings.map(|it| it.cost).unwrap_or_default() {
            // The agent may choose a model that has a price.
            CostReporting::None if model.is_none() && !self.prices.is_empty() => {
                CostReporting::Partly
            }
            reported @ (CostReporting::Full | CostReporting::Partly | CostReporting::None) => {
                reported
            }
        }
    }

    /// The agent of tasks that name none. A configured model is meant to be used.
    pub fn default_agent(&self) -> Option<AgentRef> {
        let own = || self.model.as_ref().map(|_| AgentRef::backend(BACKEND_BUILTIN));
        self.agent.clone().or_else(own)
    }

    /// The defaults for plans.
    pub fn plan_defaults(&self) -> PlanDefaults {
        PlanDefaults {
            attempts_max: limits::ATTEMPTS_PER_TASK_DEFAULT,
            timeout_ms: self.task_timeout_ms,
            caps: self.caps,
            denied: self.denied.clone(),
            reads: self.reads,
            backends: self.backends.keys().cloned().collect(),
            ..PlanDefaults::default()
        }
    }
}
