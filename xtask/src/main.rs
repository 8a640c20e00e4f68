//! Developer commands: `test`, `sim`, `ci`, `tidy`, `crash`, `escape`, `bench`, `agents`, `model` and
//! `recording`.
//!
//! One file per command. Depends only on the standard library, so that it builds quickly on a fresh
//! machine. Never part of the product.

mod program;
mod tidy;
mod agents;
mod test;
mod crash;
mod escape;
mod sim;
mod ci;
mod bench;
mod model;
mod recording;

use program::Failure;
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  test    build everything and run every test
  sim     [--schedules N | --seed S | --mutants [NAME]...]
          run the kernel in a simulated world with faults; repeat one seed; test every planted bug
  ci      fmt, tidy, clippy, docs, test, sim, crash: all checks before a merge
  tidy    [--write]
          check the rules beyond the compiler's; --write updates docs/acceptance.md
  crash   [--rounds N | --power-loss N [--prove]] [--seed S]
          kill the real binary, or cut its power; without arguments, what ci runs
  escape  [--tier T2|T3] [--user root|nobody] [--write]
          try to escape every tier, the gate and the orchestrator's endpoints;
          --write updates the table in docs/sandbox.md
          --survey [--kind KIND] [--tier T2|T3] [--user root|nobody] [--write]
          compare what every kind of box reaches with the inventories; --write updates them
  bench   [start|journal|kernel|plan|demo]... [--json] [--write]
          run benchmarks (default: all); --write updates the tables in docs/benchmarks.md
  agents  install [NAME]... [--all]
          install real agents (default: those that the tests use)
          NAME... | --all
          try real agents; --all writes docs/agents-tested.md, --table
          writes it from the stored results
  model   [--port PORT]
          start the scripted model, for manual experiments with real agents
  recording [--binary PATH]
          record the demo of the installed build in a terminal; writes docs/demo.svg";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(arguments: &[String]) -> Result<(), Failure> {
    let (command, rest) = match arguments.split_first() {
        Some((command, rest)) => (command.as_str(), rest),
        None => ("help", arguments),
    };
    match (command, rest) {
        ("help" | "--help" | "-h", []) => {
            println!("{USAGE}");
            Ok(())
        }
        ("test", []) => test::run(),
        ("ci", []) => ci::run(),
        ("tidy", []) => tidy::run(),
        ("tidy", [option]) if option == "--write" => tidy::write(),
        ("crash", rest) => crash::run(rest),
        ("escape", rest) => escape::run(rest),
        ("sim", options) => sim::run(options),
        ("bench", names) => bench::run(names),
        ("agents", arguments) => agents::run(arguments),
        ("model", arguments) => model::run(arguments),
        ("recording", arguments) => recording::run(arguments),
        ("test" | "ci" | "tidy", [unknown, ..]) => {
            Err(Failure(format!("`{command}` takes no arguments, but got `{unknown}`\n\n{USAGE}")))
        }
        _ => Err(Failure(format!("unknown command `{command}`\n\n{USAGE}"))),
    }
}
