//! Everything that must hold before a change is taken. Nothing runs elsewhere that does not run here.

use crate::{
    crash,
    program::{Failure, run_cargo},
    sim, test, tidy,
};
use std::time::{Duration, Instant};

type Step = (&'static str, fn() -> Result<(), Failure>);

/// The quick ones first. Clippy and the docs share their artifacts, the tests have their own.
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
    println!("everything holds");
    Ok(())
}

fn fmt() -> Result<(), Failure> {
    run_cargo(&["fmt", "--all", "--check"], &[])
}

fn clippy() -> Result<(), Failure> {
    run_cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"], &[])
}

fn docs() -> Result<(), Failure> {
    run_cargo(&["doc", "--workspace", "--no-deps"], &[("RUSTDOCFLAGS", "-D warnings")])
}

fn print_times(times: &[(&str, Duration)]) {
    println!();
    for (name, time) in times {
        println!("{name:<8}{:>8.1} s", time.as_secs_f64());
    }
    let total: Duration = times.iter().map(|it| it.1).sum();
    println!("{:<8}{:>8.1} s", "total", total.as_secs_f64());
}
