//! `pitcrew`: the command line, and the entry point of every Pitcrew process.
//!
//! `internal` runs the internal processes. `cli` defines the arguments, `commands` runs them
//! through `client`, `follow` shows progress, and `render` turns views into text. Decides nothing
//! about plans: that is the kernel's job.

mod internal;
mod cli;
mod commands;
mod client;
mod backends;
mod workspace;
mod ids;
mod follow;
mod ask;
mod render;
mod output;
mod report;
mod exit;

use clap::FromArgMatches;
use cli::Cli;
use std::{ffi::OsString, process::ExitCode};

fn main() -> ExitCode {
    if let Err(error) = pitcrew_process::pass_nothing_on() {
        eprintln!("pitcrew: failed to close inherited files: {error}");
        return ExitCode::FAILURE;
    }
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let Some(ended) = internal::run(&words) {
        return ended;
    }
    let cli = Cli::from_arg_matches(&cli::command().get_matches());
    commands::dispatch(cli.unwrap_or_else(|error| error.exit()).command)
}
