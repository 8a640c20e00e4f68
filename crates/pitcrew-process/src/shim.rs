//! The process between the orchestrator and one agent. Agents are started only through a shim.
//!
//! The shim owns the agent's pipes, records both directions, and outlives the orchestrator for the
//! duration of the lease. It never exits while a descendant of the agent is alive. It does not
//! interpret the agent's messages and never restarts anything.
//!
//! ```text
//! client ── orders ──► shim ── frames ──► agent's stdin        <dir>/spec.json    what to run
//!        ◄─ reports ──  │  ◄── lines ──── agent's stdout       <dir>/spool.ndjson both directions
//!                       └──── ◄────────── agent's stderr       <dir>/stderr.log   its messages
//!                                                              <dir>/exit.json    how it ended
//! ```
//!
//! The spool is also the queue: its records are copied to the client byte by byte from the client's
//! offset, so a client that connects later or reconnects gets the same stream.

mod wire;
mod lines;
mod spool;
mod record;
mod stderr;
mod reaper;
mod ahead;
mod agent;
mod connection;
mod exit;
pub(crate) mod lock;
mod service;

pub(crate) use exit::{ExitRecord, read as read_exit, remove as remove_exit};
#[cfg(test)]
pub(crate) use lines::{Line, Lines};
pub use record::{SpoolReader, SpoolRecord};
pub(crate) use wire::{Hello, MESSAGE_BYTES_MAX, Order, Report, Start, encode};

use crate::{Policy, tree};
use serde::{Deserialize, Serialize};
use std::{
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

/// The configuration of a shim, stored as `spec.json` in the attempt's folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShimSpec {
    /// The attempt's folder: spec, spool, standard error and exit record. Absolute.
    pub dir: PathBuf,
    /// Where the shim listens. Absolute, and shorter than 108 bytes.
    pub socket: PathBuf,
    pub argv: Vec<String>,
    pub cwd: PathBuf,
    /// The whole environment of the agent; see `agent_environment`.
    pub env: Vec<(String, String)>,
    /// How long the agent keeps running after the client disconnects. 0: it is ended at once.
    pub lease_ms: u64,
    /// What the agent may do. The shim itself is not confined.
    #[serde(default = "Policy::unconfined")]
    pub policy: Policy,
}

impl ShimSpec {
    pub(crate) fn program(&self) -> String {
        self.argv.first().cloned().unwrap_or_default()
    }

    pub(crate) fn marker(&self) -> String {
        marker(&self.dir)
    }
}

/// The marker of the agent's processes for an attempt's folder, see `marker`.
pub(crate) fn marker(dir: &Path) -> String {
    // Normalised in this way, a path has no two slashes in a row.
    dir.components().collect::<PathBuf>().display().to_string()
}

pub(crate) fn spec_path(dir: &Path) -> PathBuf {
    dir.join("spec.json")
}

pub(crate) fn spool_path(dir: &Path) -> PathBuf {
    dir.join("spool.ndjson")
}

/// Reads the specification of an attempt's folder.
pub(crate) fn read_spec(dir: &Path) -> io::Result<ShimSpec> {
    serde_json::from_slice(&std::fs::read(spec_path(dir))?)
        .map_err(|error| io::Error::other(format!("bad spec.json: {error}")))
}

/// Removes the specification of an agent that has ended: its environment contains secrets.
pub fn forget_spec(dir: &Path) {
    // If it cannot be removed, only its owner can read it.
    std::fs::remove_file(spec_path(dir)).ok();
}

/// The body of `pitcrew shim DIR`.
///
/// Reports in one line on standard output whether it listens and the agent runs. Returns only after
/// all of the agent's processes have ended and `DIR/exit.json` is written.
pub fn shim_main(dir: &Path) -> ExitCode {
    let (start, service) = match begin(dir) {
        Ok(service) => (Start::Ready, Some(service)),
        Err(start) => (start, None),
    };
    if service.is_none() {
        // The agent may have been started before another step failed.
        let own = rustix::process::getpid().as_raw_pid();
        tree::end(|see| tree::descendants(own, see), None);
    }
    let reported = report_start(&start);
    let run = |mut service: service::Service| {
        if reported.is_err() {
            service.stop_waiting_for_client();
        }
        service.run()
    };
    match service.map(run) {
        Some(Ok(())) => ExitCode::SUCCESS,
        Some(Err(error)) => {
            eprintln!("pitcrew shim: {error}");
            ExitCode::FAILURE
        }
        None => ExitCode::FAILURE,
    }
}

fn begin(dir: &Path) -> Result<service::Service, Start> {
    let broken = |error: io::Error| Start::Failed { reason: error.to_string() };
    // Fails if we already lead a group, for example if started by hand. Then a terminal's signals
    // reach us, and nothing else changes.
    rustix::process::setsid().ok();
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        .map_err(|error| broken(error.into()))?;
    let lock = lock::inherit(dir).map_err(broken)?.ok_or(Start::AlreadyRunning)?;
    let spec = read_spec(dir).map_err(broken)?;
    let ahead = if ahead::is_early() { ahead::Ahead::make(&spec) } else { None };
    if ahead::is_early() && !ahead::is_wanted().map_err(broken)? {
        // Leaves the folder as it was before the shim started.
        forget_spec(dir);
        return Err(Start::Failed { reason: "the agent is no longer needed".into() });
    }
    service::Service::new(spec, ahead, lock)
}

/// Fails if the parent process has ended or given up, because then no client will connect.
fn report_start(start: &Start) -> io::Result<()> {
    let mut line = serde_json::to_vec(start).expect("a start report is plain data");
    line.push(b'\n');
    let mut stdout = io::stdout().lock();
    stdout.write_all(&line)?;
    stdout.flush()
}
