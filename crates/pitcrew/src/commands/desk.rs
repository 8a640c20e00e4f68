//! Answers the orchestrator's questions to the binary: how plans are read, and which agents exist.

use super::plan::refuse_impossible;
use crate::{
    backends::{inspect_backends, plan_defaults},
    render::Style,
    workspace::require_commit,
};
use pitcrew_config::{
    AgentDefinition, BACKEND_BUILTIN, BACKEND_COMMAND, Dirs, Settings, Severity, parse_plan,
    read_definitions,
};
use pitcrew_model::HouseRules;
use pitcrew_server::{AgentRole, AgentRow, Desk, ReadPlan};
use std::path::PathBuf;

/// Uses the settings that the orchestrator was started with.
pub struct SettingsDesk {
    pub settings: Settings,
    pub dirs: Dirs,
    /// The user's repository.
    pub root: PathBuf,
}

impl SettingsDesk {
    /// The roles that an agent can be given.
    fn roles(&self, backends: &[AgentRow]) -> Vec<AgentRow> {
        let (defaults, _) = plan_defaults(&self.settings, Severity::Warning);
        let usual = defaults.agent.and_then(|it| it.backend);
        let row = |it: AgentDefinition| {
            let backend = it.backend.or_else(|| usual.clone());
            let played_by = backends.iter().find(|row| Some(&row.name) == backend.as_ref());
            let status = match (&backend, played_by) {
                (Some(_), Some(row)) => row.status.clone(),
                (Some(backend), None) => format!("there is no backend `{backend}`"),
                (None, _) => "use `backend:role`, or set `agent` in the settings".to_owned(),
            };
            let role = AgentRole {
                backend,
                words: it.role,
                models: it.models,
                tools: it.tools,
                strengths: it.strengths,
                weaknesses: it.weaknesses,
                source: it.source,
            };
            let (name, description) = (it.name, it.description);
            AgentRow {
                name,
                status,
                obstacle: None,
                needs_script: false,
                description,
                role: Some(role),
            }
        };
        let is_free = |it: &AgentDefinition| !backends.iter().any(|row| row.name == it.name);
        let all = read_definitions(&self.dirs, &self.root).agents.into_values();
        all.filter(is_free).map(row).collect()
    }
}

impl Desk for SettingsDesk {
    fn rules(&self) -> HouseRules {
        self.settings.plan_defaults().house_rules()
    }

    fn read_plan(&self, text: &str) -> Result<ReadPlan, String> {
        let (defaults, _) = plan_defaults(&self.settings, Severity::Error);
        let mut parsed = parse_plan("plan", text, &defaults).map_err(|it| it.to_string())?;
        read_definitions(&self.dirs, &self.root).apply(&mut parsed.spec);
        refuse_impossible("", &parsed.spec, &defaults).map_err(|it| it.render(Style::plain()))?;
        if let Some(base) = &parsed.spec.head.base {
            require_commit(&self.root, base).map_err(|it| it.render(Style::plain()))?;
        }
        let warnings = parsed.warnings.iter().map(ToString::to_string).collect();
        Ok(ReadPlan { spec: parsed.spec, warnings })
    }

    fn agents(&self) -> Vec<AgentRow> {
        let row = |name: &str, status: &str, description: &str| AgentRow {
            name: name.to_owned(),
            status: status.to_owned(),
            obstacle: None,
            needs_script: false,
            description: description.to_owned(),
            role: None,
        };
        let builtin = match &self.settings.model {
            Some(_) => row(BACKEND_BUILTIN, "ready", "The built-in agent, with a model."),
            None => AgentRow {
                needs_script: true,
                ..row(BACKEND_BUILTIN, "ready", "The built-in agent: give it a `script`.")
            },
        };
        let command = row(BACKEND_COMMAND, "ready", "Runs a shell `command`.");
        let programs = inspect_backends(&self.settings).into_iter().map(|it| {
            let title = it.backend.title_or(&it.name);
            match it.missing() {
                Some((reason, remedy)) => {
                    let obstacle = Some(format!("{reason} ({remedy})"));
                    AgentRow { obstacle, ..row(&it.name, &reason, title) }
                }
                None if it.is_ready() => row(&it.name, "ready", title),
                None => row(&it.name, "no login found", title),
            }
        });
        let mut agents: Vec<AgentRow> = programs.chain([builtin, command]).collect();
        agents.extend(self.roles(&agents));
        agents
    }
}
