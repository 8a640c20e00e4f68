//! `[permissions]` of the user's settings.

use super::{
    entries::{LISTS, LimitEntry, PermissionEntries, RuleEntry},
    limit::{LIMIT_KEYS, LimitKey},
};
use crate::{
    diagnostic::Problems,
    document::{Section, Span, article},
    settings::{Layer, Origin},
};
use toml_edit::Item;

const KEYS: &[&str] = &["auto_approve", "ask_user", "auto_deny", "limits"];

/// Reads the table. Only the user's own settings may have one.
pub(crate) fn in_settings(
    root: &Section,
    layer: Layer,
    origin: &dyn Fn(&Span, &Problems) -> Origin,
    problems: &mut Problems,
) -> PermissionEntries {
    let mut entries = PermissionEntries::default();
    let Some((span, item)) = root.item("permissions") else { return entries };
    let span = if span.is_empty() { root.key_span("permissions") } else { span };
    if layer != Layer::User {
        let message =
            "only your own settings may have `[permissions]`, not a file in the repository";
        let help = "a repository tightens them in `.github/agents/orchestrator/permissions.md`";
        problems.error(&span, message, Some(help.into()));
        return entries;
    }
    let Some(mut section) = table(item, "permissions", &span, problems) else { return entries };
    section.check_keys("the permissions", KEYS, &[], problems);
    for (key, rule) in LISTS {
        for name in section.strings(key, problems).unwrap_or_default() {
            let (name, origin) = (name.value, origin(&name.span, problems));
            entries.rules.push(RuleEntry { rule: *rule, name, origin });
        }
    }
    if let Some((span, item)) = section.item("limits") {
        let Some(mut limits) = table(item, "limits", &span, problems) else { return entries };
        limits.check_keys("the limits", LIMIT_KEYS, &[], problems);
        for key in LimitKey::ALL {
            let Some((at, item)) = limits.item(key.name()) else { continue };
            match key.read(&text_of(item)) {
                Ok(value) => {
                    let origin = origin(&at, problems);
                    entries.limits.push(LimitEntry { key: *key, value, origin });
                }
                Err((message, help)) => problems.error(&at, message, Some(help)),
            }
        }
    }
    entries
}

fn table<'t>(
    item: &'t Item,
    key: &str,
    span: &Span,
    problems: &mut Problems,
) -> Option<Section<'t>> {
    let Some(table) = item.as_table_like() else {
        let message = format!("`{key}` must be a table, not {}", article(item.type_name()));
        problems.error(span, message, None);
        return None;
    };
    Some(Section::new(table, span.clone()))
}

fn text_of(item: &Item) -> String {
    let text = item.as_str().map(str::to_owned);
    let number = || item.as_integer().map(|it| it.to_string());
    let flag = || item.as_bool().map(|it| it.to_string());
    text.or_else(number).or_else(flag).unwrap_or_else(|| item.to_string().trim().to_owned())
}
