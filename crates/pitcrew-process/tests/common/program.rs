//! The program that replaces Pitcrew's own executable in these tests.

use std::path::PathBuf;

/// Cargo builds the examples of a crate together with its tests.
pub fn shim_program() -> PathBuf {
    let tests = std::env::current_exe().expect("the test itself");
    let folder = tests.ancestors().nth(2).expect("Cargo's folders");
    let program = folder.join("examples/process_shim");
    assert!(program.exists(), "build it first: cargo build --package pitcrew-process --examples");
    program
}
