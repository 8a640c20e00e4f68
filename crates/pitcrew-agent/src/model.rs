//! The model behind the agent: which one it is, how it is asked, and what its failures mean.
//!
//! `client` is the only module that names the library of the providers. Nothing here decides what
//! is done with an answer.

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
