//! The executable that tests use instead of Pitcrew's own to make boxes.

use std::{ffi::OsString, process::ExitCode};

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    pitcrew_process::play_part(&words).unwrap_or(ExitCode::FAILURE)
}
