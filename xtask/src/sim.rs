//! The simulator: many schedules, one seed, or every planted bug.

mod mutants;
mod plant;

use crate::program::{Failure, run_cargo};

/// The schedules of every test run.
const SCHEDULES_IN_TESTS: &str = "20000";

const USAGE: &str = "usage: cargo xtask sim [--schedules N] [--seed S], or --mutants [NAME]...";

pub fn run(arguments: &[String]) -> Result<(), Failure> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        [] => in_tests(),
        ["--mutants", names @ ..] => plant::try_all(names),
        _ if arguments.chunks(2).all(is_known) => simulate(&arguments),
        _ => Err(Failure(USAGE.into())),
    }
}

fn is_known(option: &[&str]) -> bool {
    matches!(option, ["--schedules" | "--seed", number] if number.parse::<u64>().is_ok())
}

/// The simulator's share of every test run.
pub fn in_tests() -> Result<(), Failure> {
    simulate(&["--schedules", SCHEDULES_IN_TESTS])
}

/// Uses the test profile: dependencies are optimized there too, and arithmetic is checked.
fn simulate(arguments: &[&str]) -> Result<(), Failure> {
    let run = ["run", "--quiet", "--package", "pitcrew-sim", "--"];
    run_cargo(&[&run, arguments].concat(), &[])
}
