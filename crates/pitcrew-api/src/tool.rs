//! The tools that a worker calls: `POST /v1/tools/{name}` with its own token and the tool's
//! arguments as the body.

use serde::{Deserialize, Serialize};

/// What the agent is told. A tool that failed is an answer too, so that the agent can do better.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolAnswer {
    pub is_error: bool,
    pub text: String,
}

impl ToolAnswer {
    pub fn told(text: impl Into<String>) -> Self {
        Self { is_error: false, text: text.into() }
    }

    pub fn failed(text: impl Into<String>) -> Self {
        Self { is_error: true, text: text.into() }
    }
}
