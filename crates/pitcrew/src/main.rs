//! `pitcrew`: the commands, and every process that Pitcrew is made of.
//!
//! `parts` are the processes that we start for ourselves. `cli` says what can be typed, `commands`
//! does it with the help of `client`, `follow` tells what happens meanwhile, and `render` makes text
//! of it. Decides nothing about plans: that is the kernel's business.

mod parts;
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
        eprintln!("pitcrew: cannot tell which files are open: {error}");
        return ExitCode::FAILURE;
    }
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let Some(ended) = parts::play(&words) {
        return ended;
    }
    let cli = Cli::from_arg_matches(&cli::command().get_matches());
    commands::dispatch(cli.unwrap_or_else(|error| error.exit()).command)
}
