//! The chores of this repository: `test`, `sim`, `ci`, `tidy`, `crash`, `escape`, `bench`, `agents` and `model`.
//!
//! One file per command. It depends on nothing but the standard library, so that it is built in
//! a moment on a fresh machine. Never part of the product.

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

use program::Failure;
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  test    build everything and run every test
  sim     [--schedules N | --seed S | --mutants [NAME]...]
          run the kernel against a world that fails; one seed again; every planted bug
  ci      fmt, tidy, clippy, docs, test, sim, crash: what must pass before a change is taken
  tidy    [--write]
          check the rules that the compiler does not know; --write updates the tests
          that docs/acceptance.md lists
  crash   [--rounds N | --power-loss N [--prove]] [--seed S]
          kill the real binary, or cut the power under it; without arguments as ci does
  escape  [--tier T2|T3] [--user root|nobody] [--write]
          try to get out of every tier, past the gate and through the orchestrator's doors;
          --write puts the table into docs/sandbox.md
  bench   [start|journal|kernel|plan|demo]... [--json] [--write]
          measure; all when none is named; --write puts the tables into docs/benchmarks.md
  agents  install [NAME]... [--all]
          install the real agents that tests run; those of the tests when none is named
          NAME... | --all
          try what they can do; --all writes docs/agents-tested.md, --table
          writes it from what was found last
  model   [--port PORT]
          start the scripted model, to try real agents by hand";

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
        ("test" | "ci" | "tidy", [unknown, ..]) => {
            Err(Failure(format!("`{command}` takes no arguments, and got `{unknown}`\n\n{USAGE}")))
        }
        _ => Err(Failure(format!("there is no command `{command}`\n\n{USAGE}"))),
    }
}
