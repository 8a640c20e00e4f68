//! The tools over HTTP: `POST /v1/mcp` opens a loopback port for them.

use serde::{Deserialize, Serialize};

/// A client that needs the port repeats the request this often.
pub const MCP_ASK_EVERY_MS: u64 = 2_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct McpRequest {
    /// 0: any free port. A port that is already open stays.
    pub port: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpAddress {
    pub url: String,
}
