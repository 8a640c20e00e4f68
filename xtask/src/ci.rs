//! The checks before a merge. CI runs nothing else.

use crate::{
    crash,
    program::{Failure, run_cargo},
    sim, test, tidy,
};
use std::time::{Duration, Instant};

type Step = (&'static str, fn() -> Result<(), Failure>);

/// The fast checks first. Clippy and the docs share build artifacts; the tests have their own.
const STEPS: &[Step] = &[
    ("fmt", fmt),
    ("tidy", tidy::run),
    ("clippy", clippy),
    ("docs", docs),
    ("test", test::run),
    ("sim", sim::in_tests),
    ("crash", crash::run_usual),
];

pub fn run() -> Result<(), Failure> {
    let mut times = Vec::new();
    for (name, step) in STEPS {
        println!("\n== {name}");
        let began = Instant::now();
        let result = step();
        times.push((*name, began.elapsed()));
        if let Err(failure) = result {
            print_times(&times);
            return Err(Failure(format!("{name}: {failure}")));
        }
    }
    print_times(&times);
    println!("all checks passed");
    Ok(())
}

fn fmt() -> Result<(), Failure> {
    run_cargo(&["fmt", "--all", "--check"], &[])
}

/// Builds everything including tests, and accepts no warning of the compiler or of clippy.
const CLIPPY: &[&str] = &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];

fn clippy() -> Result<(), Failure> {
    run_cargo(CLIPPY, &[])
}

const DOCS_FLAGS: (&str, &str) = ("RUSTDOCFLAGS", "-D warnings");

fn docs() -> Result<(), Failure> {
    run_cargo(&["doc", "--workspace", "--no-deps"], &[DOCS_FLAGS])
}

fn print_times(times: &[(&str, Duration)]) {
    println!();
    for (name, time) in times {
        println!("{name:<8}{:>8.1} s", time.as_secs_f64());
    }
    let total: Duration = times.iter().map(|it| it.1).sum();
    println!("{:<8}{:>8.1} s", "total", total.as_secs_f64());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program;
    use std::fs;

    fn read(path: &str) -> String {
        fs::read_to_string(program::root().join(path)).expect("a file of the repository")
    }

    fn position(name: &str) -> Option<usize> {
        STEPS.iter().position(|it| it.0 == name)
    }

    /// S0-114: CI runs this one command, and it includes every test.
    #[test]
    fn ci_runs_every_test() {
        let commands = read(".ci/run");
        assert_eq!(commands.lines().last(), Some("exec cargo xtask ci"));
        assert!(position("test").is_some());
        assert!(test::CARGO.starts_with(&["test", "--workspace"]), "no crate is left out");
    }

    /// S3-063: a warning of the compiler, of clippy or of the documentation fails CI before any
    /// test.
    #[test]
    fn a_warning_fails_ci() {
        assert!(position("clippy") < position("test") && position("docs") < position("test"));
        assert!(position("clippy").is_some() && position("docs").is_some());
        assert!(CLIPPY.ends_with(&["--", "-D", "warnings"]), "{CLIPPY:?}");
        assert!(CLIPPY.contains(&"--workspace") && CLIPPY.contains(&"--all-targets"));
        assert_eq!(DOCS_FLAGS.1, "-D warnings");
    }

    /// S2-025: a lock that is held across an await is a compile error in every crate.
    #[test]
    fn no_crate_holds_a_lock_across_an_await() {
        let manifest = read("Cargo.toml");
        assert!(manifest.contains("\nawait_holding_lock = \"deny\"\n"));
        let mut crates = vec!["xtask".to_owned()];
        for entry in fs::read_dir(program::root().join("crates")).expect("the crates").flatten() {
            crates.push(format!("crates/{}", entry.file_name().to_string_lossy()));
        }
        for folder in crates {
            let lints = "\n[lints]\nworkspace = true\n";
            assert!(read(&format!("{folder}/Cargo.toml")).contains(lints), "{folder}");
        }
    }
}
