//! What a tool says back.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What a call led to: in words for a model, and as an object for a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolAnswer {
    pub text: String,
    /// An object by type: some clients drop a server that answers with a bare number.
    pub structured: Map<String, Value>,
}

/// Why a call was not carried out, and what to do instead.
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
