//! `pitcrew`: the command line, and the entry point of every Pitcrew process.
//!
//! `internal` runs the internal processes. `cli` defines the arguments, `commands` runs them
//! through `client`, `follow` shows progress, and `render` turns views into text. Decides nothing
//! about plans: that is the kernel's job.

mod internal;
mod cli;
mod complete;
mod commands;
mod client;
mod backends;
mod crew;
mod workspace;
mod ids;
mod follow;
mod ask;
mod render;
mod output;
mod pager;
mod report;
mod exit;

use clap::FromArgMatches;
use cli::Cli;
use commands::Errors;
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
    complete::answer();
    let parsed = cli::command().try_get_matches().and_then(|matches| {
        let errors = if cli::wants_json(&matches) { Errors::Json } else { Errors::Text };
        Cli::from_arg_matches(&matches).map(|it| (it, errors))
    });
    match parsed {
        Ok((cli, errors)) => commands::dispatch(cli, errors),
        Err(error) => commands::refuse(&error, &words),
    }
}
