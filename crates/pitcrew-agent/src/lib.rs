//! The built-in agent: an ACP agent over stdio that runs scripts, commands, or a model.
//!
//! `agent_main` is the process. Without a model it executes the order that the client sends with
//! the prompt, and ignores the text; a script is parsed completely before its first step
//! (`script`). With one (`model`), a turn is a conversation in which the model calls tools until it
//! is done. Every step is reported over ACP (`turn`), and completion goes through the session's MCP
//! server (`tools`), as with any agent. The README of this crate describes both. It never decides
//! by itself what to do.

mod policy;
mod model;
pub mod script;
mod tools;
mod wire;
mod session;
mod turn;
mod agent;
#[cfg(test)]
mod foreign;

pub use agent::{Options, agent_main};
pub use model::{Key, ModelSetup, Prices};
