//! Converts a plan in JSON into the text of a plan file, so that there is one parser of plans.

use crate::catalogue::letters;
use serde_json::Value;
use std::fmt::Write as _;

/// Aliases of the keys of a plan file.
const KEYS: &[&str] = &[
    "name",
    "description",
    "base",
    "deploy",
    "overlap",
    "effort",
    "shared",
    "denied",
    "reads",
    "setup",
    "setup_inputs",
    "max_attempts",
    "timeout",
    "max_tokens",
    "max_cost",
    "id",
    "prompt",
    "region",
    "depends_on",
    "agent",
    "backend",
    "command",
    "script",
    "checks",
    "expected_files",
    "criteria",
];
const OTHER_KEYS: &[(&str, &str)] = &[
    ("agenttype", "agent"),
    ("task", "prompt"),
    ("instructions", "prompt"),
    ("dependencies", "depends_on"),
    ("dependson", "depends_on"),
    ("targetfiles", "region"),
    ("acceptancecriteria", "criteria"),
];

/// Writes `key = value` lines. Invalid values are written such that the parser names the key.
pub fn lines<'a>(entries: impl Iterator<Item = (&'a String, &'a Value)>, text: &mut String) {
    for (spelling, value) in entries.filter(|it| !it.1.is_null()) {
        writeln!(text, "{} = {}", key(spelling), toml(value)).expect("a string takes everything");
    }
}

/// Returns the name of the key in a plan file.
fn key(spelling: &str) -> String {
    let wanted = letters(spelling);
    let known = KEYS.iter().find(|it| letters(it) == wanted).copied();
    let known = known.or_else(|| OTHER_KEYS.iter().find(|it| it.0 == wanted).map(|it| it.1));
    known.map_or_else(|| quoted(spelling), str::to_owned)
}

fn toml(value: &Value) -> String {
    match value {
        Value::Null => "\"\"".to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => quoted(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(toml).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(entries) => {
            let entries = entries.iter().filter(|it| !it.1.is_null());
            let entries: Vec<String> =
                entries.map(|it| format!("{} = {}", quoted(it.0), toml(it.1))).collect();
            format!("{{ {} }}", entries.join(", "))
        }
    }
}

/// JSON strings are valid TOML strings, except for one character.
fn quoted(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}
