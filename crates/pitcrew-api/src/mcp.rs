//! The tools over HTTP: `POST /v1/mcp` opens a port of the loopback for them.

use serde::{Deserialize, Serialize};

/// Whoever wants the port kept asks for it again this often.
pub const MCP_ASK_EVERY_MS: u64 = 2_000;

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
