//! Builds the start parameters of an agent.

use super::{HttpTools, WorkerSockets};
use crate::{
    Tokens,
    confinement::{self, AgentAccess, WriteScope},
    network::{Caches, Lookup, Needs},
};
use pitcrew_acp::{Launch, McpServer, Profile};
use pitcrew_config::{
    BACKEND_BUILTIN, BackendSettings, ModelPrices, ModelSettings, WorkspaceDirs, user_environment,
};
use pitcrew_git::Vault;
use pitcrew_kernel::WorkerAccess;
use pitcrew_model::{AttemptId, Backend, CheckoutRole, EffectId, Failure, limits};
use pitcrew_process::{Policy, ShimSpec, Tier, agent_environment, find_program};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

type Variables = Vec<(String, String)>;

pub struct AgentSetup {
    /// Our own executable: shim, built-in agent and MCP bridge.
    pub program: PathBuf,
    pub dirs: WorkspaceDirs,
    pub tokens: Tokens,
    pub backends: BTreeMap<String, BackendSettings>,
    /// The model that the built-in agent uses for prompts.
    pub model: Option<ModelSettings>,
    /// Model prices for agents that do not report cost.
    pub prices: BTreeMap<String, ModelPrices>,
    /// How long an agent keeps running without an orchestrator.
    pub lease_ms: u64,
    /// The policy of every program.
    pub policy: Policy,
    /// The tools over HTTP, if there is a server.
    pub http: HttpTools,
    /// The sockets for the workers' tool calls.
    pub sockets: WorkerSockets,
    /// The network destinations that sandboxed programs may reach.
    pub network: Lookup,
    /// The user's repository, whose ignore file lists build outputs.
    pub root: PathBuf,
    /// Knows from which store a checkout borrows. Absent if there are no checkouts.
    pub vault: Option<Arc<Vault>>,
}

/// The agent of a task and its model, which defaults to the one in the settings.
pub struct SpawnRequest {
    pub backend: Backend,
    pub model: Option<String>,
    pub reach: WorkerAccess,
    /// Paths of the checkout that its sandbox hides.
    pub unseen: Vec<String>,
}

/// The resources of an agent that exist before its start.
#[derive(Default)]
pub struct AgentResources {
    pub env: Variables,
    /// Additional readable paths.
    pub read: Vec<PathBuf>,
}

impl AgentSetup {
    pub fn launch(
        &self,
        effect: EffectId,
        attempt: AttemptId,
        wanted: &SpawnRequest,
        path: &Path,
        given: AgentResources,
    ) -> Result<Launch, Failure> {
        let (argv, mut extra) = self.command(wanted)?;
        extra.extend(given.env);
        let tool_env = self.tool_environment(attempt);
        extra.extend(tool_env.clone());
        let policy = self.policy_of(attempt, wanted, &argv, path, given.read);
        let shim = ShimSpec {
            dir: self.dirs.attempt(attempt),
            socket: self.dirs.attempt_socket(attempt),
            argv,
            cwd: path.to_owned(),
            env: self.with_our_program(agent_environment(&extra)),
            lease_ms: self.lease_ms,
            policy,
        };
        Ok(Launch {
            shim,
            program: self.program.clone(),
            cwd: path.to_owned(),
            profile: match &wanted.backend {
                Backend::Builtin | Backend::Model => Profile::default(),
                Backend::Program { name } => {
                    let known = self.profile(name);
                    Profile { model: wanted.model.clone().or(known.model), ..known }
                }
            },
            mcp: McpServer {
                name: "pitcrew".into(),
                command: self.program.clone(),
                args: vec!["mcp".into()],
                env: tool_env,
                http: None,
            },
            reach: None,
            effect,
            timeout: Duration::from_millis(limits::INITIALIZE_TIMEOUT_MS),
        })
    }

    /// The sandbox policy of an attempt's agent.
    fn policy_of(
        &self,
        attempt: AttemptId,
        wanted: &SpawnRequest,
        argv: &[String],
        checkout: &Path,
        mut read: Vec<PathBuf>,
    ) -> Policy {
        let user = user_environment();
        read.push(self.dirs.worker_socket_dir(attempt));
        read.extend(self.vault.iter().flat_map(|it| it.shared_folders(checkout)));
        match &wanted.backend {
            Backend::Builtin => {}
            Backend::Model => read.extend(self.model.as_ref().and_then(|it| it.key_file.clone())),
            Backend::Program { name } => {
                // An agent whose state cannot be moved uses its login in the user's home.
                let kept = self.backends.get(name).filter(|it| it.state_env.is_empty());
                let places = |it: &BackendSettings| {
                    [it.login_places(&user), it.state_places(&user)].concat()
                };
                read.extend(kept.into_iter().flat_map(places).map(|it| it.source));
            }
        }
        // An agent's own sandbox does not work inside a stricter one or without a box. In these
        // cases ours applies.
        let holds_itself = self.policy.tier == Tier::T3 && self.has_own_sandbox(&wanted.backend);
        let WorkerAccess { zone, sees, stay } = &wanted.reach;
        let hold = match stay {
            _ if holds_itself => WriteScope::Itself,
            CheckoutRole::Owner if sees.is_empty() => WriteScope::Zone(zone),
            CheckoutRole::Owner => WriteScope::Nothing,
            CheckoutRole::Guest => WriteScope::Lease(&zone.region),
            CheckoutRole::Reader => WriteScope::Lease(&[]),
        };
        let own = AgentAccess {
            checkout,
            argv,
            home: self.dirs.home(attempt),
            read,
            hold,
            root: &self.root,
            unseen: &wanted.unseen,
        };
        let policy = confinement::of_agent(&self.policy, own, &user);
        if policy.tier == Tier::T1 {
            return policy;
        }
        let model = match &wanted.backend {
            Backend::Model => self.model.as_ref(),
            Backend::Builtin | Backend::Program { .. } => None,
        };
        let needs = Needs { backend: self.of(&wanted.backend).map(|it| it.1), model };
        self.network.get().applied(&policy, needs, Caches::Agents, &self.dirs.attempt(attempt))
    }

    /// Whether an agent runs its commands in its own sandbox.
    fn has_own_sandbox(&self, backend: &Backend) -> bool {
        self.of(backend).is_some_and(|it| it.1.own_sandbox.is_some())
    }

    /// The settings and the name of a backend that is a program.
    pub fn of<'a>(&'a self, backend: &'a Backend) -> Option<(&'a str, &'a BackendSettings)> {
        match backend {
            Backend::Builtin | Backend::Model => None,
            Backend::Program { name } => Some((name, self.backends.get(name)?)),
        }
    }

    /// The program with its arguments, and the variables of its settings.
    fn command(&self, wanted: &SpawnRequest) -> Result<(Vec<String>, Variables), Failure> {
        match &wanted.backend {
            Backend::Builtin => {
                let words = [&*self.program.display().to_string(), "agent", "--orders"];
                Ok((words.map(str::to_owned).into(), Vec::new()))
            }
            Backend::Model => {
                let Some(model) = &self.model else {
                    return Err(Failure::AgentMissing {
                        program: BACKEND_BUILTIN.into(),
                        message: NO_MODEL.into(),
                    });
                };
                let words = [&*self.program.display().to_string(), "agent"];
                let named = wanted.model.as_ref().map(|it| model.named(it));
                let model = named.as_ref().unwrap_or(model);
                Ok((words.map(str::to_owned).into(), model_environment(model)))
            }
            Backend::Program { name } => match self.backends.get(name) {
                Some(backend) => Ok(agent_command(backend)),
                None => Err(Failure::AgentMissing {
                    program: name.clone(),
                    message: format!(
                        "no backend with this name is configured; add `[backends.{name}]` with a `command` to your settings"
                    ),
                }),
            },
        }
    }

    /// The variables with the address and the token for tool calls.
    fn tool_environment(&self, attempt: AttemptId) -> Vec<(String, String)> {
        vec![
            ("PITCREW_SOCKET".into(), self.dirs.worker_socket(attempt).display().to_string()),
            ("PITCREW_TOKEN".into(), self.tokens.worker(attempt)),
            ("PITCREW_TOOL_PATIENCE_MS".into(), self.lease_ms.to_string()),
        ]
    }

    /// Makes `pitcrew tool` work in the agent's shell even if pitcrew is not installed.
    fn with_our_program(&self, mut env: Vec<(String, String)>) -> Vec<(String, String)> {
        if let (Some(folder), Some((_, path))) =
            (self.program.parent(), env.iter_mut().find(|it| it.0 == "PATH"))
        {
            *path = format!("{path}:{}", folder.display());
        }
        env
    }
}

const NO_MODEL: &str = "no model is set for the orchestrator; set PITCREW_MODEL=provider/name or `[model]` in \
    your settings, and stop the running orchestrator with `pitcrew stop`";

/// Variables for reaching a model from this machine, in addition to its settings.
const WEB_VARIABLES: &[&str] = &[
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

/// The settings of the model and its key, for the built-in agent only.
fn model_environment(model: &ModelSettings) -> Variables {
    let user = user_environment();
    let names = model.key_variable().into_iter().chain(WEB_VARIABLES.iter().copied());
    let passed = names.filter_map(|name| Some((name.to_owned(), user.get(name)?.clone())));
    model.variables().into_iter().chain(passed).collect()
}

/// The program of a backend with its arguments and variables.
///
/// A program that is not on the PATH is named by its path, and its folder is added to the PATH for
/// programs that it starts itself, such as its interpreter.
fn agent_command(backend: &BackendSettings) -> (Vec<String>, Variables) {
    let mut env = backend.environment_here();
    let argv = located(backend, &user_environment(), &mut env);
    (argv, env.into_iter().collect())
}

/// Like `agent_command`, with existing variables.
pub(super) fn located(
    backend: &BackendSettings,
    user: &BTreeMap<String, String>,
    env: &mut BTreeMap<String, String>,
) -> Vec<String> {
    let mut argv = backend.command.clone();
    let program = argv.first_mut().expect("a backend names a program");
    if let Some(found) = find_program(program, user) {
        *program = found.path.display().to_string();
        if let (false, Some(folder)) = (found.on_path, found.path.parent()) {
            let path = env.get("PATH").or_else(|| user.get("PATH")).cloned().unwrap_or_default();
            env.insert("PATH".into(), format!("{path}:{}", folder.display()));
        }
    }
    argv
}
