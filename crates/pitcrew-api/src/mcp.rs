//! The tools over HTTP: `POST /v1/mcp` opens a port of the loopback for them.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct McpAsked {
    /// 0: any that is free. One that is open already stays.
    pub port: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpAddress {
    pub url: String,
}
