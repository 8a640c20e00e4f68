//! The answer of a tool.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The result of a call: text for a model, and an object for a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolAnswer {
    pub text: String,
    /// Always an object: some clients drop a server that answers with a bare number.
    pub structured: Map<String, Value>,
}

impl ToolAnswer {
    /// Removes null values, because not every client accepts them.
    pub fn new(text: impl Into<String>, structured: Map<String, Value>) -> Self {
        let mut structured = Value::Object(structured);
        remove_nulls(&mut structured);
        let structured = match structured {
            Value::Object(structured) => structured,
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => unreachable!("an object stays one"),
        };
        Self { text: text.into(), structured }
    }
}

fn remove_nulls(value: &mut Value) {
    match value {
        Value::Object(entries) => {
            entries.retain(|_, it| !it.is_null());
            entries.values_mut().for_each(remove_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_nulls),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Why a call was not carried out, and what to send instead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct ToolRefusal {
    pub message: String,
}

impl ToolRefusal {
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }
}
