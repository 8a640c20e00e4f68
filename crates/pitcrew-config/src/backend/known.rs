//! The backends that come with Pitcrew.

use super::{BackendDraft, BackendSettings};
use crate::{
    diagnostic::Problems,
    document::{Section, parse_document},
    settings::{Layer, Origin},
};
use std::{collections::BTreeMap, sync::LazyLock};

const FILES: &[(&str, &str)] = &[
    ("claude", include_str!("../../backends/claude.toml")),
    ("codex", include_str!("../../backends/codex.toml")),
    ("copilot", include_str!("../../backends/copilot.toml")),
    ("gemini", include_str!("../../backends/gemini.toml")),
    ("goose", include_str!("../../backends/goose.toml")),
    ("opencode", include_str!("../../backends/opencode.toml")),
    ("qwen", include_str!("../../backends/qwen.toml")),
    ("vibe", include_str!("../../backends/vibe.toml")),
];

static KNOWN: LazyLock<BTreeMap<String, BackendSettings>> = LazyLock::new(|| {
    FILES.iter().map(|(name, text)| ((*name).to_owned(), read(name, text))).collect()
});

/// The settings for well-known agents.
pub(crate) fn known() -> BTreeMap<String, BackendSettings> {
    KNOWN.clone()
}

pub(crate) fn known_names() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(name, _)| *name)
}

/// Panics on a mistake in one of our own files; every settings test would find it.
fn read(name: &str, text: &str) -> BackendSettings {
    let file = format!("backends/{name}.toml");
    let mut problems = Problems::new(&file, text);
    let document = parse_document(text, &mut problems);
    let draft = document.as_ref().map(|document| {
        let origin = |_: &_, _: &Problems| Origin {
            layer: Layer::Default,
            place: String::new(),
            line: None,
        };
        BackendDraft::read(name, &mut Section::root(document), &origin, &mut problems)
    });
    let (errors, _) = problems.split();
    assert!(errors.is_empty(), "{}", errors[0]);
    let mut backend = BackendSettings::default();
    draft.expect("a file without errors has a draft").apply(&mut backend);
    backend
}
