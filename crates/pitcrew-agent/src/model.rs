//! The model behind the agent: its settings, requests and failures.
//!
//! `client` is the only module that uses the provider library. Nothing here decides what to do with
//! an answer.

mod setup;
mod usage;
mod failure;
mod client;

pub use pitcrew_acp::Prices;
pub use setup::{Key, ModelSetup};

pub(crate) use client::{Answer, Call, Client, Conversation, Piece, Stop};
pub(crate) use failure::{Failure, Wait};
pub(crate) use setup::ToolSpec;
pub(crate) use usage::Tokens;
