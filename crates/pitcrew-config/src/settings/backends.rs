//! Backends in the user's files: `backends/NAME.toml`, and `[backends.NAME]` in the settings.

use super::{
    BackendText, Layer,
    draft::{Draft, Reader},
    scalars,
};
use crate::{
    backend::{BackendDraft, known_names},
    diagnostic::{Diagnostic, Problems},
    document::{Section, Span, article, parse_document},
    suggest,
};
use std::collections::{BTreeMap, BTreeSet};
use toml_edit::TableLike;

type Backends = BTreeMap<String, BackendDraft>;

/// Reads a file about one backend.
pub(super) fn in_file(source: &BackendText) -> Result<Draft, Vec<Diagnostic>> {
    let mut problems = Problems::new(&source.file, &source.text);
    let reader = Reader { layer: Layer::User, file: &source.file };
    let name = &source.name;
    if let Err(invalid) = scalars::backend_name(name) {
        problems.error(&(0..0), format!("`{name}` {}", invalid.reason), Some(invalid.help));
    }
    let mut draft = Draft::default();
    if let Some(document) = parse_document(&source.text, &mut problems) {
        let section = Section::root(&document);
        let known = known_names().map(str::to_owned).collect();
        let found = read(name, section, &reader, &known, &mut problems);
        draft.backends.insert(name.clone(), found);
    }
    let (errors, _) = problems.split();
    if errors.is_empty() { Ok(draft) } else { Err(errors) }
}

/// Reads `[backends]` of a settings file. `known` are the backends that exist without it.
pub(super) fn in_settings(
    root: &Section,
    reader: &Reader,
    known: &BTreeSet<String>,
    problems: &mut Problems,
) -> Backends {
    let Some((span, item)) = root.item("backends") else { return Backends::new() };
    let span = if span.is_empty() { root.key_span("backends") } else { span };
    if reader.layer != Layer::User {
        let message =
            "only your own settings may name the programs to run, not a file in the repository";
        let help =
            "move `[backends]` to your own settings, usually `~/.config/pitcrew/config.toml`";
        problems.error(&span, message, Some(help.into()));
        return Backends::new();
    }
    let Some(table) = item.as_table_like() else {
        let message = format!("`backends` must be a table, not {}", article(item.type_name()));
        problems.error(&span, message, Some("write `[backends.NAME]`".into()));
        return Backends::new();
    };
    let names: Vec<&str> = table.iter().map(|(name, _)| name).collect();
    let mut backends = Backends::new();
    for name in names {
        let Some(section) = section(table, name, &span, problems) else { continue };
        backends.insert(name.to_owned(), read(name, section, reader, known, problems));
    }
    backends
}

fn section<'t>(
    table: &'t dyn TableLike,
    name: &str,
    fallback: &Span,
    problems: &mut Problems,
) -> Option<Section<'t>> {
    let (key, item) = table.get_key_value(name)?;
    let span = key.span().or_else(|| item.span()).unwrap_or_else(|| fallback.clone());
    if let Err(invalid) = scalars::backend_name(name) {
        problems.error(&span, format!("`{name}` {}", invalid.reason), Some(invalid.help));
        return None;
    }
    let Some(table) = item.as_table_like() else {
        let message =
            format!("backend `{name}` must be a table, not {}", article(item.type_name()));
        let help = format!("write `[backends.{name}]` and below it `command = [\"program\"]`");
        problems.error(&span, message, Some(help));
        return None;
    };
    Some(Section::new(table, span))
}

fn read(
    name: &str,
    mut section: Section,
    reader: &Reader,
    known: &BTreeSet<String>,
    problems: &mut Problems,
) -> BackendDraft {
    let place = |span: &Span, problems: &Problems| reader.origin(span, problems);
    let draft = BackendDraft::read(name, &mut section, &place, problems);
    if section.lacks("command") && !known.contains(name) {
        let message = format!("backend `{name}` has no `command`");
        let near = suggest::nearest(name, known.iter().map(String::as_str));
        let help = near.map_or_else(
            || "write the program and its arguments: command = [\"program\", \"--flag\"]".into(),
            suggest::did_you_mean,
        );
        problems.error(&section.span, message, Some(help));
    }
    draft
}
