//! The interpreter for scripted agents, and the worst of them.

use std::process::Command;

/// A program that starts processes without end, up to the system's limit.
pub const BOMBS: &str = include_str!("../bombs.py");

/// The interpreter itself: the first one on the path may be a wrapper that needs a home.
#[expect(clippy::disallowed_methods, reason = "tests start what they test")]
pub fn python() -> String {
    let mut python = Command::new("python3");
    let output = python.args(["-c", "import sys; print(sys.executable)"]).output();
    let output = output.expect("python3 is there");
    String::from_utf8(output.stdout).expect("a path").trim().to_owned()
}
