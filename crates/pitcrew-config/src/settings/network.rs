//! What a sandbox may reach on the network, beyond what every worker needs.

use super::{
    Ignored, Origins, Settings, Trust,
    draft::{Found, Reader},
};
use crate::{
    diagnostic::Problems,
    document::{Section, Span, article},
};
use pitcrew_model::HostPattern;
use toml_edit::{Item, Value};

/// Only root can listen below this port, and no program in a sandbox is root.
const PORT_MIN: u16 = 1_024;

/// The values of one layer.
#[derive(Debug, Default)]
pub(super) struct NetworkDraft {
    allow: Option<Found<Vec<HostPattern>>>,
    forward: Option<Found<Vec<u16>>>,
}

pub(super) fn in_settings(
    root: &Section,
    reader: &Reader,
    problems: &mut Problems,
) -> NetworkDraft {
    NetworkDraft { allow: allow(root, reader, problems), forward: forward(root, reader, problems) }
}

fn allow(
    root: &Section,
    reader: &Reader,
    problems: &mut Problems,
) -> Option<Found<Vec<HostPattern>>> {
    let key = "egress_allow";
    let words = root.strings(key, problems)?;
    let mut patterns = Vec::new();
    for word in words {
        match word.value.parse() {
            Ok(pattern) => patterns.push(pattern),
            Err(error) => {
                let message = format!("`{}` in `{key}` is not a host: {error}", word.value);
                let help = "write `api.example.com`, `*.example.com` or `db.example.com:5432`, without scheme and path";
                problems.error(&word.span, message, Some(help.into()));
            }
        }
    }
    Some(Found { value: patterns, origin: reader.origin(&root.key_span(key), problems) })
}

fn forward(root: &Section, reader: &Reader, problems: &mut Problems) -> Option<Found<Vec<u16>>> {
    let key = "forward";
    let (span, item) = root.item(key)?;
    let Item::Value(Value::Array(array)) = item else {
        let message = format!("`{key}` must be a list of ports, not {}", article(item.type_name()));
        problems.error(&span, message, Some("write forward = [5432]".into()));
        return None;
    };
    let mut ports = Vec::new();
    for value in array {
        let at: Span = value.span().unwrap_or_else(|| span.clone());
        let port = value.as_integer().and_then(|it| u16::try_from(it).ok()).filter(|it| *it > 0);
        match port {
            Some(port) if port < PORT_MIN => {
                let message = format!(
                    "port {port} cannot be forwarded: a program in a box cannot listen below {PORT_MIN}"
                );
                let help = format!(
                    "make the service listen on port {PORT_MIN} or higher and forward that port"
                );
                problems.error(&at, message, Some(help));
            }
            Some(port) => ports.push(port),
            None => {
                let message = format!("an element of `{key}` is not a port");
                let help =
                    format!("write whole numbers from {PORT_MIN} to 65535: forward = [5432]");
                problems.error(&at, message, Some(help));
            }
        }
    }
    Some(Found { value: ports, origin: reader.origin(&root.key_span(key), problems) })
}

/// A stronger layer of a person replaces a weaker one; a repository's layer only removes entries.
pub(super) fn merge(
    trust: Trust,
    draft: NetworkDraft,
    settings: &mut Settings,
    origins: &mut Origins,
) {
    if let Some(found) = draft.allow {
        let known = &settings.egress_allow;
        let kept = narrowed(trust, "egress_allow", found, origins, |it| {
            known.iter().any(|known| known.covers(it))
        });
        settings.egress_allow = kept;
    }
    if let Some(found) = draft.forward {
        let known = &settings.forward;
        settings.forward = narrowed(trust, "forward", found, origins, |it| known.contains(it));
    }
}

fn narrowed<T: ToString>(
    trust: Trust,
    key: &str,
    found: Found<Vec<T>>,
    origins: &mut Origins,
    is_known: impl Fn(&T) -> bool,
) -> Vec<T> {
    origins.set(key, found.origin.clone());
    if trust == Trust::Person {
        return found.value;
    }
    let (kept, added): (Vec<T>, Vec<T>) = found.value.into_iter().partition(is_known);
    for value in added {
        origins.ignored.push(Ignored {
            key: key.to_owned(),
            value: value.to_string(),
            origin: found.origin.clone(),
            reason: "a repository may only remove entries from your own settings".into(),
        });
    }
    kept
}

/// Both settings as they would be written in a file, if there is something to show.
pub(super) fn rows(settings: &Settings) -> Vec<(String, String)> {
    let hosts: Vec<String> = settings.egress_allow.iter().map(ToString::to_string).collect();
    let rows = [
        ("egress_allow", hosts.is_empty(), format!("{hosts:?}")),
        ("forward", settings.forward.is_empty(), format!("{:?}", settings.forward)),
    ];
    let shown = rows.into_iter().filter(|it| !it.1);
    shown.map(|(key, _, value)| (key.to_owned(), value)).collect()
}
