//! The processes that Pitcrew starts for itself, around every agent and every check: known by their
//! first word, because to get ready for all that a person may type takes longer than their work.

use pitcrew_process::{bridge_main, confine_main, egress_main, shim_main};
use std::{ffi::OsString, path::Path, process::ExitCode};

/// Plays the part that the words of the command line name; none where a person typed them.
pub fn play(words: &[OsString]) -> Option<ExitCode> {
    let (name, words) = words.split_first()?;
    Some(match (name.to_str()?, words) {
        // The shim outlives everything and does without a runtime.
        ("shim", [folder]) => shim_main(Path::new(folder)),
        ("egress", [spec]) => egress_main(Path::new(spec)),
        ("bridge", [spec]) => bridge_main(spec.to_str()?, None),
        ("bridge", [spec, more]) => bridge_main(spec.to_str()?, Some(more.to_str()?)),
        // The launcher must have no other thread: what it takes from itself it takes from this one.
        ("confine", [spec, dashes, argv @ ..]) if dashes == "--" && !argv.is_empty() => {
            confine_main(spec.to_str()?, argv)
        }
        _ => return None,
    })
}
