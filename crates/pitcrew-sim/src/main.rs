//! Runs schedules by seed and reports what broke. Started by `cargo xtask sim`.

use pitcrew_sim::{Broken, Schedule, Tracing, run, run_all, shrink};
use std::{num::NonZero, process::ExitCode, thread, time::Instant};

const USAGE: &str = "usage: pitcrew-sim [--schedules N] [--seed S] [--brief]";

/// The default number of schedules.
const SCHEDULES: u64 = 20_000;

struct Options {
    schedules: Option<u64>,
    /// The first schedule. If it is the only one, its trace is printed.
    seed: Option<u64>,
    /// Print only what broke.
    brief: bool,
}

fn main() -> ExitCode {
    // A panic is caught and reported with its seed.
    std::panic::set_hook(Box::new(|_| {}));
    let Some(options) = parse(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match (options.seed, options.schedules) {
        (Some(seed), None) => replay(seed),
        (Some(_) | None, _) => many(&options),
    }
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Option<Options> {
    let mut options = Options { schedules: None, seed: None, brief: false };
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--schedules" => options.schedules = Some(arguments.next()?.parse().ok()?),
            "--seed" => options.seed = Some(arguments.next()?.parse().ok()?),
            "--brief" => options.brief = true,
            _ => return None,
        }
    }
    Some(options)
}

fn replay(seed: u64) -> ExitCode {
    let report = run(&Schedule::from_seed(seed), Tracing::On);
    match report.broken {
        Some(broken) => {
            explain(seed, &broken);
            ExitCode::FAILURE
        }
        None => {
            println!("{}\nseed {seed} breaks nothing", report.trace.join("\n"));
            ExitCode::SUCCESS
        }
    }
}

fn many(options: &Options) -> ExitCode {
    let began = Instant::now();
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let (first, count) = (options.seed.unwrap_or(0), options.schedules.unwrap_or(SCHEDULES));
    let summary = run_all(first, count, threads);
    if let Some((seed, broken)) = &summary.broken {
        if options.brief {
            println!("{seed}\t{}\t{}", broken.invariant, broken.detail);
        } else {
            explain(*seed, broken);
        }
        return ExitCode::FAILURE;
    }
    if !options.brief {
        println!("{}", summary.counters);
        let (count, seconds) = (summary.schedules, began.elapsed().as_secs_f64());
        let rate = count * 1_000 / u64::try_from(began.elapsed().as_millis().max(1)).unwrap_or(1);
        println!("{count:>12}  schedules in {seconds:.1} s on {threads} threads: {rate} a second");
    }
    ExitCode::SUCCESS
}

/// Prints the shortest failing schedule, and how to repeat it.
fn explain(seed: u64, broken: &Broken) {
    let shrunk = shrink(&Schedule::from_seed(seed), broken);
    let report = run(&shrunk, Tracing::On);
    println!("{}", report.trace.join("\n"));
    let broken = report.broken.as_ref().unwrap_or(broken);
    println!("\nbroken: {}: {}", broken.invariant, broken.detail);
    println!(
        "seed {seed}, shrunk to {} choices; again: cargo xtask sim --seed {seed}",
        shrunk.choices.len()
    );
}
