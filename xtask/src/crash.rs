//! Kills the real binary and cuts the power under it.
//!
//! Builds the binary with the points at which it can be killed, and the harness; the rounds
//! themselves are played by `pitcrew-crash`, so that the chores depend on nothing.

use crate::program::{self, Failure, read, root, run_cargo};
use std::{fs, path::PathBuf};

/// What must hold before a change is taken: rounds, cuts, and that a lost promise would be found.
const USUAL: &[&[&str]] =
    &[&["--rounds", "60"], &["--power-loss", "3000"], &["--power-loss", "300", "--prove"]];

/// Everything that is usual.
pub fn run_usual() -> Result<(), Failure> {
    run(&[])
}

/// What the arguments ask for; everything that is usual where there are none.
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

/// Builds the binary and puts it aside: the next ordinary build takes its place.
fn build() -> Result<String, Failure> {
    let what =
        ["rustc", "--package", "pitcrew", "--bin", "pitcrew", "--features", "fail/failpoints"];
    // Every round starts it a hundred times and more, and at an address of its choice a program has a
    // quarter of a million places to correct before it begins.
    run_cargo(&[&what[..], &["--", "-C", "relocation-model=static"]].concat(), &[])?;
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let (from, folder) = (target.join("debug/pitcrew"), target.join("crash"));
    let to = folder.join("pitcrew");
    fs::create_dir_all(&folder)
        // A binary that runs somewhere cannot be written to.
        .and_then(|()| fs::remove_file(&to).or(Ok(())))
        .and_then(|()| fs::copy(&from, &to))
        .map_err(|error| Failure(format!("cannot copy `{}`: {error}", from.display())))?;
    let shown = to.display().to_string();
    to.to_str().map(str::to_owned).ok_or_else(|| Failure(format!("`{shown}` is not UTF-8")))
}

/// The writes of a run are recorded by `strace`.
fn require_tracer() -> Result<(), Failure> {
    if read("strace", &["-V"]).is_ok() {
        return Ok(());
    }
    println!("strace is not there; trying to install it");
    let get = |arguments: &[&str]| {
        program::command("apt-get", arguments).status().is_ok_and(|it| it.success())
    };
    let install = || get(&["install", "--yes", "strace"]);
    // A fresh machine may not know its packages yet.
    if install() || get(&["update"]) && install() {
        return Ok(());
    }
    Err(Failure("strace is needed to record a run: install it, e.g. `apt install strace`".into()))
}
