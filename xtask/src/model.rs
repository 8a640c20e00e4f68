//! Starts the scripted model of the testkit in the foreground.

use crate::program::{Failure, run_cargo};

pub fn run(arguments: &[String]) -> Result<(), Failure> {
    let mut cargo =
        vec!["run", "--quiet", "--package", "pitcrew-testkit", "--example", "model", "--"];
    cargo.extend(arguments.iter().map(String::as_str));
    run_cargo(&cargo, &[])
}
