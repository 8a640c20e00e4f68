//! What is known of the agents of a backend, in the words of the wire.

use super::AgentSetup;
use pitcrew_acp::{ErrorKind, ErrorRule, Profile, UsageScope};
use pitcrew_config::BackendSettings;

impl AgentSetup {
    /// The profile of the backend with this name; of one that is not configured nothing is known.
    pub fn profile(&self, backend: &str) -> Profile {
        self.backends.get(backend).map(|it| profile(backend, it)).unwrap_or_default()
    }
}

fn profile(name: &str, settings: &BackendSettings) -> Profile {
    Profile {
        title: Some(settings.title_or(name).to_owned()),
        mode: settings.mode.clone(),
        model: settings.model.clone(),
        model_option: settings.model_option.clone(),
        errors: settings.errors.iter().map(rule).collect(),
        usage: match settings.usage {
            pitcrew_config::UsageScope::Turn => UsageScope::Turn,
            pitcrew_config::UsageScope::Session => UsageScope::Session,
            pitcrew_config::UsageScope::Call => UsageScope::Call,
        },
    }
}

fn rule(rule: &pitcrew_config::ErrorRule) -> ErrorRule {
    ErrorRule {
        says: match &rule.says {
            pitcrew_config::ErrorSays::Code(code) => code.to_string(),
            pitcrew_config::ErrorSays::Text(text) => text.clone(),
        },
        kind: match rule.kind {
            pitcrew_config::ErrorKind::Auth => ErrorKind::Auth,
            pitcrew_config::ErrorKind::Quota => ErrorKind::Quota,
            pitcrew_config::ErrorKind::Model => ErrorKind::Model,
        },
    }
}
