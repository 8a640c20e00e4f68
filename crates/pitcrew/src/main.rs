//! `pitcrew`: the commands, and every process that Pitcrew is made of.
//!
//! `cli` says what can be typed, `commands` does it with the help of `client`, `follow` tells what
//! happens meanwhile, and `render` makes text of it. Decides nothing about plans: that is the
//! kernel's business.

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
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::from_arg_matches(&cli::command().get_matches());
    commands::dispatch(cli.unwrap_or_else(|error| error.exit()).command)
}
