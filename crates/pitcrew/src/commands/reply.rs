//! Output that the short commands share.

use super::CommandResult;
use crate::{cli::Json, exit::Exit, output::Output, report::Report};
use pitcrew_api::Accepted;

/// Prints the result of an accepted command.
pub fn accepted(output: Output, json: Json, accepted: &Accepted, words: &str) -> CommandResult {
    if json.json {
        output.json(accepted)?;
    } else {
        output.line(words)?;
    }
    Ok(Exit::Success)
}

/// Reads a plan file.
pub fn read_file(path: &std::path::Path) -> Result<Vec<u8>, Report> {
    std::fs::read(path).map_err(|error| {
        Report::new(Exit::Usage, format!("failed to read `{}`", path.display()))
            .because(error.to_string())
            .help("pass a plan file; `pitcrew init` creates an example")
    })
}
