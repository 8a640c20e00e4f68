//! Generates shell completions.

use super::CommandResult;
use crate::{
    cli::{self, CompletionsArgs},
    exit::Exit,
    output::Output,
};

pub fn run(args: &CompletionsArgs, output: Output) -> CommandResult {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut cli::command(), "pitcrew", &mut script);
    output.print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Success)
}
