//! The origin of each setting.

use super::{Origin, Settings, landing, network, prices};
use crate::duration::format_duration;
use pitcrew_model::{Dollars, RepoPath};
use std::collections::BTreeMap;

/// The origin of every value, by key: `max_agents`, `backends.claude`, `backends.claude.env`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origins {
    values: BTreeMap<String, Origin>,
    /// Values that were set but do not apply.
    pub ignored: Vec<Ignored>,
}

/// A value that does not apply although no stronger layer sets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ignored {
    pub key: String,
    pub value: String,
    pub origin: Origin,
    pub reason: String,
}

impl Origins {
    pub(super) fn of_defaults(settings: &Settings) -> Self {
        let keys = rows(settings).into_iter().map(|(key, _)| (key, Origin::default_value()));
        Self { values: keys.collect(), ignored: Vec::new() }
    }

    pub fn get(&self, key: &str) -> Option<&Origin> {
        self.values.get(key)
    }

    pub(super) fn set(&mut self, key: &str, origin: Origin) {
        self.values.insert(key.to_owned(), origin);
    }

    /// Key, value and origin of every setting, in the order of the reference. Secrets are left out.
    pub fn rows(&self, settings: &Settings) -> Vec<(String, String, Origin)> {
        let origin = |key: &str| self.get(key).cloned().unwrap_or_else(Origin::default_value);
        let rows = rows(settings).into_iter();
        let mut rows: Vec<_> =
            rows.map(|(key, value)| (key.clone(), value, origin(&key))).collect();
        let written = [network::rows(settings), prices::rows(&settings.prices)].concat();
        rows.extend(written.into_iter().map(|(key, value)| {
            let origin = origin(&key);
            (key, value, origin)
        }));
        rows.extend(replaced(settings, &self.values));
        if let Some(model) = &settings.model {
            rows.push(("model".to_owned(), format!("\"{}\"", model.title()), origin("model")));
            for (key, value) in model.shown() {
                let key = format!("model.{key}");
                if let Some(origin) = self.values.get(&key) {
                    rows.push((key, value, origin.clone()));
                }
            }
        }
        rows
    }
}

/// The backend keys that the user set, each with its value.
fn replaced(
    settings: &Settings,
    values: &BTreeMap<String, Origin>,
) -> Vec<(String, String, Origin)> {
    let mut rows = Vec::new();
    for (name, backend) in &settings.backends {
        for (key, value) in backend.shown() {
            let key = format!("backends.{name}.{key}");
            if let Some(origin) = values.get(&key) {
                rows.push((key, value, origin.clone()));
            }
        }
    }
    rows
}

/// Every setting as it would be written in a file.
fn rows(settings: &Settings) -> Vec<(String, String)> {
    let absent = || "(none)".to_owned();
    let agent = settings.agent.as_ref().map_or_else(absent, |it| format!("\"{it}\""));
    let worktrees = settings.worktrees.as_ref();
    let worktrees = worktrees.map_or_else(absent, |it| format!("{:?}", it.display().to_string()));
    let quoted = |milliseconds| format!("\"{}\"", format_duration(milliseconds));
    let timeout = quoted(settings.task_timeout_ms);
    let mut rows = vec![
        ("max_agents".to_owned(), settings.max_agents.to_string()),
        ("max_live_agents".to_owned(), settings.max_live_agents.to_string()),
        ("agent".to_owned(), agent),
        ("worktrees".to_owned(), worktrees),
        ("task_timeout".to_owned(), timeout),
        ("lease".to_owned(), quoted(settings.lease_ms)),
        ("query_tokens".to_owned(), settings.queries.worker_tokens.to_string()),
        ("query_plan_tokens".to_owned(), settings.queries.plan_tokens.to_string()),
        ("query_deadline".to_owned(), quoted(settings.queries.deadline_ms)),
    ];
    let tokens = settings.caps.tokens.map_or_else(absent, show_count);
    let cost = settings.caps.cost_micros.map_or_else(absent, show_dollars);
    rows.extend([("max_tokens".to_owned(), tokens), ("max_cost".to_owned(), cost)]);
    let denied: Vec<&str> = settings.denied.iter().map(RepoPath::as_str).collect();
    let denied = if denied.is_empty() { absent() } else { format!("{denied:?}") };
    let reads = format!("\"{}\"", settings.reads);
    rows.extend([("denied".to_owned(), denied), ("reads".to_owned(), reads)]);
    for (name, backend) in &settings.backends {
        rows.push((format!("backends.{name}"), format!("command = {:?}", backend.command)));
    }
    rows.extend(settings.sandbox.shown());
    rows.extend(landing::shown(settings));
    rows.extend(settings.notify.shown());
    rows
}

pub(super) fn show_dollars(micros: u64) -> String {
    format!("\"{}\"", Dollars(micros))
}

pub(super) fn show_count(count: u64) -> String {
    count.to_string()
}
