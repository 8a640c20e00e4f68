//! What the tests start in place of Pitcrew's own executable: it makes the boxes.

use std::{ffi::OsString, process::ExitCode};

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    pitcrew_process::play_part(&words).unwrap_or(ExitCode::FAILURE)
}
