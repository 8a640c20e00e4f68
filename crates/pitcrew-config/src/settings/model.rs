//! The model of the built-in agent: `[model]` of the user's settings, and `PITCREW_MODEL`.
//!
//! Every value is a string here, as in a variable, so that files, the environment and an agent's
//! parameters are parsed and checked in the same way. The key itself is never among them.

use super::{
    Layer,
    draft::{Found, Reader},
    scalars::{InvalidValue, invalid, worktrees},
};
use crate::{
    diagnostic::Problems,
    document::{Section, article},
};
use pitcrew_model::ModelProvider;
use std::{collections::BTreeMap, path::PathBuf};
use toml_edit::Item;

/// The keys of `[model]`, in the order of the reference.
pub const MODEL_KEYS: &[&str] = &[
    "provider",
    "name",
    "endpoint",
    "key_env",
    "key_file",
    "max_output_tokens",
    "context_tokens",
    "price_in",
    "price_out",
    "price_cached",
];

const ALIASES: &[(&str, &str)] = &[
    ("model", "name"),
    ("base_url", "endpoint"),
    ("url", "endpoint"),
    ("api_key_env", "key_env"),
    ("api_key", "key_env"),
    ("key", "key_env"),
    ("max_tokens", "max_output_tokens"),
];

/// The default context size, below the limit of every provider.
const CONTEXT_TOKENS_HOSTED: u64 = 100_000;
const CONTEXT_TOKENS_LOCAL: u64 = 32_000;
const TOKENS_MAX: u64 = 100_000_000;

/// The model of the built-in agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelSettings {
    pub provider: ModelProvider,
    pub name: String,
    pub endpoint: Option<String>,
    /// The name of the variable with the key.
    pub key_env: Option<String>,
    pub key_file: Option<PathBuf>,
    pub max_output_tokens: Option<u32>,
    pub context_tokens: u64,
    pub prices: Option<ModelPrices>,
}

/// Millionths of a US dollar per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelPrices {
    pub input: u64,
    pub output: u64,
    pub cached: u64,
}

/// The values of the layers, by key.
pub(super) type ModelDraft = BTreeMap<&'static str, Found<String>>;

impl ModelSettings {
    /// `provider/name`, as written in a variable.
    pub fn title(&self) -> String {
        format!("{}/{}", self.provider, self.name)
    }

    /// The same provider with another model, whose limits and prices are unknown.
    #[must_use]
    pub fn named(&self, name: &str) -> Self {
        if name == self.name {
            return self.clone();
        }
        Self {
            name: name.to_owned(),
            max_output_tokens: None,
            context_tokens: context_default(self.provider),
            prices: None,
            ..self.clone()
        }
    }

    /// The name of the variable with the key: the configured one, or the provider's usual one.
    ///
    /// The usual one applies only to the provider's own endpoint, so that no other host gets the
    /// key.
    pub fn key_variable(&self) -> Option<&str> {
        let is_usual = self.key_file.is_none() && self.endpoint.is_none();
        let usual = self.provider.key_env().filter(|_| is_usual);
        self.key_env.as_deref().or(usual)
    }

    /// The variables that contain a key or could, whether they are used or not.
    pub fn secret_variables(&self) -> Vec<String> {
        let keys = self.key_env.as_deref().into_iter().chain(self.provider.key_env());
        keys.map(str::to_owned).chain([variable("key_file")]).collect()
    }

    /// The same settings as variables, for a process that reads no files.
    pub fn variables(&self) -> Vec<(String, String)> {
        let own = self.shown().into_iter().map(|(key, value)| (variable(key), value));
        [("PITCREW_MODEL".to_owned(), self.title())].into_iter().chain(own).collect()
    }

    /// Every value except the title, by key.
    pub(super) fn shown(&self) -> Vec<(&'static str, String)> {
        let prices = self.prices;
        let price = |of: fn(ModelPrices) -> u64| prices.map(|it| dollars(of(it)));
        let values = [
            ("endpoint", self.endpoint.clone()),
            ("key_env", self.key_env.clone()),
            ("key_file", self.key_file.as_ref().map(|it| it.display().to_string())),
            ("max_output_tokens", self.max_output_tokens.map(|it| it.to_string())),
            ("context_tokens", Some(self.context_tokens.to_string())),
            ("price_in", price(|it| it.input)),
            ("price_out", price(|it| it.output)),
            ("price_cached", price(|it| it.cached)),
        ];
        values.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
    }

    pub(super) fn of(draft: &ModelDraft) -> Option<Self> {
        let text = |key: &str| draft.get(key).map(|it| it.value.clone());
        let provider = text("provider")?.parse().ok()?;
        let number = |key: &str| text(key).and_then(|it| it.parse::<u64>().ok());
        let price = |key: &str| text(key).and_then(|it| micros(&it));
        let prices = price("price_in").zip(price("price_out")).map(|(input, output)| {
            let cached = price("price_cached").unwrap_or(input);
            ModelPrices { input, output, cached }
        });
        Some(Self {
            provider,
            name: text("name")?,
            endpoint: text("endpoint"),
            key_env: text("key_env"),
            key_file: text("key_file").map(PathBuf::from),
            max_output_tokens: number("max_output_tokens").and_then(|it| u32::try_from(it).ok()),
            context_tokens: number("context_tokens").unwrap_or_else(|| context_default(provider)),
            prices,
        })
    }
}

fn context_default(provider: ModelProvider) -> u64 {
    match provider {
        ModelProvider::Anthropic | ModelProvider::OpenAi | ModelProvider::Gemini => {
            CONTEXT_TOKENS_HOSTED
        }
        ModelProvider::Ollama => CONTEXT_TOKENS_LOCAL,
    }
}

/// The variable of a key of `[model]`, except for those that `PITCREW_MODEL` combines.
fn variable(key: &str) -> String {
    format!("PITCREW_MODEL_{}", key.to_uppercase())
}

/// The key that a variable sets.
pub(super) fn key_of(name: &str) -> Option<&'static str> {
    let own = MODEL_KEYS.iter().filter(|it| !["provider", "name"].contains(it));
    own.copied().find(|it| variable(it) == name)
}

/// The names of all model variables.
pub(super) fn variables() -> impl Iterator<Item = String> {
    MODEL_KEYS.iter().filter(|it| !["provider", "name"].contains(it)).map(|it| variable(it))
}

/// Applies a stronger layer. If it names another model, the endpoint, key and prices of the weaker
/// one are dropped.
pub(super) fn merge(weaker: &mut ModelDraft, stronger: ModelDraft) {
    let differs = |key: &str| {
        let said = stronger.get(key);
        said.is_some_and(|it| weaker.get(key).is_none_or(|known| known.value != it.value))
    };
    if differs("provider") {
        weaker.clear();
    } else if differs("name") {
        weaker.retain(|key, _| ["provider", "endpoint", "key_env", "key_file"].contains(key));
    }
    weaker.extend(stronger);
}

/// Parses `provider/name`.
pub(super) fn pair(text: &str) -> Result<(String, String), InvalidValue> {
    let help = "write it as `anthropic/claude-sonnet-4-5`: the provider and the model's name";
    let Some((provider, name)) = text.trim().split_once('/') else {
        return invalid(format!("cannot be `{text}`: it has no `/`"), help);
    };
    Ok((value("provider", provider, None)?, value("name", name, None)?))
}

/// Checks a value from any source, and normalizes it.
pub(super) fn value(key: &str, text: &str, home: Option<&str>) -> Result<String, InvalidValue> {
    let text = text.trim();
    if text.is_empty() || text.chars().any(char::is_control) {
        return invalid(
            "is empty or contains a control character",
            "write it without, or leave it out",
        );
    }
    match key {
        "provider" if text == "openai-compatible" => Ok("openai".to_owned()),
        "provider" => match text.parse::<ModelProvider>() {
            Ok(provider) => Ok(provider.to_string()),
            Err(help) => invalid(
                format!("cannot be `{text}`"),
                format!("{help}; for any OpenAI-compatible server use `openai` with an `endpoint`"),
            ),
        },
        "endpoint" => endpoint(text),
        "key_env" => key_env(text),
        "key_file" => Ok(worktrees(text, home)?.display().to_string()),
        "max_output_tokens" | "context_tokens" => match text.parse::<u64>() {
            Ok(count) if (1..=TOKENS_MAX).contains(&count) => Ok(count.to_string()),
            Ok(_) | Err(_) => invalid(
                format!("cannot be `{text}`"),
                format!("write a whole number of tokens between 1 and {TOKENS_MAX}"),
            ),
        },
        "price_in" | "price_out" | "price_cached" => match micros(text) {
            Some(price) => Ok(dollars(price)),
            None => invalid(
                format!("cannot be `{text}`"),
                "write the US dollars for a million tokens, such as 3 or 0.25",
            ),
        },
        _ => Ok(text.to_owned()),
    }
}

fn endpoint(text: &str) -> Result<String, InvalidValue> {
    let help = "write an address such as `http://127.0.0.1:8080/v1`";
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let fits = |it: &str| !it.is_empty() && !it.contains([' ', '?', '#', '@']);
    if rest.is_some_and(fits) {
        Ok(text.trim_end_matches('/').to_owned())
    } else {
        invalid(format!("cannot be `{text}`"), help)
    }
}

/// An invalid name is often the key itself.
fn key_env(text: &str) -> Result<String, InvalidValue> {
    let plain = |it: char| it.is_ascii_alphanumeric() || it == '_';
    if text.len() <= 64
        && text.chars().all(plain)
        && !text.starts_with(|it: char| it.is_ascii_digit())
    {
        return Ok(text.to_owned());
    }
    invalid(
        "is not a variable name",
        "write the name of the variable that has the key, such as `ANTHROPIC_API_KEY`; never put the key itself in settings",
    )
}

/// Parses an amount of money exactly: at most six decimal places.
pub(super) fn micros(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |it: &str| it.bytes().all(|it| it.is_ascii_digit());
    if whole.is_empty() || whole.len() > 6 || part.len() > 6 || !digits(whole) || !digits(part) {
        return None;
    }
    format!("{whole}{part:0<6}").parse().ok()
}

pub(super) fn dollars(micros: u64) -> String {
    let text = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Reads `[model]` of a settings file.
pub(super) fn in_settings(
    root: &Section,
    reader: &Reader,
    home: Option<&str>,
    problems: &mut Problems,
) -> ModelDraft {
    let Some((span, item)) = root.item("model") else { return ModelDraft::new() };
    let span = if span.is_empty() { root.key_span("model") } else { span };
    if reader.layer != Layer::User {
        let message =
            "only your own settings may name a model and its key, not a file in the repository";
        let help = "move `[model]` to your own settings, usually `~/.config/pitcrew/config.toml`";
        problems.error(&span, message, Some(help.into()));
        return ModelDraft::new();
    }
    let Some(table) = item.as_table_like() else {
        let message = format!("`model` must be a table, not {}", article(item.type_name()));
        let help = "write `[model]` and below it `provider = \"...\"` and `name = \"...\"`";
        problems.error(&span, message, Some(help.into()));
        return ModelDraft::new();
    };
    let mut section = Section::new(table, span);
    section.check_keys("the model", MODEL_KEYS, ALIASES, problems);
    let mut draft = ModelDraft::new();
    for &key in MODEL_KEYS {
        let Some((at, item)) = section.item(key) else { continue };
        let found = text_of(item, key).and_then(|text| value(key, &text, home));
        match found {
            Ok(value) => {
                let origin = reader.origin(&at, problems);
                draft.insert(key, Found { value, origin });
            }
            Err(invalid) => {
                problems.error(&at, format!("`{key}` {}", invalid.reason), Some(invalid.help));
            }
        }
    }
    check_whole(&section, problems);
    draft
}

/// A value of a file as a string: names are strings, and amounts are numbers.
pub(super) fn text_of(item: &Item, key: &str) -> Result<String, InvalidValue> {
    let is_number = key.starts_with("price") || key.ends_with("tokens");
    let text = match (item.as_str(), item.as_integer(), item.as_float()) {
        (Some(text), ..) if !is_number => Some(text.to_owned()),
        (_, Some(number), _) if is_number => Some(number.to_string()),
        (_, _, Some(number)) if is_number => Some(number.to_string()),
        _ => None,
    };
    let wanted = if is_number { "a number" } else { "a string" };
    let reason = format!("must be {wanted}, not {}", article(item.type_name()));
    text.ok_or(InvalidValue { reason, help: format!("write `{key} = ...` with {wanted}") })
}

/// Reports missing keys at the place where they belong.
fn check_whole(section: &Section, problems: &mut Problems) {
    for (key, example) in [("provider", "anthropic"), ("name", "claude-sonnet-4-5")] {
        if section.lacks(key) {
            let help = format!("write `{key} = \"{example}\"`, or what you use");
            problems.error(&section.span, format!("the model has no `{key}`"), Some(help));
        }
    }
    let compatible =
        section.table.get("provider").and_then(Item::as_str) == Some("openai-compatible");
    if compatible && section.lacks("endpoint") {
        let message = "the model has no `endpoint`, which `openai-compatible` needs";
        let help = "write `endpoint = \"http://127.0.0.1:8080/v1\"`, or where it is";
        problems.error(&section.span, message, Some(help.into()));
    }
    for (key, other) in [("price_in", "price_out"), ("price_out", "price_in")] {
        if section.item(key).is_some() && section.lacks(other) {
            let message = format!("`{key}` has no effect without `{other}`");
            let help = "set both or neither; without prices no cost is shown";
            problems.error(&section.key_span(key), message, Some(help.into()));
        }
    }
}
