//! The command line: every command with its arguments and help text.
//!
//! What the commands do is in `commands`, one file per command.

mod args;
mod groups;

pub use args::*;
pub use groups::command;
