//! Which model is used, and what it is offered.

use pitcrew_acp::Prices;
use pitcrew_model::ModelProvider;
use serde_json::Value;
use std::fmt;

/// What the agent needs to know to ask a model.
#[derive(Clone, Debug)]
pub struct ModelSetup {
    pub provider: ModelProvider,
    pub name: String,
    /// Everything before what the provider's interface names; the provider's own when absent.
    pub endpoint: Option<String>,
    pub key: Key,
    /// Variables that nobody but the agent itself may see.
    pub withheld: Vec<String>,
    /// What one answer may have; the provider's own limit when absent.
    pub max_output_tokens: Option<u32>,
    /// What a conversation may have before a turn ends with an error.
    pub context_tokens: u64,
    pub prices: Option<Prices>,
}

/// How the agent proves who pays.
#[derive(Clone)]
pub enum Key {
    NotNeeded,
    Given(String),
    /// There should be one; the text says what to do.
    Missing(String),
}

// `Debug` ends up in logs.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotNeeded => f.write_str("NotNeeded"),
            Self::Given(_) => f.write_str("Given(hidden)"),
            Self::Missing(what) => f.debug_tuple("Missing").field(what).finish(),
        }
    }
}

/// A tool that the model may call.
#[derive(Clone, Debug)]
pub(crate) struct ToolSpec {
    pub name: String,
    pub description: String,
    /// JSON Schema of its arguments.
    pub schema: Value,
}
