//! The built-in agent: an ACP agent over stdio that works by script or by command, without a model.
//!
//! `agent_main` is the process. A prompt becomes an order (`prompt`), a script is read before its
//! first step is done (`script`), and every step is told over ACP while it is done (`turn`).
//! Completion goes through the MCP server that the session brings (`tools`), like any agent's. The
//! README beside this crate describes the language. It never decides what to do by itself.

mod policy;
mod prompt;
pub mod script;
mod tools;
mod wire;
mod session;
mod turn;
mod agent;
#[cfg(test)]
mod foreign;

pub use agent::{Options, agent_main};
