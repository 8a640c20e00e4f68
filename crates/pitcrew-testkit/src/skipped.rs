//! Tests that this machine cannot run: reported, and listed so that CI can reject them.

use std::{fs::File, io::Write};

/// The file that lists them.
const LIST: &str = "PITCREW_TEST_SKIPPED";

/// Reports that a test, or a part of it, cannot run here.
pub fn skipped(name: &str, reason: &str) {
    if let Ok(path) = std::env::var(LIST) {
        let file = File::options().append(true).create(true).open(path);
        writeln!(file.expect("the list of skipped tests"), "{name}: {reason}").expect("a line");
    }
    eprintln!("SKIPPED {name}: {reason}");
}
