//! Merges the layers.

use super::{
    Ignored, Layer, LayerText, Origin, Origins, SETTING_KEYS, Settings, Sources, Trust, backends,
    draft::{self, Draft, Found},
    landing,
    model::{self, ModelDraft, ModelSettings},
    network, notify,
    origins::{show_count, show_dollars},
    prices, sandbox, scalars,
};
use crate::{
    backend::known_names,
    diagnostic::{Diagnostic, Problems},
    duration::format_duration,
    permissions::PermissionEntries,
    suggest,
};
use pitcrew_model::{Caps, Reads, RepoPath};
use std::{collections::BTreeSet, fmt};

/// The prefix of our variables.
const PREFIX: &str = "PITCREW_";

/// All errors in the settings. Never empty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ConfigErrors {
    pub diagnostics: Vec<Diagnostic>,
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, diagnostic) in self.diagnostics.iter().enumerate() {
            let gap = if index > 0 { "\n\n" } else { "" };
            write!(f, "{gap}{diagnostic}")?;
        }
        Ok(())
    }
}

impl Settings {
    /// Merges all layers: flag > environment > local > repository > user > default.
    pub fn load(sources: &Sources) -> Result<(Self, Origins), ConfigErrors> {
        let mut diagnostics = Vec::new();
        let mut merge = Merge::new();
        for (trust, draft) in drafts(sources) {
            match draft {
                Ok(draft) => merge.add(trust, draft),
                Err(errors) => diagnostics.extend(errors),
            }
        }
        if diagnostics.is_empty() { Ok(merge.finish()) } else { Err(ConfigErrors { diagnostics }) }
    }
}

type Read = Result<Draft, Vec<Diagnostic>>;

/// The draft of each layer, weakest first.
fn drafts(sources: &Sources) -> Vec<(Trust, Read)> {
    let home = sources.environment.get("HOME").map(String::as_str);
    let own = sources.backends.iter().map(|it| it.name.clone());
    let known: BTreeSet<String> = known_names().map(str::to_owned).chain(own).collect();
    let file = |layer: Layer, source: &Option<LayerText>| {
        let source = source.as_ref()?;
        Some((source.trust, draft::read(layer, source, home, &known)))
    };
    let files = [
        file(Layer::User, &sources.user),
        file(Layer::Repository, &sources.repository),
        file(Layer::Local, &sources.local),
    ];
    let texts = [environment(sources, home), flags(sources, home)];
    let backends = sources.backends.iter().map(|it| (Trust::Person, backends::in_file(it)));
    let files = backends.chain(files.into_iter().flatten());
    files.chain(texts.map(|it| (Trust::Person, it))).collect()
}

/// The settings that only the orchestrator uses. A command uses the others itself.
const ORCHESTRATOR_KEYS: &[&str] = &[
    "max_agents",
    "max_live_agents",
    "worktrees",
    "lease",
    "query_tokens",
    "query_plan_tokens",
    "query_deadline",
    "model",
    "sandbox",
];

/// The variables that an orchestrator reads when it starts.
pub fn orchestrator_variables() -> Vec<String> {
    let keys = ORCHESTRATOR_KEYS.iter().map(|it| format!("{PREFIX}{}", it.to_uppercase()));
    keys.chain(model::variables()).chain(sandbox::variables()).collect()
}

fn environment(sources: &Sources, home: Option<&str>) -> Read {
    let variable_of = |key: &&str| format!("{PREFIX}{}", key.to_uppercase());
    let names: Vec<String> = SETTING_KEYS
        .iter()
        .map(variable_of)
        .chain(model::variables())
        .chain(sandbox::variables())
        .collect();
    let mut draft = Draft::default();
    let mut errors = Vec::new();
    for (variable, text) in &sources.environment {
        if !variable.starts_with(PREFIX) || text.is_empty() {
            continue;
        }
        let line = format!("{variable}={text}");
        let mut problems = Problems::new("environment", &line);
        if let Some(at) = names.iter().position(|it| it == variable) {
            let origin = Origin { layer: Layer::Environment, place: variable.clone(), line: None };
            let set = match (SETTING_KEYS.get(at), model::key_of(variable)) {
                (None, Some(key)) => model::value(key, text, home)
                    .map(|value| drop(draft.model.insert(key, Found { value, origin }))),
                (Some(key), _) => scalars::set(&mut draft, key, text, home, origin),
                (None, None) => sandbox::set(&mut draft.sandbox, variable, text, home, origin),
            };
            if let Err(invalid) = set {
                let message = format!("`{variable}` {}", invalid.reason);
                problems.error(&(variable.len() + 1..line.len()), message, Some(invalid.help));
            }
        } else if let Some(near) = misspelt(variable, &names) {
            let message = format!("`{variable}` is not a setting");
            problems.error(&(0..variable.len()), message, Some(suggest::did_you_mean(near)));
        }
        errors.extend(problems.split().0);
    }
    if errors.is_empty() { Ok(draft) } else { Err(errors) }
}

/// The setting that a misspelled variable was meant for.
///
/// Other variables of ours are not settings, so a name that is close to no setting is ignored.
fn misspelt<'a>(variable: &str, names: &'a [String]) -> Option<&'a str> {
    let near = suggest::nearest(variable, names.iter().map(String::as_str))?;
    let close = variable.len().abs_diff(near.len()) <= 1
        && pitcrew_model::text::distance(variable, near) <= 2;
    close.then_some(near)
}

fn flags(sources: &Sources, home: Option<&str>) -> Read {
    let mut draft = Draft::default();
    let mut errors = Vec::new();
    for (key, text) in &sources.flags {
        let flag = format!("--{}", key.replace('_', "-"));
        let line = format!("{flag} {text}");
        let mut problems = Problems::new("command line", &line);
        let origin = Origin { layer: Layer::Flag, place: flag.clone(), line: None };
        if let Err(invalid) = scalars::set(&mut draft, key, text, home, origin) {
            let message = format!("`{flag}` {}", invalid.reason);
            problems.error(&(flag.len() + 1..line.len()), message, Some(invalid.help));
        }
        errors.extend(problems.split().0);
    }
    if errors.is_empty() { Ok(draft) } else { Err(errors) }
}

/// No layer allows what another one denies, and a repository may only be stricter.
fn zone(
    settings: &mut Settings,
    origins: &mut Origins,
    trust: Trust,
    denied: Option<Found<Vec<RepoPath>>>,
    reads: Option<Found<Reads>>,
) {
    if let Some(denied) = denied {
        let new = denied.value.into_iter().filter(|it| !settings.denied.contains(it));
        let new: Vec<RepoPath> = new.collect();
        if !new.is_empty() {
            settings.denied.extend(new);
            origins.set("denied", denied.origin);
        }
    }
    match reads {
        Some(reads) if trust == Trust::Repository && reads.value < settings.reads => {
            let reason = format!("a repository may only be stricter than \"{}\"", settings.reads);
            origins.ignore("reads", format!("\"{}\"", reads.value), reads.origin, reason);
        }
        Some(reads) => {
            settings.reads = reads.value;
            origins.set("reads", reads.origin);
        }
        None => {}
    }
}

struct Merge {
    settings: Settings,
    model: ModelDraft,
    origins: Origins,
}

impl Merge {
    fn new() -> Self {
        let settings = Settings::default();
        let origins = Origins::of_defaults(&settings);
        Self { settings, model: ModelDraft::new(), origins }
    }

    fn add(&mut self, trust: Trust, draft: Draft) {
        let Self { settings, model, origins } = self;
        model::merge(model, draft.model);
        prices::merge(draft.prices, &mut settings.prices, origins);
        network::merge(trust, draft.network, settings, origins);
        sandbox::merge(&mut settings.sandbox, trust, draft.sandbox, origins);
        landing::merge(settings, draft.landing, trust, origins);
        notify::merge(&mut settings.notify, draft.notify, origins);
        let mut limit =
            |key: &str, value: &mut u64, found: Option<Found<u64>>, show: fn(u64) -> String| {
                let Some(found) = found else { return };
                if trust == Trust::Repository && found.value > *value {
                    let reason = format!("a repository may only lower it from {}", show(*value));
                    origins.ignore(key, show(found.value), found.origin, reason);
                } else {
                    *value = found.value;
                    origins.set(key, found.origin);
                }
            };
        let widen = |it: Option<Found<u32>>| {
            it.map(|it| Found { value: u64::from(it.value), origin: it.origin })
        };
        let mut agents = u64::from(settings.max_agents);
        let mut live = u64::from(settings.max_live_agents);
        limit("max_agents", &mut agents, widen(draft.max_agents), show_count);
        limit("max_live_agents", &mut live, widen(draft.max_live_agents), show_count);
        limit(
            "task_timeout",
            &mut settings.task_timeout_ms,
            draft.task_timeout_ms,
            format_duration,
        );
        limit("lease", &mut settings.lease_ms, draft.lease_ms, format_duration);
        let queries = &mut settings.queries;
        let (worker, plan) = (widen(draft.query_tokens), widen(draft.query_plan_tokens));
        limit("query_tokens", &mut queries.worker_tokens, worker, show_count);
        limit("query_plan_tokens", &mut queries.plan_tokens, plan, show_count);
        let deadline = draft.query_deadline_ms;
        limit("query_deadline", &mut queries.deadline_ms, deadline, format_duration);
        // No cap is the largest value.
        let mut tokens = settings.caps.tokens.unwrap_or(u64::MAX);
        let mut cost = settings.caps.cost_micros.unwrap_or(u64::MAX);
        limit("max_tokens", &mut tokens, draft.max_tokens, show_count);
        limit("max_cost", &mut cost, draft.max_cost_micros, show_dollars);
        let cap = |it: u64| (it < u64::MAX).then_some(it);
        settings.caps = Caps { tokens: cap(tokens), cost_micros: cap(cost) };
        settings.max_agents = u32::try_from(agents).expect("a count came from a u32");
        settings.max_live_agents = u32::try_from(live).expect("a count came from a u32");
        zone(settings, origins, trust, draft.denied, draft.reads);
        if draft.permissions != PermissionEntries::default() {
            settings.permissions = draft.permissions;
        }
        if let Some(agent) = draft.agent {
            settings.agent = Some(agent.value);
            origins.set("agent", agent.origin);
        }
        if let Some(worktrees) = draft.worktrees {
            settings.worktrees = Some(worktrees.value);
            origins.set("worktrees", worktrees.origin);
        }
        for (name, backend) in draft.backends {
            let settings = settings.backends.entry(name.clone()).or_default();
            for (key, origin) in backend.apply(settings) {
                // The row of the backend itself shows its command.
                let key = if key == "command" { String::new() } else { format!(".{key}") };
                origins.set(&format!("backends.{name}{key}"), origin);
            }
        }
    }

    /// Every slot needs a process; otherwise a spawn beyond `max_live_agents` would be invalid.
    fn finish(self) -> (Settings, Origins) {
        let Self { mut settings, model, mut origins } = self;
        settings.model = ModelSettings::of(&model);
        if settings.model.is_some() {
            for (key, found) in model {
                let key = if key == "name" { String::new() } else { format!(".{key}") };
                origins.set(&format!("model{key}"), found.origin);
            }
        }
        if settings.max_agents > settings.max_live_agents {
            let live = origins.get("max_live_agents").cloned();
            let agents = origins.get("max_agents").cloned();
            match (live, agents) {
                (Some(live), Some(agents)) if live.layer != Layer::Default => {
                    let reason =
                        format!("`max_live_agents` allows only {}", settings.max_live_agents);
                    origins.ignore("max_agents", settings.max_agents.to_string(), agents, reason);
                    origins.set("max_agents", live);
                    settings.max_agents = settings.max_live_agents;
                }
                (_, Some(agents)) => {
                    origins.set("max_live_agents", agents);
                    settings.max_live_agents = settings.max_agents;
                }
                (_, None) => {}
            }
        }
        (settings, origins)
    }
}

impl Origins {
    pub(super) fn ignore(&mut self, key: &str, value: String, origin: Origin, reason: String) {
        self.ignored.push(Ignored { key: key.to_owned(), value, origin, reason });
    }
}
