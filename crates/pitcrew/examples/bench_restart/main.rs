//! From the start of the orchestrator's process to its first response, with a journal of 100 000
//! events, compared with an empty one and with only reading the rows.
//!
//! Prints one flat JSON object. `cargo xtask bench restart` builds the binary and runs this.

mod journal;
#[path = "../support/memory.rs"]
mod memory;
#[path = "../support/mod.rs"]
mod support;

use memory::peak_rss_kib;
use pitcrew_model::Event;
use pitcrew_testkit::{Process, Sandbox, eventually};
use rusqlite::Connection;
use std::{
    fs,
    path::{Path, PathBuf},
    time::Instant,
};
use support::{BenchResult, binary};

const EVENTS: u64 = 100_000;
const ROUNDS: usize = 5;

fn main() -> BenchResult<()> {
    let sandbox = Sandbox::new(&binary()?.display().to_string());
    // Creates the workspace and its vault, which are not measured.
    start(&sandbox);
    let empty = start(&sandbox);
    let folder = workspace(&sandbox)?;
    let events = journal::fill(&folder, EVENTS)?;
    let file = folder.join("journal.db");
    let megabytes = fs::metadata(&file)?.len() / 1_000_000;
    let mut rounds: Vec<Round> = Vec::new();
    for _ in 0..ROUNDS {
        let decode_ms = decode(&file, events)?;
        rounds.push(Round { decode_ms, full: start(&sandbox) });
    }
    rounds.sort_by(|one, other| one.ratio(&empty).total_cmp(&other.ratio(&empty)));
    let middle = &rounds[ROUNDS / 2];
    println!(
        r#"{{"events":{events},"journal_mb":{megabytes},"decode_ms":{:.0},"empty_start_ms":{:.0},"start_ms":{:.0},"start_cpu_ms":{},"empty_rss_mb":{},"rss_mb":{},"ratio":{:.2}}}"#,
        middle.decode_ms,
        empty.ms,
        middle.full.ms,
        middle.full.cpu_ms,
        empty.rss_mb,
        middle.full.rss_mb,
        middle.ratio(&empty),
    );
    Ok(())
}

struct Round {
    decode_ms: f64,
    full: StartTimes,
}

impl Round {
    /// The cost of the events at the start, relative to reading and decoding them.
    fn ratio(&self, empty: &StartTimes) -> f64 {
        (self.full.ms - empty.ms) / self.decode_ms
    }
}

struct StartTimes {
    ms: f64,
    /// The CPU time, which is more reliable on a busy machine.
    cpu_ms: u64,
    rss_mb: u64,
}

fn workspace(sandbox: &Sandbox) -> BenchResult<PathBuf> {
    let workspaces = sandbox.home().join(".local/state/pitcrew/workspaces");
    let first = fs::read_dir(workspaces)?.next().ok_or("there is a workspace")?;
    Ok(first?.path())
}

/// Starts the orchestrator, waits for its first response, and stops it.
fn start(sandbox: &Sandbox) -> StartTimes {
    let began = Instant::now();
    let serving = sandbox.start(&["serve"]);
    let process = loop {
        if let Some((_, process)) = sandbox.orchestrator() {
            break process;
        }
        std::thread::yield_now();
    };
    let ms = began.elapsed().as_secs_f64() * 1_000.0;
    let rss_kib = peak_rss_kib(process).unwrap_or_default();
    let (cpu_ms, rss_mb) = (cpu_ms(process), rss_kib * 1_024 / 1_000_000);
    sandbox.pitcrew(&["stop"]).expect(0);
    serving.wait().expect(0);
    eventually("it is gone", || sandbox.orchestrator().is_none().then_some(()));
    StartTimes { ms, cpu_ms, rss_mb }
}

/// The CPU time of all its threads.
fn cpu_ms(process: Process) -> u64 {
    let threads = fs::read_dir(format!("/proc/{}/task", process.pid));
    let threads = threads.into_iter().flatten().flatten();
    let ns = threads.filter_map(|it| {
        let spent = fs::read_to_string(it.path().join("schedstat")).ok()?;
        spent.split_whitespace().next()?.parse::<u64>().ok()
    });
    ns.sum::<u64>() / 1_000_000
}

/// Reads and decodes the same rows, and nothing else.
fn decode(file: &Path, events: u64) -> BenchResult<f64> {
    let began = Instant::now();
    let connection = Connection::open(file)?;
    let mut select = connection.prepare("SELECT body FROM events ORDER BY seq")?;
    let mut rows = select.query([])?;
    let mut count = 0;
    while let Some(row) = rows.next()? {
        let _: Event = serde_json::from_slice(row.get_ref(0)?.as_bytes()?)?;
        count += 1;
    }
    // Each earlier start may have added events.
    assert!(count >= events, "{count} events were read, and {events} were written");
    Ok(began.elapsed().as_secs_f64() * 1_000.0)
}
