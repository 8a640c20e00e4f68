//! Kills the real binary and cuts its power.
//!
//! Builds the binary with its failpoints, and the harness; `pitcrew-crash` runs the rounds, so that
//! xtask has no dependencies.

use crate::program::{self, Failure, read, root, run_cargo};
use std::{fs, path::PathBuf};

/// The checks before a merge: rounds, power cuts, and the proof that a loss would be found.
const USUAL: &[&[&str]] =
    &[&["--rounds", "60"], &["--power-loss", "3000"], &["--power-loss", "300", "--prove"]];

/// The default checks.
pub fn run_usual() -> Result<(), Failure> {
    run(&[])
}

/// Runs what the arguments select; without arguments, the default checks.
pub fn run(arguments: &[String]) -> Result<(), Failure> {
    require_tracer()?;
    let binary = build()?;
    if !arguments.is_empty() {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        return play(&binary, &arguments);
    }
    USUAL.iter().try_for_each(|it| play(&binary, it))
}

fn play(binary: &str, arguments: &[&str]) -> Result<(), Failure> {
    let mut whole = vec!["run", "--quiet", "--package", "pitcrew-crash", "--", "--binary", binary];
    whole.extend(arguments);
    run_cargo(&whole, &[])
}

/// Builds the binary and copies it, because the next ordinary build replaces it.
fn build() -> Result<String, Failure> {
    let what =
        ["rustc", "--package", "pitcrew", "--bin", "pitcrew", "--features", "fail/failpoints"];
    // Every round starts it a hundred times or more, and a position-independent program has a
    // quarter of a million relocations to apply at each start.
    run_cargo(&[&what[..], &["--", "-C", "relocation-model=static"]].concat(), &[])?;
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let (from, folder) = (target.join("debug/pitcrew"), target.join("crash"));
    let to = folder.join("pitcrew");
    fs::create_dir_all(&folder)
        // A running binary cannot be overwritten.
        .and_then(|()| fs::remove_file(&to).or(Ok(())))
        .and_then(|()| fs::copy(&from, &to))
        .map_err(|error| Failure(format!("cannot copy `{}`: {error}", from.display())))?;
    let shown = to.display().to_string();
    to.to_str().map(str::to_owned).ok_or_else(|| Failure(format!("`{shown}` is not UTF-8")))
}

/// `strace` records the writes of a run.
fn require_tracer() -> Result<(), Failure> {
    if read("strace", &["-V"]).is_ok() {
        return Ok(());
    }
    println!("strace is not installed; trying to install it");
    let get = |arguments: &[&str]| {
        program::command("apt-get", arguments).status().is_ok_and(|it| it.success())
    };
    let install = || get(&["install", "--yes", "strace"]);
    // A fresh machine may have no package lists yet.
    if install() || get(&["update"]) && install() {
        return Ok(());
    }
    Err(Failure("strace is required to record a run: install it, e.g. `apt install strace`".into()))
}
