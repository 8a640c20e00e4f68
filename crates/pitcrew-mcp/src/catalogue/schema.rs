//! JSON schema builders that several tools share.

use serde_json::{Map, Value, json};

/// Returns the schema of an object with these properties.
pub fn object(properties: Value, required: &[&str]) -> Value {
    let entries =
        [("type", json!("object")), ("properties", properties), ("required", json!(required))];
    Map::from_iter(entries.map(|it| (it.0.to_owned(), it.1))).into()
}

/// Returns the schema of a non-empty string.
pub fn text(description: &str) -> Value {
    json!({ "type": "string", "minLength": 1, "description": description })
}

pub fn choice(values: &[&str], default: Option<&str>, description: &str) -> Value {
    let mut schema = Map::from_iter([
        ("type".to_owned(), json!("string")),
        ("enum".to_owned(), json!(values)),
        ("description".to_owned(), json!(description)),
    ]);
    if let Some(default) = default {
        schema.insert("default".into(), json!(default));
    }
    schema.into()
}

pub fn texts(description: &str, example: Value) -> Value {
    let entries = [
        ("type", json!("array")),
        ("items", json!({ "type": "string", "minLength": 1 })),
        ("description", json!(description)),
        ("examples", Value::Array(vec![example])),
    ];
    Map::from_iter(entries.map(|it| (it.0.to_owned(), it.1))).into()
}

/// Returns the schema of the result of every command.
pub fn accepted(more: Value) -> Value {
    let mut properties = Map::from_iter([
        ("accepted".to_owned(), json!({ "type": "boolean" })),
        (
            "next".to_owned(),
            json!({
                "type": "string",
                "enum": ["continue", "end_turn"],
                "description": "What to do now."
            }),
        ),
    ]);
    if let Value::Object(more) = more {
        properties.extend(more);
    }
    object(properties.into(), &["accepted", "next"])
}
