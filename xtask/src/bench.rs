//! Measures, and prints the figures as a table.
//!
//! Each bench is a program that compares Pitcrew with a bare baseline in the same run and prints
//! one flat JSON object per row. Missed goals are reported after everything was measured.

mod json;
mod table;
mod demo;
mod report;
mod goals;

use crate::program::{self, Failure};
use json::Row;

/// The benchmarks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bench {
    /// From a free slot to the first byte at the agent.
    Start,
    /// From a parent's spawn call to the first byte at the sub-task's agent.
    Spawn,
    /// Appending to the journal.
    Journal,
    /// Deciding and folding.
    Kernel,
    /// A plan of 1 000 tasks, in process.
    Plan,
    /// The demo: duration and memory of its processes.
    Demo,
    /// From the start of the orchestrator to its first answer, with a long journal.
    Restart,
    /// How long agents wait for answers while another agent floods the orchestrator.
    Flood,
    /// Many concurrent agents.
    Crowd,
    /// One turn of real agents, with and without Pitcrew.
    Agents,
    /// The latency of an agent's message.
    Relay,
    /// Concurrent sessions of real agents.
    Sessions,
    /// Messages to agents.
    Queue,
    /// The index of symbols.
    Symbols,
    /// The start of a sandbox.
    Box,
}

impl Bench {
    const ALL: &[Self] = &[
        Self::Start,
        Self::Spawn,
        Self::Journal,
        Self::Kernel,
        Self::Plan,
        Self::Demo,
        Self::Restart,
        Self::Flood,
        Self::Crowd,
        Self::Agents,
        Self::Relay,
        Self::Sessions,
        Self::Queue,
        Self::Symbols,
        Self::Box,
    ];

    /// The benchmarks with real agents.
    const OF_AGENTS: &[Self] = &[Self::Agents, Self::Relay, Self::Sessions];

    fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Spawn => "spawn",
            Self::Journal => "journal",
            Self::Kernel => "kernel",
            Self::Plan => "plan",
            Self::Demo => "demo",
            Self::Restart => "restart",
            Self::Flood => "flood",
            Self::Crowd => "crowd",
            Self::Agents => "agents",
            Self::Relay => "relay",
            Self::Sessions => "sessions",
            Self::Queue => "queue",
            Self::Symbols => "symbols",
            Self::Box => "box",
        }
    }

    fn named(name: &str) -> Result<Self, Failure> {
        Self::ALL.iter().copied().find(|it| it.name() == name).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|it| it.name()).collect();
            Failure(format!("unknown bench `{name}`; available: {}", names.join(", ")))
        })
    }

    fn measure(self) -> Result<Vec<Row>, Failure> {
        match self {
            Self::Start => example("pitcrew-runtime", "bench_start"),
            Self::Spawn => example_of("pitcrew-runtime", "bench_start", &["spawn"]),
            Self::Journal => example("pitcrew-store", "bench_journal"),
            Self::Kernel => example("pitcrew-kernel", "bench_kernel"),
            Self::Plan => example("pitcrew-runtime", "bench_plan"),
            Self::Demo => demo::measure(),
            Self::Restart => with_the_binary("bench_restart"),
            Self::Flood => with_the_binary("bench_flood"),
            Self::Crowd => with_the_binary("bench_crowd"),
            Self::Agents => with_the_binary("bench_agents"),
            Self::Relay => example("pitcrew-acp", "bench_relay"),
            Self::Sessions => with_the_binary("bench_sessions"),
            Self::Queue => example("pitcrew-runtime", "bench_queue"),
            Self::Symbols => example("pitcrew-symbols", "bench_symbols"),
            Self::Box => example("pitcrew-process", "bench_box"),
        }
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    benches: Vec<Bench>,
    output: Output,
    destination: Destination,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Output {
    #[default]
    Table,
    Json,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Destination {
    #[default]
    Terminal,
    /// Also the document with the figures.
    Document,
}

pub fn run(arguments: &[String]) -> Result<(), Failure> {
    let options = parse(arguments)?;
    let mut missed = Vec::new();
    for bench in options.benches {
        eprintln!("== {}", bench.name());
        let rows = bench.measure()?;
        match options.output {
            Output::Table => println!("{}", table::render(&rows)),
            Output::Json => rows.iter().for_each(|row| println!("{}", json::write(row))),
        }
        if options.destination == Destination::Document {
            report::write(bench.name(), &table::render(&rows))?;
        }
        missed.extend(goals::missed(bench.name(), &rows));
    }
    if missed.is_empty() { Ok(()) } else { Err(Failure(missed.join("\n"))) }
}

fn parse(arguments: &[String]) -> Result<Options, Failure> {
    let mut options = Options::default();
    for argument in arguments {
        match argument.as_str() {
            "--json" => options.output = Output::Json,
            "--write" => options.destination = Destination::Document,
            "agents" => options.benches.extend(Bench::OF_AGENTS),
            name => options.benches.push(Bench::named(name)?),
        }
    }
    if options.benches.is_empty() {
        options.benches = Bench::ALL.to_vec();
    }
    Ok(options)
}

/// Builds and runs an example that starts the pitcrew binary.
fn with_the_binary(name: &str) -> Result<Vec<Row>, Failure> {
    program::read(program::cargo(), &["build", "--release", "--quiet", "--package", "pitcrew"])?;
    example("pitcrew", name)
}

/// Builds and runs an example that prints rows.
fn example(package: &str, example: &str) -> Result<Vec<Row>, Failure> {
    example_of(package, example, &[])
}

/// The same with arguments that select rows.
fn example_of(package: &str, example: &str, words: &[&str]) -> Result<Vec<Row>, Failure> {
    let mut arguments =
        vec!["run", "--release", "--quiet", "--package", package, "--example", example, "--"];
    arguments.extend(words);
    let printed = program::read(program::cargo(), &arguments)?;
    printed
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| {
            json::read(line).map_err(|error| {
                Failure(format!(
                    "`{example}` printed a line that is not a flat JSON object: {error}: {line}"
                ))
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Options, Failure> {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn benches_are_named_or_all_are_run() {
        let options = parsed("journal --json kernel").expect("valid arguments");
        assert_eq!(options.benches, [Bench::Journal, Bench::Kernel]);
        assert_eq!((options.output, options.destination), (Output::Json, Destination::Terminal));
        assert_eq!(parsed("--write").expect("valid arguments").benches, Bench::ALL);
        assert_eq!(parsed("agents").expect("valid arguments").benches, Bench::OF_AGENTS);
    }

    #[test]
    fn an_unknown_bench_lists_the_known_ones() {
        let failure = parsed("journl").expect_err("there is none");
        let known = "unknown bench `journl`; available: start, spawn, journal, kernel, plan, demo, restart, flood, crowd, agents, relay, sessions, queue, symbols, box";
        assert_eq!(failure.to_string(), known);
    }
}
