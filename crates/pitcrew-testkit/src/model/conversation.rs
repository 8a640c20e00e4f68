//! A conversation, independent of the vendor's format.

use serde_json::{Map, Value};

#[derive(Debug, Default)]
pub(super) struct Conversation {
    pub model: String,
    pub system: String,
    pub items: Vec<Item>,
    pub tools: Vec<Tool>,
    pub delivery: Delivery,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Delivery {
    #[default]
    Whole,
    Streamed,
}

/// The relevant parts of a message. The model's own messages are not relevant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Item {
    User(String),
    ToolResult,
}

/// A tool as the agent offers it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Tool {
    pub name: String,
    /// The namespace of some names; returned beside the name.
    pub namespace: Option<String>,
    pub properties: Map<String, Value>,
    pub required: Vec<String>,
}

impl Tool {
    pub fn new(name: &Value, schema: &Value) -> Self {
        let required = schema["required"].as_array().into_iter().flatten();
        Self {
            name: text(name),
            namespace: None,
            properties: schema["properties"].as_object().cloned().unwrap_or_default(),
            required: required.map(text).collect(),
        }
    }
}

impl Conversation {
    /// Approximately what a vendor would count.
    pub fn tokens_count(&self) -> u64 {
        let said = self.items.iter().map(|it| match it {
            Item::User(text) => text.len(),
            Item::ToolResult => 40,
        });
        let bytes = self.system.len() + said.sum::<usize>() + 100 * self.tools.len();
        tokens_in(bytes)
    }
}

pub(super) fn tokens_in(bytes: usize) -> u64 {
    u64::try_from(bytes / 4).unwrap_or(u64::MAX).max(1)
}

pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The texts of a content that is a string or a list of parts.
pub(super) fn texts(content: &Value) -> Vec<String> {
    match content {
        Value::String(text) => vec![text.clone()],
        Value::Array(parts) => {
            parts.iter().filter_map(|it| it["text"].as_str()).map(str::to_owned).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    }
}
