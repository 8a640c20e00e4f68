//! The processes that Pitcrew starts itself, such as `pitcrew shim`.
//!
//! These processes are recognized by their first argument before clap parses the command line,
//! because building the clap command takes longer than they run.

use std::{ffi::OsString, process::ExitCode};

/// Runs the internal process that the arguments name, if they name one.
pub fn run(words: &[OsString]) -> Option<ExitCode> {
    pitcrew_process::play_part(words).or_else(|| pitcrew_runtime::play_parser(words))
}
