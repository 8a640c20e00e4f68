//! Reads the crew of a workspace: the agent definitions, and the backends of this machine.

use crate::backends::{BackendStatus, DefaultAgent, default_agent, inspect_backends};
use pitcrew_config::{
    BACKEND_BUILTIN, BACKEND_COMMAND, Definitions, Dirs, PlanDefaults, Settings, Severity,
    TrustStore, UntrustedDefinition, read_definitions,
};
use pitcrew_model::{BackendProfile, Crew, Readiness, text::chain};
use std::path::Path;

/// The crew, and how it was found.
pub struct CrewReading {
    pub crew: Crew,
    pub definitions: Definitions,
    pub default_agent: DefaultAgent,
}

pub fn read_crew(settings: &Settings, dirs: &Dirs, root: &Path) -> CrewReading {
    let definitions = definitions(dirs, root);
    let backends = inspect_backends(settings);
    let default_agent = default_agent(settings, &backends);
    let programs = backends.iter().map(|it| (it.name.clone(), profile(it)));
    let ours = [
        (BACKEND_BUILTIN, builtin(settings)),
        (BACKEND_COMMAND, own("Runs a shell `command`.", Readiness::CommandsOnly)),
    ];
    let ours = ours.map(|(name, profile)| (name.to_owned(), profile));
    let crew = Crew {
        default_agent: default_agent.agent().cloned(),
        backends: programs.chain(ours).collect(),
        agents: definitions.agents.clone(),
        untrusted: definitions.untrusted.iter().map(named).collect(),
    };
    CrewReading { crew, definitions, default_agent }
}

fn named(it: &UntrustedDefinition) -> (String, String) {
    (it.profile.name.clone(), it.path.clone())
}

/// The agent definitions that count. Without readable decisions, nothing of a repository does.
pub fn definitions(dirs: &Dirs, root: &Path) -> Definitions {
    match TrustStore::read(dirs) {
        Ok(trust) => read_definitions(dirs, root, &trust),
        Err(error) => {
            let mut found = read_definitions(dirs, root, &TrustStore::default());
            found.errors.push(chain(&error));
            found
        }
    }
}

impl CrewReading {
    /// The defaults for reading a plan. `missing_is` is the severity of a missing agent program.
    pub fn plan_defaults(&self, settings: &Settings, missing_is: Severity) -> PlanDefaults {
        let no_agent_help = match &self.default_agent {
            DefaultAgent::Unavailable { help } => Some(help.clone()),
            DefaultAgent::Set(_) | DefaultAgent::Only(_) => None,
        };
        let crew = Some(self.crew.clone());
        PlanDefaults { crew, no_agent_help, missing_is, ..settings.plan_defaults() }
    }
}

fn own(title: &str, readiness: Readiness) -> BackendProfile {
    BackendProfile { title: title.into(), readiness }
}

fn builtin(settings: &Settings) -> BackendProfile {
    match &settings.model {
        Some(_) => own("The built-in agent, with a model.", Readiness::Ready),
        None => own("The built-in agent: give it a `script`.", Readiness::NoModel),
    }
}

fn profile(status: &BackendStatus) -> BackendProfile {
    let readiness = match status.missing() {
        Some((reason, help)) => Readiness::Missing { reason, help },
        None if status.is_ready() => Readiness::Ready,
        None => Readiness::NoLogin,
    };
    BackendProfile { title: status.backend.title_or(&status.name).to_owned(), readiness }
}
