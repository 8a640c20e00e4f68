//! Model prices: `[prices.NAME]` of the user's settings, for agents that do not report their cost.

use super::{
    Layer, Origins,
    draft::{Found, Reader},
    model::{ModelPrices, dollars, micros, text_of},
};
use crate::{
    diagnostic::Problems,
    document::{Section, article},
};
use std::collections::BTreeMap;

/// The keys of a price, in the order of the reference.
pub const PRICE_KEYS: &[&str] = &["price_in", "price_out", "price_cached"];

/// By the name of a model, or of a backend to cover all its models.
pub(super) type PricesDraft = BTreeMap<String, Found<ModelPrices>>;

pub(super) fn in_settings(root: &Section, reader: &Reader, problems: &mut Problems) -> PricesDraft {
    let mut draft = PricesDraft::new();
    let Some((span, item)) = root.item("prices") else { return draft };
    let span = if span.is_empty() { root.key_span("prices") } else { span };
    if reader.layer != Layer::User {
        let message =
            "only your own settings may say what a model costs, not a file in the repository";
        let help = "move `[prices]` to your own settings, usually `~/.config/pitcrew/config.toml`";
        problems.error(&span, message, Some(help.into()));
        return draft;
    }
    let help = "write `[prices.\"NAME\"]` and below it `price_in = 3` and `price_out = 15`";
    let Some(tables) = item.as_table_like() else {
        let message = format!("`prices` must be a table, not {}", article(item.type_name()));
        problems.error(&span, message, Some(help.into()));
        return draft;
    };
    for (name, item) in tables.iter() {
        let at = tables.key(name).and_then(toml_edit::Key::span).unwrap_or_else(|| span.clone());
        let Some(table) = item.as_table_like() else {
            let message = format!("`{name}` must be a table, not {}", article(item.type_name()));
            problems.error(&at, message, Some(help.into()));
            continue;
        };
        if let Some(value) = price(name, Section::new(table, at.clone()), problems) {
            draft.insert(name.to_owned(), Found { value, origin: reader.origin(&at, problems) });
        }
    }
    draft
}

fn price(name: &str, mut section: Section, problems: &mut Problems) -> Option<ModelPrices> {
    section.check_keys(&format!("the price of `{name}`"), PRICE_KEYS, &[], problems);
    let mut amount = |key: &str| {
        let (at, item) = section.item(key)?;
        let found = text_of(item, key).and_then(|it| super::model::value(key, &it, None));
        let invalid = match found {
            Ok(text) => return micros(&text),
            Err(invalid) => invalid,
        };
        problems.error(&at, format!("`{key}` {}", invalid.reason), Some(invalid.help));
        None
    };
    let (input, output, cached) = (amount("price_in"), amount("price_out"), amount("price_cached"));
    for key in ["price_in", "price_out"].into_iter().filter(|it| section.lacks(it)) {
        let message = format!("the price of `{name}` has no `{key}`");
        let help = "write the US dollars for a million tokens, such as 3 or 0.25";
        problems.error(&section.span, message, Some(help.into()));
    }
    let (input, output) = (input?, output?);
    Some(ModelPrices { input, output, cached: cached.unwrap_or(input) })
}

pub(super) fn merge(
    draft: PricesDraft,
    prices: &mut BTreeMap<String, ModelPrices>,
    origins: &mut Origins,
) {
    for (name, found) in draft {
        origins.set(&format!("prices.{name}"), found.origin);
        prices.insert(name, found.value);
    }
}

/// Every price as it would be written in a file.
pub(super) fn rows(prices: &BTreeMap<String, ModelPrices>) -> Vec<(String, String)> {
    let shown = |it: &ModelPrices| {
        let ModelPrices { input, output, cached } = *it;
        let [input, output, cached] = [input, output, cached].map(dollars);
        format!("{{ price_in = {input}, price_out = {output}, price_cached = {cached} }}")
    };
    prices.iter().map(|(name, it)| (format!("prices.{name}"), shown(it))).collect()
}
