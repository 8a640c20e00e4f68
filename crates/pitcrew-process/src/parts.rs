//! The processes that Pitcrew starts for itself, around every agent and every check: known by the
//! first word of their command line.

use crate::{
    bridge::bridge_main, egress::egress_main, enclose::enclose_main, launch::confine_main,
    shim::shim_main,
};
use std::{ffi::OsString, path::Path, process::ExitCode};

/// Plays the part that the words of the command line name; none where they name no part.
pub fn play_part(words: &[OsString]) -> Option<ExitCode> {
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
        ("enclose", [spec, dashes, argv @ ..]) if dashes == "--" && !argv.is_empty() => {
            enclose_main(spec.to_str()?, argv)
        }
        _ => return None,
    })
}
