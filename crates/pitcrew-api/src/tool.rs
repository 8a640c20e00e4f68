//! The tools that a worker calls: `POST /v1/tools/{name}` with its own token and the tool's
//! arguments as the body.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The answer for the model. A failed call is an answer too, so that the agent can react.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolReply {
    pub is_error: bool,
    pub text: String,
    /// The same for a program.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub structured: Map<String, Value>,
}

/// The answer to `GET /v1/tools`: the names of the tools that the caller sees.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolNames {
    pub names: Vec<String>,
}

impl ToolReply {
    pub fn ok(text: impl Into<String>) -> Self {
        Self { is_error: false, text: text.into(), structured: Map::new() }
    }

    pub fn failed(text: impl Into<String>) -> Self {
        Self { is_error: true, text: text.into(), structured: Map::new() }
    }

    #[must_use]
    pub fn with(self, structured: Map<String, Value>) -> Self {
        Self { structured, ..self }
    }
}
