//! Parses one definition.

use super::{
    keys::{self, Key, Meaning},
    tools,
    yaml::{self, Entry, Node, Value},
};
use crate::{
    diagnostic::{Diagnostic, Problems},
    suggest,
};
use pitcrew_model::{AgentProfile, WorkspaceMode, limits};

/// The largest role. A longer one would leave no room for the task.
const ROLE_BYTES_MAX: usize = 32 * 1_024;
const DESCRIPTION_BYTES_MAX: usize = 1_024;
/// The greatest depth that a definition can name. The permissions limit it further.
const DEPTH_MAX: u32 = 16;

/// Who a file was written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authorship {
    /// For Pitcrew: unknown keys and tools are errors.
    Ours,
    /// For several programs: what is not ours is ignored, unless it looks like a misspelled key.
    Shared,
}

/// Parses a definition. Its name is the file name unless the file sets another.
pub fn parse_definition(
    name: &str,
    file: &str,
    text: &str,
    authorship: Authorship,
) -> Result<AgentProfile, Vec<Diagnostic>> {
    let mut problems = Problems::new(file, text);
    let profile = read(name, file, text, authorship, &mut problems);
    let (errors, _) = problems.split();
    match profile {
        Some(profile) if errors.is_empty() => Ok(profile),
        Some(_) | None => Err(errors),
    }
}

fn read(
    name: &str,
    file: &str,
    text: &str,
    authorship: Authorship,
    problems: &mut Problems,
) -> Option<AgentProfile> {
    let (entries, body) = yaml::front_matter(text, problems)?;
    let body = &text[body..];
    let mut it = AgentProfile {
        name: name.to_owned(),
        role: body.trim().to_owned(),
        source: file.to_owned(),
        ..AgentProfile::default()
    };
    for entry in &entries {
        match keys::meaning(&entry.key) {
            Meaning::Ours(key) => take(&mut it, key, entry, authorship, problems),
            Meaning::NearMiss(near) => {
                let help = Some(suggest::did_you_mean(near));
                problems.error(&entry.span, format!("`{}` is not a key", entry.key), help);
            }
            Meaning::Unknown if authorship == Authorship::Ours => {
                let known: Vec<&str> = keys::names().collect();
                let help = Some(format!("the keys are: {}", known.join(", ")));
                problems.error(&entry.span, format!("`{}` is not a key", entry.key), help);
            }
            Meaning::Unknown | Meaning::Other => {}
        }
    }
    check(&it, &entries, text, body, problems);
    Some(it)
}

fn take(
    it: &mut AgentProfile,
    key: Key,
    entry: &Entry,
    authorship: Authorship,
    problems: &mut Problems,
) {
    match key {
        Key::Name => it.name = text(entry, problems).unwrap_or_default(),
        Key::Description => it.description = text(entry, problems).unwrap_or_default(),
        Key::Backend => it.backend = text(entry, problems),
        Key::Models => it.models = models(entry, problems),
        Key::Strengths => it.strengths = sentences(entry, problems),
        Key::Weaknesses => it.weaknesses = sentences(entry, problems),
        Key::Workspace => it.workspace = workspace(entry, problems),
        Key::CanSpawnSubtasks => it.can_spawn_subtasks = flag(entry, problems),
        Key::MaxSubtaskDepth => it.max_subtask_depth = depth(entry, problems),
        Key::Tools => {
            let list = words(&entry.key, &entry.node, problems);
            let (tools, unknown) = tools::parse(&list);
            it.tools = tools;
            for name in unknown.into_iter().filter(|_| authorship == Authorship::Ours) {
                let help = Some(suggest::help(name, &tools::names()));
                problems.error(&entry.node.span, format!("there is no tool `{name}`"), help);
            }
        }
        Key::Pattern => {
            let message = format!("`{}` is not supported yet", entry.key);
            let help = "remove it; until then, a task can delegate to other agents";
            problems.error(&entry.span, message, Some(help.into()));
        }
    }
}

fn check(it: &AgentProfile, entries: &[Entry], text: &str, body: &str, problems: &mut Problems) {
    let place = |key: &str| entries.iter().find(|it| it.key == key).map(|it| it.span.clone());
    let begin = || 0..3.min(text.len());
    if it.description.trim().is_empty() {
        let span = place("description").unwrap_or_else(begin);
        let help = "add `description: what this agent is good for`";
        problems.error(&span, "the agent has no description", Some(help.into()));
    } else if it.description.len() > DESCRIPTION_BYTES_MAX {
        let span = place("description").unwrap_or_else(begin);
        let message = format!("the description has more than {DESCRIPTION_BYTES_MAX} bytes");
        problems.error(&span, message, Some("put the role below the front matter".into()));
    }
    let plain = |it: char| it.is_ascii_alphanumeric() || "-_.".contains(it);
    let fits =
        |it: &str| !it.is_empty() && it.len() <= limits::NAME_BYTES_MAX && it.chars().all(plain);
    for (key, name) in [("name", Some(&it.name)), ("backend", it.backend.as_ref())] {
        if name.is_some_and(|name| !fits(name)) {
            let span = place(key).unwrap_or_else(begin);
            let message = format!("the {key} cannot be written as `@{key}`");
            let help = "use letters, digits, `-`, `_` and `.`";
            problems.error(&span, message, Some(help.into()));
        }
    }
    if body.len() > ROLE_BYTES_MAX {
        let start = text.len() - body.len();
        let message = format!("the role has more than {ROLE_BYTES_MAX} bytes");
        let help = "shorten it to leave room for the task";
        problems.error(&(start..start), message, Some(help.into()));
    }
}

fn wrong(entry: &Entry, wanted: &str, problems: &mut Problems) {
    problems.error(&entry.node.span, format!("`{}` must be {wanted}", entry.key), None);
}

fn text(entry: &Entry, problems: &mut Problems) -> Option<String> {
    match &entry.node.value {
        Value::Text(text) => Some(text.trim().to_owned()),
        Value::Empty => None,
        Value::List(_) | Value::Map(_) => {
            wrong(entry, "a text", problems);
            None
        }
    }
}

/// A list, or a comma-separated text.
fn words(key: &str, node: &Node, problems: &mut Problems) -> Vec<String> {
    let split = |text: &str| -> Vec<String> {
        text.split(',').map(|it| it.trim().to_owned()).filter(|it| !it.is_empty()).collect()
    };
    match &node.value {
        Value::Empty => Vec::new(),
        Value::Text(text) => split(text),
        Value::List(items) => items
            .iter()
            .filter_map(|item| match &item.value {
                Value::Text(text) => Some(text.trim().to_owned()),
                Value::Empty => None,
                Value::List(_) | Value::Map(_) => {
                    problems.error(&item.span, format!("`{key}` must be a list of words"), None);
                    None
                }
            })
            .collect(),
        Value::Map(_) => {
            problems.error(&node.span, format!("`{key}` must be a list"), None);
            Vec::new()
        }
    }
}

/// A list, or one text.
fn sentences(entry: &Entry, problems: &mut Problems) -> Vec<String> {
    match &entry.node.value {
        Value::Text(text) => vec![text.trim().to_owned()],
        Value::Empty | Value::List(_) | Value::Map(_) => words(&entry.key, &entry.node, problems),
    }
}

/// A list, best first, or a map with `default`.
fn models(entry: &Entry, problems: &mut Problems) -> Vec<String> {
    let Value::Map(entries) = &entry.node.value else {
        let mut models = words(&entry.key, &entry.node, problems);
        // Other programs' word for the model of the caller.
        models.retain(|it| it != "inherit");
        return models;
    };
    let mut models = Vec::new();
    for inner in entries {
        if inner.key == "default" {
            models = words("default", &inner.node, problems);
        } else {
            let message = format!("`{}` of `{}` is not supported yet", inner.key, entry.key);
            problems.error(&inner.span, message, Some("keep only `default`".into()));
        }
    }
    models
}

/// `shared` needs a list of files, so only a call can choose it.
fn workspace(entry: &Entry, problems: &mut Problems) -> Option<WorkspaceMode> {
    match text(entry, problems)?.as_str() {
        "read_only" => Some(WorkspaceMode::ReadOnly),
        "isolated" => Some(WorkspaceMode::Isolated),
        _ => {
            wrong(entry, "`read_only` or `isolated`", problems);
            None
        }
    }
}

fn flag(entry: &Entry, problems: &mut Problems) -> Option<bool> {
    match text(entry, problems)?.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Some(true),
        "false" | "no" | "off" | "0" => Some(false),
        _ => {
            wrong(entry, "`true` or `false`", problems);
            None
        }
    }
}

fn depth(entry: &Entry, problems: &mut Problems) -> Option<u32> {
    let depth = text(entry, problems)?.parse().ok().filter(|it| *it <= DEPTH_MAX);
    if depth.is_none() {
        wrong(entry, &format!("a number up to {DEPTH_MAX}"), problems);
    }
    depth
}

#[cfg(test)]
mod tests;
