//! A model that does what the prompt says: a server that speaks the APIs of the vendors, so that
//! real agents can be run without a network, an account or chance.
//!
//! The prompt carries a script, one step for each call of the model. Which step is next is read off
//! the conversation that the agent sends along, so any number of sessions can go on at once. The
//! language is described in the README of this crate. It never answers what it was not told to.

mod script;
mod conversation;
mod tools;
mod outcome;
mod dialect;
mod server;

pub use server::ModelServer;
