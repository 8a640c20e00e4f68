//! The command line: every command with its arguments and help text.
//!
//! The behaviour of the commands is in `commands`, one file per command.

mod args;
mod groups;

pub use args::*;
pub use groups::{command, pages};
