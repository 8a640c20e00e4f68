//! One settings file, read and checked by itself.

use super::{
    BACKEND_KEYS, BackendSettings, Layer, LayerText, Origin, SETTING_KEYS, Trust,
    scalars::{self, AGENTS_RANGE},
};
use crate::{
    diagnostic::{Diagnostic, Problems},
    document::{Section, Span, Spanned, article, parse_document},
};
use pitcrew_model::{AgentRef, limits};
use std::{collections::BTreeMap, path::PathBuf};
use toml_edit::TableLike;

/// A value and where it was written.
#[derive(Clone, Debug)]
pub(super) struct Found<T> {
    pub value: T,
    pub origin: Origin,
}

/// What one layer says. Absent: it says nothing about it.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub max_agents: Option<Found<u32>>,
    pub max_live_agents: Option<Found<u32>>,
    pub agent: Option<Found<AgentRef>>,
    pub worktrees: Option<Found<PathBuf>>,
    pub task_timeout_ms: Option<Found<u64>>,
    pub lease_ms: Option<Found<u64>>,
    pub backends: BTreeMap<String, Found<BackendSettings>>,
}

const ALIASES: &[(&str, &str)] =
    &[("timeout", "task_timeout"), ("backend", "backends"), ("default_agent", "agent")];

pub(super) fn read(
    layer: Layer,
    source: &LayerText,
    home: Option<&str>,
) -> Result<Draft, Vec<Diagnostic>> {
    let mut problems = Problems::new(&source.file, &source.text);
    let draft = read_text(layer, source, home, &mut problems);
    let (errors, _) = problems.split();
    match draft {
        Some(draft) if errors.is_empty() => Ok(draft),
        Some(_) | None => Err(errors),
    }
}

fn read_text(
    layer: Layer,
    source: &LayerText,
    home: Option<&str>,
    problems: &mut Problems,
) -> Option<Draft> {
    let document = parse_document(&source.text, problems)?;
    let mut root = Section::root(&document);
    root.check_keys("the settings", SETTING_KEYS, ALIASES, problems);
    let reader = Reader { layer, file: &source.file };
    let max_agents = root.integer("max_agents", &AGENTS_RANGE, problems);
    let max_live_agents = root.integer("max_live_agents", &AGENTS_RANGE, problems);
    let task_timeout = root.duration("task_timeout", limits::TASK_TIMEOUT_MS_MAX, problems);
    let lease = root.duration("lease", limits::LEASE_MS_MAX, problems);
    let agent = checked(&root, "agent", problems, scalars::agent);
    refuse_foreign(&root, source.trust, problems);
    let worktrees = checked(&root, "worktrees", problems, |text| scalars::worktrees(text, home));
    Some(Draft {
        max_agents: reader.found(max_agents, problems),
        max_live_agents: reader.found(max_live_agents, problems),
        agent: reader.found(agent, problems),
        worktrees: reader.found(worktrees, problems),
        task_timeout_ms: reader.found(task_timeout, problems),
        lease_ms: reader.found(lease, problems),
        backends: reader.backends(&root, layer, problems),
    })
}

/// A repository may not say what is run on somebody's machine, nor where it is written to.
fn refuse_foreign(root: &Section, trust: Trust, problems: &mut Problems) {
    if trust == Trust::Person {
        return;
    }
    if root.item("worktrees").is_some() {
        let message =
            "a file that comes with the repository cannot choose where checkouts are made";
        let help =
            "put `worktrees` into your own settings, usually `~/.config/pitcrew/config.toml`";
        problems.error(&root.key_span("worktrees"), message, Some(help.into()));
    }
}

fn checked<T>(
    root: &Section,
    key: &str,
    problems: &mut Problems,
    parse: impl Fn(&str) -> Result<T, scalars::Refused>,
) -> Option<Spanned<T>> {
    let text = root.string(key, problems)?;
    match parse(&text.value) {
        Ok(value) => Some(Spanned { value, span: text.span }),
        Err(refused) => {
            problems.error(&text.span, format!("`{key}` {}", refused.reason), Some(refused.help));
            None
        }
    }
}

/// Reads values and notes where they stand.
struct Reader<'a> {
    layer: Layer,
    file: &'a str,
}

impl Reader<'_> {
    fn found<T>(&self, value: Option<Spanned<T>>, problems: &Problems) -> Option<Found<T>> {
        let Spanned { value, span } = value?;
        Some(Found { value, origin: self.origin(&span, problems) })
    }

    fn origin(&self, span: &Span, problems: &Problems) -> Origin {
        let line = Some(problems.line_of(span));
        Origin { layer: self.layer, place: self.file.to_owned(), line }
    }

    fn backends(
        &self,
        root: &Section,
        layer: Layer,
        problems: &mut Problems,
    ) -> BTreeMap<String, Found<BackendSettings>> {
        let Some((span, item)) = root.item("backends") else { return BTreeMap::new() };
        let span = if span.is_empty() { root.key_span("backends") } else { span };
        if layer != Layer::User {
            let message = "only your own settings may say which programs are run, not a file in the repository";
            let help =
                "move `[backends]` to your own settings, usually `~/.config/pitcrew/config.toml`";
            problems.error(&span, message, Some(help.into()));
            return BTreeMap::new();
        }
        let Some(table) = item.as_table_like() else {
            let message = format!("`backends` must be a table, not {}", article(item.type_name()));
            problems.error(&span, message, Some("write `[backends.NAME]`".into()));
            return BTreeMap::new();
        };
        let names: Vec<&str> = table.iter().map(|(name, _)| name).collect();
        let mut backends = BTreeMap::new();
        for name in names {
            if let Some((at, backend)) = backend(table, name, &span, problems) {
                let origin = self.origin(&at, problems);
                backends.insert(name.to_owned(), Found { value: backend, origin });
            }
        }
        backends
    }
}

fn backend(
    table: &dyn TableLike,
    name: &str,
    fallback: &Span,
    problems: &mut Problems,
) -> Option<(Span, BackendSettings)> {
    let (key, item) = table.get_key_value(name)?;
    let span = key.span().or_else(|| item.span()).unwrap_or_else(|| fallback.clone());
    if let Err(refused) = scalars::backend_name(name) {
        problems.error(&span, format!("`{name}` {}", refused.reason), Some(refused.help));
        return None;
    }
    let Some(table) = item.as_table_like() else {
        let message =
            format!("backend `{name}` must be a table, not {}", article(item.type_name()));
        let help = format!("write `[backends.{name}]` and below it `command = [\"program\"]`");
        problems.error(&span, message, Some(help));
        return None;
    };
    let mut section = Section::new(table, span.clone());
    let aliases = [("environment", "env"), ("program", "command")];
    section.check_keys(&format!("backend `{name}`"), BACKEND_KEYS, &aliases, problems);
    let command = command(&section, name, problems);
    let env = environment(&section, problems);
    Some((span, BackendSettings { command: command?, env: env? }))
}

fn command(section: &Section, name: &str, problems: &mut Problems) -> Option<Vec<String>> {
    if section.lacks("command") {
        let help = "write the program and its arguments: command = [\"program\", \"--flag\"]";
        problems.error(
            &section.span,
            format!("backend `{name}` has no `command`"),
            Some(help.into()),
        );
        return None;
    }
    let words = section.strings("command", problems)?;
    let (span, _) = section.item("command")?;
    let words: Vec<String> = words.into_iter().map(|it| it.value).collect();
    match scalars::command(&words) {
        Ok(()) => Some(words),
        Err(refused) => {
            problems.error(&span, format!("`command` {}", refused.reason), Some(refused.help));
            None
        }
    }
}

fn environment(section: &Section, problems: &mut Problems) -> Option<BTreeMap<String, String>> {
    let Some((span, item)) = section.item("env") else { return Some(BTreeMap::new()) };
    let Some(table) = item.as_table_like() else {
        let message = format!("`env` must be a table, not {}", article(item.type_name()));
        problems.error(&span, message, Some("write `env = { NAME = \"value\" }`".into()));
        return None;
    };
    let mut variables = BTreeMap::new();
    for (name, item) in table.iter() {
        let at = item.span().unwrap_or_else(|| span.clone());
        let Some(value) = item.as_str() else {
            let message = format!("`{name}` must be a string, not {}", article(item.type_name()));
            problems.error(&at, message, None);
            continue;
        };
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            problems.error(&at, format!("`{name}` cannot be an environment variable"), None);
            continue;
        }
        variables.insert(name.to_owned(), value.to_owned());
    }
    Some(variables)
}
