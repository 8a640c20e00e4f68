//! What the orchestrator's doors ask the program about: plans as they are read here, and agents.

use super::plan::refuse_impossible;
use crate::{
    backends::{look, plan_defaults},
    render::Style,
};
use pitcrew_config::{BACKEND_BUILTIN, BACKEND_COMMAND, Settings, Severity, parse_plan};
use pitcrew_server::{AgentRow, Desk, ReadPlan};

/// Knows the settings that the orchestrator was started with.
pub struct SettingsDesk {
    pub settings: Settings,
}

impl Desk for SettingsDesk {
    fn read_plan(&self, text: &str) -> Result<ReadPlan, String> {
        let (defaults, _) = plan_defaults(&self.settings, Severity::Error);
        let parsed = parse_plan("plan", text, &defaults).map_err(|it| it.to_string())?;
        refuse_impossible("", &parsed.spec, &defaults).map_err(|it| it.render(Style::plain()))?;
        let warnings = parsed.warnings.iter().map(ToString::to_string).collect();
        Ok(ReadPlan { spec: parsed.spec, warnings })
    }

    fn agents(&self) -> Vec<AgentRow> {
        let row = |name: &str, status: &str, description: &str| AgentRow {
            name: name.to_owned(),
            status: status.to_owned(),
            description: description.to_owned(),
        };
        let builtin = match &self.settings.model {
            Some(_) => row(BACKEND_BUILTIN, "ready", "The built-in agent, with a model."),
            None => row(BACKEND_BUILTIN, "ready", "The built-in agent: give it a `script`."),
        };
        let command = row(BACKEND_COMMAND, "ready", "Runs a shell `command`.");
        let programs = look(&self.settings).into_iter().map(|it| {
            let status = match it.missing() {
                Some((reason, _)) => reason,
                None if it.is_ready() => "ready".to_owned(),
                None => "no sign of a login".to_owned(),
            };
            row(&it.name, &status, it.backend.title_or(&it.name))
        });
        programs.chain([builtin, command]).collect()
    }
}
