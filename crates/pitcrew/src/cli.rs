//! What can be typed: every command, its arguments, its help.
//!
//! Says nothing about what the commands do; that is in `commands`, one file each.

mod args;
mod groups;

pub use args::*;
pub use groups::command;
