//! Chooses the default agent, and explains why there is none.

use super::{BackendStatus, Login};
use pitcrew_config::Settings;
use pitcrew_model::AgentRef;

/// The agent for tasks that do not name one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DefaultAgent {
    /// Set in the settings.
    Set(AgentRef),
    /// The only agent that is ready.
    Only(AgentRef),
    /// There is no default agent; `help` says what to do.
    Unavailable { help: String },
}

impl DefaultAgent {
    pub fn agent(&self) -> Option<&AgentRef> {
        match self {
            Self::Set(agent) | Self::Only(agent) => Some(agent),
            Self::Unavailable { .. } => None,
        }
    }
}

pub fn default_agent(settings: &Settings, backends: &[BackendStatus]) -> DefaultAgent {
    if let Some(agent) = settings.default_agent() {
        return DefaultAgent::Set(agent);
    }
    let ready: Vec<&BackendStatus> = backends.iter().filter(|it| it.is_ready()).collect();
    match ready.as_slice() {
        [only] => DefaultAgent::Only(AgentRef::backend(&only.name)),
        [first, ..] => {
            let first = &first.name;
            let help = format!(
                "{} are ready: choose one with `--agent {first}` or with `agent = \"{first}\"` in the plan, or set a default with `agent = \"{first}\"` at the top of your `config.toml`",
                names(&ready)
            );
            DefaultAgent::Unavailable { help }
        }
        [] => DefaultAgent::Unavailable { help: how_to_get_an_agent(backends) },
    }
}

fn names(backends: &[&BackendStatus]) -> String {
    let names: Vec<String> = backends.iter().map(|it| format!("`{}`", it.name)).collect();
    names.join(", ")
}

/// Explains how to get an agent, and what works without one.
fn how_to_get_an_agent(backends: &[BackendStatus]) -> String {
    let without = "tasks with a `command` or a `script`, and `pitcrew demo`, need no agent";
    let installed: Vec<&BackendStatus> =
        backends.iter().filter(|it| it.found().is_some()).collect();
    if let Some(first) = installed.iter().find(|it| it.login == Login::NoSign) {
        let (name, login) = (&first.name, first.login_help());
        return format!(
            "no login was found for {}; {login}; if you are logged in, use it with `--agent {name}`; {without}",
            names(&installed)
        );
    }
    let adapter =
        backends.iter().find(|it| matches!(it.program, super::Program::AdapterMissing { .. }));
    if let Some((reason, help)) = adapter.and_then(BackendStatus::missing) {
        return format!("{reason}; {help}; {without}");
    }
    format!(
        "no agent is installed; `pitcrew backends` lists how to install each, for example: {}; or set a model for the built-in agent, such as PITCREW_MODEL=anthropic/MODEL; {without}",
        backends.iter().find_map(|it| it.backend.install.clone()).unwrap_or_default()
    )
}
