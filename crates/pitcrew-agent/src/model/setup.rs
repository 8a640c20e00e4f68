//! The settings of the model, and the tools it can call.

use pitcrew_acp::Prices;
use pitcrew_model::ModelProvider;
use serde_json::Value;
use std::fmt;

/// The settings of a model.
#[derive(Clone, Debug)]
pub struct ModelSetup {
    pub provider: ModelProvider,
    pub name: String,
    /// The base URL of the provider's interface. If absent, the provider's own.
    pub endpoint: Option<String>,
    pub key: Key,
    /// Variables that only the agent itself may see.
    pub withheld: Vec<String>,
    /// The output limit of one answer. If absent, the provider's own.
    pub max_output_tokens: Option<u32>,
    /// The size of a conversation at which a turn ends with an error.
    pub context_tokens: u64,
    pub prices: Option<Prices>,
}

/// The API key.
#[derive(Clone)]
pub enum Key {
    NotNeeded,
    Given(String),
    /// There should be one; the text says how to set it.
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
    /// The JSON Schema of its arguments.
    pub schema: Value,
}
