//! Converts a backend's settings to the types of the protocol crate.

use super::AgentSetup;
use crate::network::{Needs, provider_hosts};
use pitcrew_acp::{ErrorKind, ErrorRule, PriceList, Prices, Profile, UsageScope};
use pitcrew_config::{BackendSettings, ModelPrices};
use pitcrew_model::{Backend, HostPattern};

impl AgentSetup {
    /// The hosts of the backend's provider.
    pub fn provider_hosts(&self, backend: &Backend) -> Vec<HostPattern> {
        let model = match backend {
            Backend::Builtin | Backend::Model => self.model.as_ref(),
            Backend::Program { .. } => None,
        };
        provider_hosts(Needs { backend: self.of(backend).map(|it| it.1), model })
    }

    /// The profile of the backend with this name; the default one if it is not configured.
    pub fn profile(&self, backend: &str) -> Profile {
        let known = self.backends.get(backend).map(|it| profile(backend, it)).unwrap_or_default();
        let by_model = self.prices.iter().map(|(name, it)| (name.clone(), prices(*it))).collect();
        let otherwise = self.prices.get(backend).copied().map(prices);
        Profile { prices: PriceList { by_model, otherwise }, ..known }
    }
}

fn profile(name: &str, settings: &BackendSettings) -> Profile {
    Profile {
        title: Some(settings.title_or(name).to_owned()),
        mode: settings.mode.clone(),
        model: settings.model.clone(),
        model_option: settings.model_option.clone(),
        errors: settings.errors.iter().map(rule).collect(),
        log_errors: settings.log_errors.iter().map(rule).collect(),
        log_turn: settings.log_turn.clone(),
        usage: match settings.usage {
            pitcrew_config::UsageScope::Turn => UsageScope::Turn,
            pitcrew_config::UsageScope::Session => UsageScope::Session,
            pitcrew_config::UsageScope::Call => UsageScope::Call,
        },
        usage_method: settings.usage_method.clone(),
        prices: PriceList::default(),
    }
}

fn prices(prices: ModelPrices) -> Prices {
    let ModelPrices { input, output, cached } = prices;
    Prices { input, output, cached }
}

fn rule(rule: &pitcrew_config::ErrorRule) -> ErrorRule {
    ErrorRule {
        says: match &rule.says {
            pitcrew_config::ErrorPattern::Code(code) => code.to_string(),
            pitcrew_config::ErrorPattern::Text(text) => text.clone(),
        },
        kind: match rule.kind {
            pitcrew_config::ErrorKind::Auth => ErrorKind::Auth,
            pitcrew_config::ErrorKind::Quota => ErrorKind::Quota,
            pitcrew_config::ErrorKind::Unreachable => ErrorKind::Unreachable,
            pitcrew_config::ErrorKind::Model => ErrorKind::Model,
        },
    }
}
