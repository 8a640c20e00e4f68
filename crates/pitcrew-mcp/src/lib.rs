//! The tools that agents are offered over MCP.
//!
//! `ToolCall` reads a call, whatever door it came through: the MCP server here, `pitcrew tool`, or
//! HTTP. The server itself decides nothing: it hands every call to an `Orchestrator` and renders
//! what that says. Nothing here knows which attempt is calling; that comes from the caller's token.

mod answer;
mod call;
mod catalogue;
mod server;

pub use answer::{ToolAnswer, ToolRefusal};
pub use call::{ToolCall, ToolCallError};
pub use catalogue::{COMPLETE_TASK, NOTIFY_ORCHESTRATOR, ToolInfo, canonical_name, tools};
pub use server::{Orchestrator, ServeError, serve, serve_stdio};
