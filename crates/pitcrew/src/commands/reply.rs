//! Output that the short commands share.

use super::CommandResult;
use crate::{cli::Json, exit::Exit, output::Output, report::Report};
use pitcrew_api::Accepted;
use std::{
    fs,
    io::{self, Read},
    path::Path,
};

/// Prints the result of an accepted command.
pub fn accepted(output: Output, json: Json, accepted: &Accepted, words: &str) -> CommandResult {
    if json.json {
        output.json(accepted)?;
    } else {
        output.line(words)?;
    }
    Ok(Exit::Success)
}

/// Reads a plan file, or standard input for `-`. Returns the name for messages as well.
pub fn read_file(path: &Path) -> Result<(String, Vec<u8>), Report> {
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        let read = io::stdin().read_to_end(&mut bytes);
        return read.map(|_| ("standard input".to_owned(), bytes)).map_err(|error| {
            Report::new(Exit::Usage, "failed to read a plan from standard input")
                .because(error.to_string())
        });
    }
    let name = path.display().to_string();
    let read = fs::read(path).map_err(|error| {
        Report::new(Exit::Usage, format!("failed to read `{name}`"))
            .because(error.to_string())
            .help("pass a plan file; `pitcrew init` creates an example")
    });
    Ok((name, read?))
}
