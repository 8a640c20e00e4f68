//! A plan that came as JSON, as the text of a plan file: there is one reader of plans.

use crate::catalogue::letters;
use serde_json::Value;
use std::fmt::Write as _;

/// The keys of a plan file that callers spell in their own way.
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

/// Writes `key = value` lines. What cannot be written this way is written so that the reader
/// names the key.
pub fn lines<'a>(entries: impl Iterator<Item = (&'a String, &'a Value)>, text: &mut String) {
    for (spelling, value) in entries.filter(|it| !it.1.is_null()) {
        writeln!(text, "{} = {}", key(spelling), toml(value)).expect("a string takes everything");
    }
}

/// The name of the key in a plan file.
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

/// JSON's way to quote is TOML's too, but for one character.
fn quoted(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}
