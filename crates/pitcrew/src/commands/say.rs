//! What the short commands say once the orchestrator has taken them.

use super::Done;
use crate::{cli::Json, exit::Exit, output::Output, report::Report};
use pitcrew_api::Accepted;

/// The order is in the journal.
pub fn accepted(output: Output, json: Json, accepted: &Accepted, words: &str) -> Done {
    if json.json {
        output.json(accepted)?;
    } else {
        output.line(words)?;
    }
    Ok(Exit::Success)
}

/// The plan file that the person named.
pub fn read_file(path: &std::path::Path) -> Result<Vec<u8>, Report> {
    std::fs::read(path).map_err(|error| {
        Report::new(Exit::Usage, format!("failed to read `{}`", path.display()))
            .because(error.to_string())
            .help("name a plan file; `pitcrew init` writes one to begin with")
    })
}
