//! How plans are landed: `[landing]` of the settings.

use super::{
    Origins,
    draft::{Found, Reader},
};
use crate::{
    diagnostic::Problems,
    document::{Section, Spanned, article},
};
use pitcrew_model::History;

/// The keys of `[landing]`, in the order of the reference.
const LANDING_KEYS: &[&str] = &["history"];

const ALIASES: &[(&str, &str)] = &[("style", "history"), ("strategy", "history")];

/// What one layer says.
#[derive(Debug, Default)]
pub(super) struct LandingDraft {
    history: Option<Found<History>>,
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
    LandingDraft { history: history(&section, reader, problems) }
}

fn history(section: &Section, reader: &Reader, problems: &mut Problems) -> Option<Found<History>> {
    let Spanned { value, span } = section.string("history", problems)?;
    let Some((_, history)) = History::ALL.into_iter().find(|it| it.0 == value) else {
        let message = format!("`history` cannot be `{value}`");
        problems.error(&span, message, Some("write `merge`, `squash` or `linear`".into()));
        return None;
    };
    Some(Found { value: history, origin: reader.origin(&span, problems) })
}

pub(super) fn merge(history: &mut History, draft: LandingDraft, origins: &mut Origins) {
    if let Some(found) = draft.history {
        *history = found.value;
        origins.set("landing.history", found.origin);
    }
}

/// The value as it could be written in a file, where it is not the usual one.
pub(super) fn shown(history: History) -> Option<(String, String)> {
    let (name, _) = History::ALL.into_iter().find(|it| it.1 == history)?;
    (!history.is_merge()).then(|| ("landing.history".to_owned(), format!("\"{name}\"")))
}
