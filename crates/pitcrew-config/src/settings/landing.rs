//! How plans are landed: `[landing]` of the settings.

use super::{
    Origins, Settings, Trust,
    draft::{Found, Reader},
};
use crate::{
    diagnostic::Problems,
    document::{Section, Spanned, article},
};
use pitcrew_model::{History, Sign};

/// The keys of `[landing]`, in the order of the reference.
const LANDING_KEYS: &[&str] = &["history", "sign"];

const ALIASES: &[(&str, &str)] = &[("style", "history"), ("strategy", "history")];

/// What one layer says.
#[derive(Debug, Default)]
pub(super) struct LandingDraft {
    history: Option<Found<History>>,
    sign: Option<Found<Sign>>,
}

/// The `[landing]` of a settings file. A repository may set it: it is a custom of the team.
pub(super) fn in_settings(
    root: &Section,
    reader: &Reader,
    problems: &mut Problems,
) -> LandingDraft {
    let Some((span, item)) = root.item("landing") else { return LandingDraft::default() };
    let span = if span.is_empty() { root.key_span("landing") } else { span };
    let Some(table) = item.as_table_like() else {
        let message = format!("`landing` must be a table, not {}", article(item.type_name()));
        let help = "write `[landing]` and below it `history = \"squash\"`";
        problems.error(&span, message, Some(help.into()));
        return LandingDraft::default();
    };
    let mut section = Section::new(table, span);
    section.check_keys("the landing", LANDING_KEYS, ALIASES, problems);
    let history = choice(&mut section, "history", &History::ALL, reader, problems);
    let sign = choice(&mut section, "sign", &Sign::ALL, reader, problems);
    LandingDraft { history, sign }
}

/// The value of a key that has a few values with names.
fn choice<T: Copy>(
    section: &mut Section,
    key: &'static str,
    all: &[(&'static str, T)],
    reader: &Reader,
    problems: &mut Problems,
) -> Option<Found<T>> {
    let Spanned { value, span } = section.string(key, problems)?;
    let Some((_, choice)) = all.iter().find(|it| it.0 == value) else {
        let message = format!("`{key}` cannot be `{value}`");
        let names: Vec<String> = all.iter().map(|it| format!("`{}`", it.0)).collect();
        let (last, others) = names.split_last().expect("a choice has values");
        let help = format!("write {} or {last}", others.join(", "));
        problems.error(&span, message, Some(help));
        return None;
    };
    Some(Found { value: *choice, origin: reader.origin(&span, problems) })
}

pub(super) fn merge(
    settings: &mut Settings,
    draft: LandingDraft,
    trust: Trust,
    origins: &mut Origins,
) {
    if let Some(found) = draft.history {
        settings.history = found.value;
        origins.set("landing.history", found.origin);
    }
    match draft.sign {
        // Whether commits are signed is up to the person who owns the key.
        Some(found) if trust == Trust::Repository && !found.value.is_terminal() => {
            let reason = "only your own settings may leave commits unsigned".to_owned();
            origins.ignore("landing.sign", "\"never\"".to_owned(), found.origin, reason);
        }
        Some(found) => {
            settings.sign = found.value;
            origins.set("landing.sign", found.origin);
        }
        None => {}
    }
}

/// The values as they could be written in a file, where they are not the usual ones.
pub(super) fn shown(settings: &Settings) -> Vec<(String, String)> {
    let history = History::ALL.into_iter().find(|it| it.1 == settings.history && !it.1.is_merge());
    let sign = Sign::ALL.into_iter().find(|it| it.1 == settings.sign && !it.1.is_terminal());
    let row = |key: &str, name: &str| (format!("landing.{key}"), format!("\"{name}\""));
    let history = history.map(|it| row("history", it.0));
    history.into_iter().chain(sign.map(|it| row("sign", it.0))).collect()
}
