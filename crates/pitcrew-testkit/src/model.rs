//! A scripted model: a server with the vendors' APIs, so that real agents run without a network or
//! an account, and deterministically.
//!
//! The prompt contains a script with one step for each model call. The next step is derived from
//! the conversation that the agent sends, so any number of sessions can run at once. The README of
//! this crate describes the language. The model never does anything outside its script.

mod script;
mod conversation;
mod tools;
mod response;
mod dialect;
mod server;

pub use server::ModelServer;
