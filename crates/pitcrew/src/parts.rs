//! The processes that Pitcrew starts for itself: known by their first word, because to get ready for all
//! that a person may type takes longer than their work.

use std::{ffi::OsString, process::ExitCode};

/// Plays the part that the words of the command line name; none where a person typed them.
pub fn play(words: &[OsString]) -> Option<ExitCode> {
    pitcrew_process::play_part(words).or_else(|| pitcrew_runtime::play_parser(words))
}
