//! Answers the orchestrator's questions to the binary: how plans are read, and who is in the crew.

use super::plan::refuse_impossible;
use crate::{crew::read_crew, render::Style, workspace::require_commit};
use pitcrew_config::{Dirs, Settings, Severity, parse_plan};
use pitcrew_model::{Crew, HouseRules};
use pitcrew_server::{Desk, ReadPlan};
use std::path::PathBuf;

/// Uses the settings that the orchestrator was started with.
pub struct SettingsDesk {
    pub settings: Settings,
    pub dirs: Dirs,
    /// The user's repository.
    pub root: PathBuf,
}

impl Desk for SettingsDesk {
    fn rules(&self) -> HouseRules {
        self.settings.plan_defaults().house_rules()
    }

    fn read_plan(&self, text: &str) -> Result<ReadPlan, String> {
        let crew = read_crew(&self.settings, &self.dirs, &self.root);
        let defaults = crew.plan_defaults(&self.settings, Severity::Error);
        let parsed = parse_plan("plan", text, &defaults).map_err(|it| it.to_string())?;
        refuse_impossible("", &parsed.spec, &defaults).map_err(|it| it.render(Style::plain()))?;
        if let Some(base) = &parsed.spec.head.base {
            require_commit(&self.root, base).map_err(|it| it.render(Style::plain()))?;
        }
        let warnings = parsed.warnings.iter().map(ToString::to_string).collect();
        Ok(ReadPlan { spec: parsed.spec, warnings })
    }

    fn crew(&self) -> Crew {
        read_crew(&self.settings, &self.dirs, &self.root).crew
    }
}
