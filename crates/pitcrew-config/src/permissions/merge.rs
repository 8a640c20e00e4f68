//! Merges the layers and records which entries apply.

use super::{
    PermissionSources, PermissionText,
    entries::PermissionEntries,
    limit::{LimitKey, LimitValue},
    text,
};
use crate::{
    diagnostic::{Diagnostic, Problems},
    settings::{Layer, Origin, Trust},
    suggest,
};
use pitcrew_model::{Action, Category, Matrix, Rule, Verdict};
use std::collections::BTreeMap;

/// The merged permissions, their origins, and the entries that do not apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permissions {
    pub matrix: Matrix,
    /// Every known or listed action, by category.
    pub rules: Vec<RuleRow>,
    pub limits: Vec<LimitRow>,
    /// Entries that do not apply.
    pub ignored: Vec<IgnoredPermission>,
    pub warnings: Vec<Diagnostic>,
    /// Why a file was not used.
    pub errors: Vec<Diagnostic>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleRow {
    pub action: Action,
    pub rule: Rule,
    pub origin: Origin,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitRow {
    pub key: &'static str,
    pub value: String,
    pub origin: Origin,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IgnoredPermission {
    /// Such as `command_execution: auto_approve`.
    pub what: String,
    pub origin: Origin,
    pub reason: String,
}

impl Permissions {
    /// A user's entries override the workspace's, which override the built-in ones. Never fails: a
    /// broken file is reported and left out.
    pub fn load(sources: &PermissionSources) -> Self {
        let mut merge = Merge::default();
        let workspace = merge.parse(Layer::Repository, sources.workspace.as_ref());
        let user = merge.parse(Layer::User, sources.user.as_ref());
        merge.warn_settings(&sources.settings);
        // A typing mistake in a rule that was meant to tighten must not loosen anything.
        let is_whole = merge.errors.is_empty();
        let own = if is_whole { Trust::Person } else { Trust::Repository };
        merge.add(&workspace, Trust::Repository, "a repository file may only tighten permissions");
        let why = "permissions are not loosened while a permissions file is broken";
        merge.add(&sources.settings, own, why);
        merge.add(&user, own, why);
        merge.finish()
    }
}

/// The warning and help for an unknown action.
pub(super) fn unknown(name: &str) -> Option<(String, String)> {
    let Ok(action) = name.parse::<Action>();
    if action.is_known() {
        return None;
    }
    let message = format!("unknown action `{name}`");
    let in_category = |it: &&Action| it.category().map(Category::name) == Some(name);
    let members: Vec<&str> = Action::NAMED.iter().filter(in_category).map(Action::name).collect();
    if members.is_empty() {
        let names: Vec<&str> = Action::NAMED.iter().map(Action::name).collect();
        return Some((message, suggest::help(name, &names)));
    }
    Some((message, format!("it is a category; list its actions instead: {}", members.join(", "))))
}

struct Merge {
    matrix: Matrix,
    rules: BTreeMap<Action, Origin>,
    limits: BTreeMap<LimitKey, Origin>,
    ignored: Vec<IgnoredPermission>,
    warnings: Vec<Diagnostic>,
    errors: Vec<Diagnostic>,
}

impl Default for Merge {
    fn default() -> Self {
        Self {
            matrix: Matrix::builtin(),
            rules: BTreeMap::new(),
            limits: BTreeMap::new(),
            ignored: Vec::new(),
            warnings: Vec::new(),
            errors: Vec::new(),
        }
    }
}

impl Merge {
    fn parse(&mut self, layer: Layer, source: Option<&PermissionText>) -> PermissionEntries {
        let Some(source) = source else { return PermissionEntries::default() };
        let parsed = match &source.text {
            Ok(text) => text::parse(layer, &source.file, text),
            Err(reason) => {
                let mut problems = Problems::new(&source.file, "");
                problems.error(&(0..0), format!("the file cannot be read: {reason}"), None);
                Err(problems.split().0)
            }
        };
        match parsed {
            Ok((entries, warnings)) => {
                self.warnings.extend(warnings);
                entries
            }
            Err(errors) => {
                self.errors.extend(errors);
                PermissionEntries::default()
            }
        }
    }

    /// Problems in the settings file are warnings here.
    fn warn_settings(&mut self, settings: &PermissionEntries) {
        for said in &settings.rules {
            if let Some((message, help)) = unknown(&said.name) {
                let Origin { place, line, .. } = &said.origin;
                let problems = Problems::new(place, "");
                let mut found = problems.one(message, help);
                found.line = line.unwrap_or(1);
                self.warnings.push(found);
            }
        }
    }

    fn add(&mut self, entries: &PermissionEntries, trust: Trust, why: &str) {
        for (action, (rule, origin)) in listed(entries) {
            let before = self.matrix.rule(&action);
            let is_unknown = !action.is_known() && rule == Rule::AutoApprove;
            let reason = if before == Rule::AutoDeny && rule < before {
                "another layer denies it".to_owned()
            } else if is_unknown {
                "Pitcrew does not know this action, so it asks".to_owned()
            } else if trust == Trust::Repository && rule < before {
                format!("{why}: it is {before}")
            } else {
                self.matrix.set(&action, rule);
                // Only an entry that changed the rule is recorded as its source.
                if rule != before {
                    self.matrix.places.insert(action.clone(), origin.to_string());
                }
                self.rules.insert(action, origin);
                continue;
            };
            self.ignored.push(IgnoredPermission {
                what: format!("{action}: {rule}"),
                origin,
                reason,
            });
        }
        for said in &entries.limits {
            let (key, value, origin) = (said.key, said.value, said.origin.clone());
            let before = key.get(&self.matrix.limits);
            if trust == Trust::Repository && !value.is_as_tight_as(before) {
                let what = format!("{}: {}", key.name(), value.shown());
                let reason = format!("{why}: it is {}", before.shown());
                self.ignored.push(IgnoredPermission { what, origin, reason });
            } else {
                key.set(&mut self.matrix.limits, value);
                self.limits.insert(key, origin);
            }
        }
    }

    /// A repository must not cause an earlier approval by shortening the timeout.
    fn keep_waiting(&mut self) {
        let limits = &mut self.matrix.limits;
        let timeout = self.limits.get(&LimitKey::PermissionTimeout);
        let is_foreign = timeout.is_some_and(|it| it.layer == Layer::Repository);
        if limits.permission_default == Verdict::Approve && is_foreign {
            let value = LimitValue::Timeout(limits.permission_timeout_ms.take());
            let origin = self.limits.remove(&LimitKey::PermissionTimeout).expect("it was found");
            let what = format!("{}: {}", LimitKey::PermissionTimeout.name(), value.shown());
            let reason = "unanswered requests would be approved sooner".to_owned();
            self.ignored.push(IgnoredPermission { what, origin, reason });
        }
    }

    fn finish(mut self) -> Permissions {
        self.keep_waiting();
        let Self { matrix, rules, limits, ignored, warnings, errors } = self;
        let builtin = || Origin { layer: Layer::Default, place: String::new(), line: None };
        let row = |action: &Action| RuleRow {
            action: action.clone(),
            rule: matrix.rule(action),
            origin: rules.get(action).cloned().unwrap_or_else(builtin),
        };
        let unknown = rules.keys().filter(|it| !it.is_known());
        let mut rows: Vec<RuleRow> = Action::NAMED.iter().chain(unknown).map(row).collect();
        rows.sort_by_key(|it| (it.action.category().is_none(), it.action.category()));
        let limit = |key: &LimitKey| LimitRow {
            key: key.name(),
            value: key.get(&matrix.limits).shown(),
            origin: limits.get(key).cloned().unwrap_or_else(builtin),
        };
        let limits = LimitKey::ALL.iter().map(limit).collect();
        Permissions { rules: rows, limits, matrix, ignored, warnings, errors }
    }
}

/// The rule of each action in one source: the strictest if there are several.
fn listed(entries: &PermissionEntries) -> BTreeMap<Action, (Rule, Origin)> {
    let mut listed: BTreeMap<Action, (Rule, Origin)> = BTreeMap::new();
    for said in &entries.rules {
        let Ok(action) = said.name.parse::<Action>();
        let found = (said.rule, said.origin.clone());
        let slot = listed.entry(action).or_insert_with(|| found.clone());
        if found.0 > slot.0 {
            *slot = found;
        }
    }
    listed
}
