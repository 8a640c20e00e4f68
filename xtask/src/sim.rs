//! Simulates: many schedules, one seed again, or every planted bug.

mod mutants;
mod plant;

use crate::program::{Failure, run_cargo};

/// What every run of the tests simulates.
const SCHEDULES_IN_TESTS: &str = "20000";

const USAGE: &str = "usage: cargo xtask sim [--schedules N | --seed S | --mutants [NAME]...]";

pub fn run(arguments: &[String]) -> Result<(), Failure> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        [] => in_tests(),
        ["--schedules" | "--seed", number] if number.parse::<u64>().is_ok() => simulate(&arguments),
        ["--mutants", names @ ..] => plant::try_all(names),
        _ => Err(Failure(USAGE.into())),
    }
}

/// The share of the simulator in every run of the tests.
pub fn in_tests() -> Result<(), Failure> {
    simulate(&["--schedules", SCHEDULES_IN_TESTS])
}

/// With the build of the tests: what decides is optimised there too, and its arithmetic is checked.
fn simulate(arguments: &[&str]) -> Result<(), Failure> {
    let run = ["run", "--quiet", "--package", "pitcrew-sim", "--"];
    run_cargo(&[&run, arguments].concat(), &[])
}
