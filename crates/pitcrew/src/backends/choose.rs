//! Chooses the default agent, and explains why there is none.

use super::{Login, Looked, look};
use pitcrew_config::{Missing, PlanDefaults, Settings, Severity};
use pitcrew_model::AgentRef;

/// The agent for tasks that do not name one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chosen {
    /// Set in the settings.
    Set(AgentRef),
    /// The only agent that is ready.
    Only(AgentRef),
    /// There is no default agent; `help` says what to do.
    Nobody { help: String },
}

impl Chosen {
    pub fn agent(&self) -> Option<&AgentRef> {
        match self {
            Self::Set(agent) | Self::Only(agent) => Some(agent),
            Self::Nobody { .. } => None,
        }
    }
}

pub fn choose(settings: &Settings, looked: &[Looked]) -> Chosen {
    if let Some(agent) = settings.plan_defaults().agent {
        return Chosen::Set(agent);
    }
    let ready: Vec<&Looked> = looked.iter().filter(|it| it.is_ready()).collect();
    match ready.as_slice() {
        [only] => Chosen::Only(AgentRef::backend(&only.name)),
        [first, ..] => {
            let first = &first.name;
            let help = format!(
                "{} are ready: choose one with `--agent {first}` or with `agent = \"{first}\"` in the plan, or set a default with `agent = \"{first}\"` at the top of your `config.toml`",
                names(&ready)
            );
            Chosen::Nobody { help }
        }
        [] => Chosen::Nobody { help: nobody(looked) },
    }
}

/// The defaults for reading a plan. `missing_is` is the severity of a missing agent program.
pub fn plan_defaults(settings: &Settings, missing_is: Severity) -> (PlanDefaults, Chosen) {
    let looked = look(settings);
    let chosen = choose(settings, &looked);
    let missing = looked.iter().filter_map(|it| {
        let (reason, help) = it.missing()?;
        Some((it.name.clone(), Missing { reason, help }))
    });
    let defaults = PlanDefaults {
        agent: chosen.agent().cloned(),
        nobody: match &chosen {
            Chosen::Nobody { help } => Some(help.clone()),
            Chosen::Set(_) | Chosen::Only(_) => None,
        },
        missing: missing.collect(),
        missing_is,
        ..settings.plan_defaults()
    };
    (defaults, chosen)
}

fn names(looked: &[&Looked]) -> String {
    let names: Vec<String> = looked.iter().map(|it| format!("`{}`", it.name)).collect();
    names.join(", ")
}

/// Explains how to get an agent, and what works without one.
fn nobody(looked: &[Looked]) -> String {
    let without = "tasks with a `command` or a `script`, and `pitcrew demo`, need no agent";
    let installed: Vec<&Looked> = looked.iter().filter(|it| it.found().is_some()).collect();
    if let Some(first) = installed.iter().find(|it| it.login == Login::NoSign) {
        let (name, login) = (&first.name, first.login_help());
        return format!(
            "no login was found for {}; {login}; if you are logged in, use it with `--agent {name}`; {without}",
            names(&installed)
        );
    }
    let adapter =
        looked.iter().find(|it| matches!(it.program, super::Program::AdapterMissing { .. }));
    if let Some((reason, help)) = adapter.and_then(Looked::missing) {
        return format!("{reason}; {help}; {without}");
    }
    format!(
        "no agent is installed; `pitcrew backends` lists how to install each, for example: {}; or set a model for the built-in agent, such as PITCREW_MODEL=anthropic/MODEL; {without}",
        looked.iter().find_map(|it| it.backend.install.clone()).unwrap_or_default()
    )
}
