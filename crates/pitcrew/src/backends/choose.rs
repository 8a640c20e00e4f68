//! Who does a task that names nobody, and what is said where nobody can.

use super::{Login, Looked, look};
use pitcrew_config::{Missing, PlanDefaults, Settings, Severity};
use pitcrew_model::AgentRef;

/// Who does what names nobody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chosen {
    /// The settings say it.
    Set(AgentRef),
    /// It is the only one that is ready.
    Only(AgentRef),
    /// Nobody: what to do about it.
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
                "{} are ready: name one with `--agent {first}` or `agent = \"{first}\"`, or for good with the line `agent = \"{first}\"` at the top of your `config.toml`",
                names(&ready)
            );
            Chosen::Nobody { help }
        }
        [] => Chosen::Nobody { help: nobody(looked) },
    }
}

/// What a plan is read with here. What cannot be started is an error in a plan that is to be run.
pub fn plan_defaults(settings: &Settings, missing_is: Severity) -> (PlanDefaults, Chosen) {
    let looked = look(settings);
    let chosen = choose(settings, &looked);
    let missing = looked.iter().filter_map(|it| {
        let (reason, help) = it.missing()?;
        Some((it.name.clone(), Missing { reason, help }))
    });
    let defaults = PlanDefaults {
        agent: chosen.agent().cloned(),
        no_agent_help: match &chosen {
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

/// No agent is ready: the shortest way to one, and what works without.
fn nobody(looked: &[Looked]) -> String {
    let without = "without an agent, tasks with a `command` or a `script` run, and `pitcrew demo`";
    let installed: Vec<&Looked> = looked.iter().filter(|it| it.found().is_some()).collect();
    if let Some(first) = installed.iter().find(|it| it.login == Login::NoSign) {
        let (name, login) = (&first.name, first.login_help());
        return format!(
            "no sign of a login was found for {}; {login}; if you are logged in, say so with `--agent {name}`; {without}",
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
