//! The processes that Pitcrew starts from its own executable, around every agent and every check.
//! The first argument of the command line selects one of them.

use crate::{
    bridge::bridge_main, egress::egress_main, enclose::enclose_main, launch::confine_main,
    shim::shim_main,
};
use std::{ffi::OsString, path::Path, process::ExitCode};

/// Runs the process that the arguments name, and returns nothing if they name none.
pub fn play_part(words: &[OsString]) -> Option<ExitCode> {
    let (name, words) = words.split_first()?;
    Some(match (name.to_str()?, words) {
        // The shim outlives the orchestrator and needs no runtime.
        ("shim", [folder]) => shim_main(Path::new(folder)),
        ("egress", [spec]) => egress_main(Path::new(spec)),
        ("bridge", [spec]) => bridge_main(spec.to_str()?, None),
        ("bridge", [spec, more]) => bridge_main(spec.to_str()?, Some(more.to_str()?)),
        // The launcher must have no other thread, because it drops rights of the current thread
        // only.
        ("confine", [spec, dashes, argv @ ..]) if dashes == "--" && !argv.is_empty() => {
            confine_main(spec.to_str()?, argv)
        }
        ("enclose", [spec, dashes, argv @ ..]) if dashes == "--" && !argv.is_empty() => {
            enclose_main(spec.to_str()?, argv)
        }
        _ => return None,
    })
}
