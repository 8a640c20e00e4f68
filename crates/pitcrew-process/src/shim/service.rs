//! The shim's event loop: one thread that polls all descriptors and never blocks on a single one.
//!
//! ```text
//!     stop, lease over, agent mute         agent ended, grace over
//! serving ─────────────────────► ending ─────────────────────────► over ──► client knows: return
//!    └──────────── agent ended, or something broke ─────────────────┘
//! ```

mod clients;
mod end;

use super::{
    ShimSpec, agent::Agent, ahead::Ahead, connection::Connection, exit, exit::ExitRecord,
    reaper::Reaped, spool::Spool, stderr::Stderr, wire::Start,
};
use crate::{poll, poll::Step, process_counter::ProcessCounter, tree::ProcessId};
use pitcrew_model::limits::FRAME_BYTES_MAX;
use rustix::{
    event::PollFlags,
    fs::Mode,
    process::{WaitStatus, umask},
};
use std::{
    collections::BTreeSet,
    fs::{self, File},
    io,
    os::{
        fd::{AsFd, BorrowedFd},
        unix::net::UnixListener,
    },
    time::{Duration, Instant},
};

/// The agent's output is not read while the client is further behind than this.
const UNREAD_BYTES_MAX: u64 = 64 * 1_024 * 1_024;
/// The client's input is not read while the agent is further behind than this.
const PENDING_BYTES_MAX: usize = FRAME_BYTES_MAX;
/// How long to wait for the first client.
const FIRST_CLIENT_MS_MAX: u64 = 10_000;
/// How long an agent may run after it closed its output: it cannot send anything any more, but it
/// may be about to end.
const SILENT_MS_MAX: u64 = 3_000;
/// Connections besides the client. A well-behaved system needs no more than this.
const VISITORS_MAX: usize = 16;

enum Phase {
    Serving,
    /// The process tree was asked to end.
    Ending {
        kill_at: Instant,
    },
    /// No process is left and the exit record is written. Only the report to the client remains.
    Over,
}

#[derive(Clone, Copy)]
enum Source {
    Reaper,
    Stdout,
    Stderr,
    Stdin,
    Listener,
    Client,
    Visitor(usize),
}

pub(super) struct Service {
    spec: ShimSpec,
    own: ProcessId,
    agent: Agent,
    spool: Spool,
    stderr: Stderr,
    listener: UnixListener,
    client: Option<Connection>,
    visitors: Vec<Connection>,
    sent: BTreeSet<u64>,
    phase: Phase,
    ended: Option<WaitStatus>,
    exit: Option<ExitRecord>,
    /// Whether the shim ended the tree, on request or because the lease expired.
    ordered: bool,
    /// Present if the shim must limit the number of processes of the agent.
    process_counter: Option<ProcessCounter>,
    /// Set after the agent closed its output: how long it may keep running.
    silent_until: Option<Instant>,
    /// The last client's offset in the spool.
    delivered: u64,
    /// When to end the agent if no client is connected.
    lease_ends: Instant,
    /// When the last client disconnected.
    lost_at: Option<Instant>,
    had_client: bool,
    /// Held as long as the shim runs, so that a folder has only one shim.
    _lock: File,
}

impl Service {
    /// Listens first and starts the agent last, so that a failure leaves no process running.
    pub(super) fn new(spec: ShimSpec, ahead: Option<Ahead>, lock: File) -> Result<Self, Start> {
        let failed = |error: io::Error| Start::Failed { reason: error.to_string() };
        let own = ProcessId::of(rustix::process::getpid().as_raw_pid())
            .ok_or_else(|| Start::Failed { reason: "no /proc is mounted".into() })?;
        exit::remove(&spec.dir).map_err(failed)?;
        let spool = Spool::create(&spec.dir).map_err(failed)?;
        let stderr = Stderr::create(spec.dir.clone()).map_err(failed)?;
        let listener = listen(&spec).map_err(|error| Start::Failed {
            reason: format!("cannot listen on `{}`: {error}", spec.socket.display()),
        })?;
        let agent = Agent::start(&spec, ahead).inspect_err(|_| {
            fs::remove_file(&spec.socket).ok();
        })?;
        Ok(Self {
            own,
            agent,
            spool,
            stderr,
            listener,
            client: None,
            visitors: Vec::new(),
            sent: BTreeSet::new(),
            phase: Phase::Serving,
            ended: None,
            exit: None,
            ordered: false,
            process_counter: ProcessCounter::of(&spec.policy),
            silent_until: None,
            delivered: 0,
            lease_ends: Instant::now() + Duration::from_millis(FIRST_CLIENT_MS_MAX),
            lost_at: None,
            had_client: false,
            spec,
            _lock: lock,
        })
    }

    /// Stops waiting for a first client.
    pub(super) fn stop_waiting_for_client(&mut self) {
        self.lease_ends = Instant::now();
    }

    /// Serves until everything is done. After an error, the process tree is ended first.
    pub(super) fn run(mut self) -> io::Result<()> {
        while !self.is_done() {
            if let Err(error) = self.turn() {
                if matches!(self.phase, Phase::Over) {
                    return Err(error);
                }
                self.stderr.note(&format!("gave up: {error}"));
                self.finish();
            }
        }
        // No caller waits for this: the end has already been reported.
        let synced = exit::sync(&self.spec.dir);
        fs::remove_file(&self.spec.socket).and(synced)
    }

    fn is_done(&self) -> bool {
        let Phase::Over = self.phase else { return false };
        match &self.client {
            Some(client) => !client.has_unsent(&self.spool),
            None => self.had_client || Instant::now() >= self.lease_ends,
        }
    }

    fn turn(&mut self) -> io::Result<()> {
        let ready = self.wait()?;
        for source in ready {
            self.handle(source)?;
        }
        self.deliver()?;
        self.settle();
        Ok(())
    }

    fn handle(&mut self, source: Source) -> io::Result<()> {
        match source {
            Source::Reaper => {
                for news in self.agent.reaper.news() {
                    if let Reaped::Agent(status) = news {
                        self.ended = Some(status);
                    }
                }
            }
            Source::Stdout => {
                if let Step::Closed = self.agent.take_stdout(&mut self.spool)? {
                    self.silent_until = Some(Instant::now() + Duration::from_millis(SILENT_MS_MAX));
                }
            }
            Source::Stderr => {
                self.agent.take_stderr(|bytes| self.stderr.push(bytes));
            }
            Source::Stdin => self.agent.feed(),
            Source::Listener => self.accept(),
            Source::Client => {
                if let Some(client) = self.client.take() {
                    let (client, handled) = self.handle_requests(client);
                    self.client = client;
                    self.notice_loss();
                    handled?;
                }
            }
            Source::Visitor(index) => {
                let visitor = self.visitors.swap_remove(index);
                self.admit(visitor)?;
            }
        }
        Ok(())
    }

    fn wait(&self) -> io::Result<Vec<Source>> {
        let (sources, interests): (Vec<Source>, Vec<_>) =
            self.interests().into_iter().map(|(source, fd, flags)| (source, (fd, flags))).unzip();
        let ready = poll::wait(&interests, self.next_moment())?;
        Ok(sources.into_iter().zip(ready).filter(|(_, ready)| *ready).map(|(it, _)| it).collect())
    }

    fn next_moment(&self) -> Option<Instant> {
        let lease_ends = self.client.is_none().then_some(self.lease_ends);
        let look = self.process_counter.map(ProcessCounter::next);
        match self.phase {
            Phase::Serving => [lease_ends, self.silent_until, look].into_iter().flatten().min(),
            Phase::Ending { kill_at } => [Some(kill_at), look].into_iter().flatten().min(),
            Phase::Over => lease_ends,
        }
    }

    /// Returns the descriptors to wait for. A pipe that must not be read now must be left out:
    /// otherwise its closed end would be reported again and again.
    fn interests(&self) -> Vec<(Source, BorrowedFd<'_>, PollFlags)> {
        let mut interests = vec![(Source::Reaper, self.agent.reaper.as_fd(), PollFlags::IN)];
        if let Some(stdout) = &self.agent.stdout
            && self.spool.length().saturating_sub(self.delivered) < UNREAD_BYTES_MAX
        {
            interests.push((Source::Stdout, stdout.as_fd(), PollFlags::IN));
        }
        if let Some(stderr) = &self.agent.stderr {
            interests.push((Source::Stderr, stderr.as_fd(), PollFlags::IN));
        }
        if let Some(stdin) = &self.agent.stdin
            && self.agent.pending_bytes() > 0
        {
            interests.push((Source::Stdin, stdin.as_fd(), PollFlags::OUT));
        }
        if let Some(client) = &self.client {
            let mut flags = PollFlags::empty();
            flags.set(PollFlags::IN, self.agent.pending_bytes() < PENDING_BYTES_MAX);
            flags.set(PollFlags::OUT, client.has_unsent(&self.spool));
            interests.push((Source::Client, client.as_fd(), flags));
        }
        // In reverse order, because removing a connection does not change the indexes before it.
        for (index, visitor) in self.visitors.iter().enumerate().rev() {
            interests.push((Source::Visitor(index), visitor.as_fd(), PollFlags::IN));
        }
        if self.visitors.len() < VISITORS_MAX {
            interests.push((Source::Listener, self.listener.as_fd(), PollFlags::IN));
        }
        interests
    }
}

/// Only our user can connect, from the moment the socket exists.
fn listen(spec: &ShimSpec) -> io::Result<UnixListener> {
    match fs::remove_file(&spec.socket) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let before = umask(Mode::from_raw_mode(0o177));
    let listener = UnixListener::bind(&spec.socket);
    umask(before);
    let listener = listener?;
    poll::never_block(&listener)?;
    Ok(listener)
}
