//! The built-in agent: an ACP agent over stdio that works by script, by command, or with a model.
//!
//! `agent_main` is the process. Without a model it executes the order that the client sends beside the
//! prompt, and finds none in words; a script is read before its first step is done (`script`). With one (`model`) a turn is a talk with it, in
//! which it calls tools until it is done. Every step is told over ACP while it is done (`turn`), and
//! completion goes through the MCP server that the session brings (`tools`), like any agent's. The
//! README beside this crate describes both. It never decides what to do by itself.

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
