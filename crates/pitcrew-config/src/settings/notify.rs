//! How a person is told that something waits or has ended: `[notify]` of the user's settings.

use super::{
    Layer, Origins,
    draft::{Found, Reader},
};
use crate::{
    diagnostic::Problems,
    document::{Section, Span, Spanned, article},
};
use pitcrew_model::{Host, place_of_url};
use std::{collections::BTreeMap, fmt};

/// The keys of `[notify]`, in the order of the reference.
pub const NOTIFY_KEYS: &[&str] =
    &["bell", "desktop", "webhook", "command", "waiting", "ended", "failed"];

const ALIASES: &[(&str, &str)] =
    &[("url", "webhook"), ("hook", "webhook"), ("run", "command"), ("done", "ended")];

const URL_BYTES_MAX: usize = 2_048;

/// What a notification is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NotifyKind {
    /// A request waits for a person.
    Waiting,
    /// A plan was completed.
    Ended,
    /// A plan ended, and not all of its tasks were completed.
    Failed,
}

impl NotifyKind {
    pub const ALL: [Self; 3] = [Self::Waiting, Self::Ended, Self::Failed];
}

impl fmt::Display for NotifyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Waiting => "waiting",
            Self::Ended => "ended",
            Self::Failed => "failed",
        })
    }
}

/// A way to notify a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NotifyChannel {
    /// The bell of the terminal in which `run` or `watch` runs.
    Bell,
    Desktop,
    Webhook,
    Command,
}

impl NotifyChannel {
    pub const ALL: [Self; 4] = [Self::Bell, Self::Desktop, Self::Webhook, Self::Command];
}

impl fmt::Display for NotifyChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Bell => "bell",
            Self::Desktop => "desktop",
            Self::Webhook => "webhook",
            Self::Command => "command",
        })
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NotifySettings {
    pub bell: bool,
    pub desktop: bool,
    /// Usually contains a secret: shown and logged without its path.
    pub webhook: Option<String>,
    /// A program and its arguments.
    pub command: Vec<String>,
    /// The channels of a kind; all that are set up if absent.
    pub on: BTreeMap<NotifyKind, Vec<NotifyChannel>>,
}

impl NotifySettings {
    pub fn is_set_up(&self, channel: NotifyChannel) -> bool {
        match channel {
            NotifyChannel::Bell => self.bell,
            NotifyChannel::Desktop => self.desktop,
            NotifyChannel::Webhook => self.webhook.is_some(),
            NotifyChannel::Command => !self.command.is_empty(),
        }
    }

    /// Whether this kind goes to this channel.
    pub fn wants(&self, kind: NotifyKind, channel: NotifyChannel) -> bool {
        self.is_set_up(channel) && self.on.get(&kind).is_none_or(|it| it.contains(&channel))
    }

    /// The scheme and host of the webhook.
    pub fn webhook_shown(&self) -> Option<String> {
        let url = self.webhook.as_ref()?;
        let (scheme, _) = url.split_once("://")?;
        Some(format!("{scheme}://{}", place_of_url(url)?.host))
    }

    /// The values as they could be written in a file, where they are not the usual ones.
    pub(super) fn shown(&self) -> Vec<(String, String)> {
        let mut rows = Vec::new();
        let mut row = |key: &str, value: String| rows.push((format!("notify.{key}"), value));
        if self.bell {
            row("bell", "true".into());
        }
        if self.desktop {
            row("desktop", "true".into());
        }
        if let Some(url) = self.webhook_shown() {
            row("webhook", format!("\"{url}/...\""));
        }
        if !self.command.is_empty() {
            row("command", format!("{:?}", self.command));
        }
        for (kind, channels) in &self.on {
            let names: Vec<String> = channels.iter().map(ToString::to_string).collect();
            row(&kind.to_string(), format!("{names:?}"));
        }
        rows
    }
}

/// What one layer says: each key with its value.
#[derive(Debug, Default)]
pub(super) struct NotifyDraft(Vec<(&'static str, Found<Value>)>);

#[derive(Clone, Debug)]
enum Value {
    Bell(bool),
    Desktop(bool),
    Webhook(String),
    Command(Vec<String>),
    On(NotifyKind, Vec<NotifyChannel>),
}

/// The `[notify]` of the user's own settings. A file in a repository must not run a program or
/// send anything anywhere, whoever wrote it.
pub(super) fn in_settings(
    root: &Section,
    reader: &Reader,
    home: Option<&str>,
    problems: &mut Problems,
) -> NotifyDraft {
    let Some((span, item)) = root.item("notify") else { return NotifyDraft::default() };
    let span = if span.is_empty() { root.key_span("notify") } else { span };
    if reader.layer != Layer::User {
        let message = "only your own settings can set `notify`";
        let help = "put `[notify]` into your own settings, usually `~/.config/pitcrew/config.toml`";
        problems.error(&root.key_span("notify"), message, Some(help.into()));
        return NotifyDraft::default();
    }
    let Some(table) = item.as_table_like() else {
        let message = format!("`notify` must be a table, not {}", article(item.type_name()));
        problems.error(
            &span,
            message,
            Some("write `[notify]` and below it `desktop = true`".into()),
        );
        return NotifyDraft::default();
    };
    let mut section = Section::new(table, span);
    section.check_keys("the notifications", NOTIFY_KEYS, ALIASES, problems);
    let bell = switch(&section, "bell", problems).map(|it| ("bell", mapped(it, Value::Bell)));
    let desktop =
        switch(&section, "desktop", problems).map(|it| ("desktop", mapped(it, Value::Desktop)));
    let webhook = webhook(&section, problems).map(|it| ("webhook", mapped(it, Value::Webhook)));
    let command =
        command(&section, home, problems).map(|it| ("command", mapped(it, Value::Command)));
    let kinds = [
        on(&section, "waiting", NotifyKind::Waiting, problems),
        on(&section, "ended", NotifyKind::Ended, problems),
        on(&section, "failed", NotifyKind::Failed, problems),
    ];
    let values = [bell, desktop, webhook, command].into_iter().chain(kinds).flatten();
    let found = values.map(|(key, it)| {
        let origin = reader.origin(&it.span, problems);
        (key, Found { value: it.value, origin })
    });
    NotifyDraft(found.collect())
}

fn mapped<T>(it: Spanned<T>, value: impl Fn(T) -> Value) -> Spanned<Value> {
    Spanned { value: value(it.value), span: it.span }
}

fn switch(section: &Section, key: &str, problems: &mut Problems) -> Option<Spanned<bool>> {
    let (span, item) = section.item(key)?;
    let Some(value) = item.as_bool() else {
        let message = format!("`{key}` must be true or false, not {}", article(item.type_name()));
        problems.error(&span, message, None);
        return None;
    };
    Some(Spanned { value, span })
}

fn webhook(section: &Section, problems: &mut Problems) -> Option<Spanned<String>> {
    let url = section.string("webhook", problems)?;
    let place = place_of_url(&url.value).filter(|_| url.value.len() <= URL_BYTES_MAX);
    let is_https = url.value.starts_with("https://");
    let is_loopback = place.as_ref().is_some_and(|it| match &it.host {
        Host::Name(name) => name == "localhost",
        Host::Address(address) => address.is_loopback(),
    });
    if place.is_some() && (is_https || is_loopback && url.value.starts_with("http://")) {
        return Some(url);
    }
    let help = "write `webhook = \"https://host/path\"`; `http://` only to this machine";
    problems.error(&url.span, "`webhook` is not an https URL", Some(help.into()));
    None
}

/// A program that is found on the `PATH`, or one with a full path: a relative one would depend on
/// the folder, which may be a repository.
fn command(
    section: &Section,
    home: Option<&str>,
    problems: &mut Problems,
) -> Option<Spanned<Vec<String>>> {
    let words = section.strings("command", problems)?;
    let span: Span = section.item("command")?.0;
    let mut argv: Vec<String> = words.into_iter().map(|it| it.value).collect();
    if let (Some(rest), Some(home)) = (argv.first().and_then(|it| it.strip_prefix("~/")), home) {
        argv[0] = format!("{home}/{rest}");
    }
    let fault = match argv.first().map(String::as_str) {
        None | Some("") => Some("`command` is empty"),
        Some(program) if program.contains('/') && !program.starts_with('/') => {
            Some("`command` starts with a relative path")
        }
        Some(_) if argv.iter().any(|it| it.contains('\0')) => Some("`command` contains a NUL"),
        Some(_) => None,
    };
    if let Some(fault) = fault {
        let help = "write `command = [\"/full/path/to/program\", \"argument\"]`, or the name of a program on your `PATH`";
        problems.error(&span, fault, Some(help.into()));
        return None;
    }
    Some(Spanned { value: argv, span })
}

fn on(
    section: &Section,
    key: &'static str,
    kind: NotifyKind,
    problems: &mut Problems,
) -> Option<(&'static str, Spanned<Value>)> {
    let words = section.strings(key, problems)?;
    let span = section.item(key)?.0;
    let mut channels = Vec::new();
    for word in words {
        match NotifyChannel::ALL.into_iter().find(|it| it.to_string() == word.value) {
            Some(channel) if channels.contains(&channel) => {}
            Some(channel) => channels.push(channel),
            None => {
                let message = format!("`{key}` cannot contain `{}`", word.value);
                let help = "the channels are `bell`, `desktop`, `webhook` and `command`";
                problems.error(&word.span, message, Some(help.into()));
            }
        }
    }
    Some((key, Spanned { value: Value::On(kind, channels), span }))
}

pub(super) fn merge(settings: &mut NotifySettings, draft: NotifyDraft, origins: &mut Origins) {
    for (key, found) in draft.0 {
        match found.value {
            Value::Bell(value) => settings.bell = value,
            Value::Desktop(value) => settings.desktop = value,
            Value::Webhook(value) => settings.webhook = Some(value),
            Value::Command(value) => settings.command = value,
            Value::On(kind, channels) => drop(settings.on.insert(kind, channels)),
        }
        origins.set(&format!("notify.{key}"), found.origin);
    }
}
