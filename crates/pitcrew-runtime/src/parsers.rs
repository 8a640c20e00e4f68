//! Parses untrusted sources in helper processes, whose crash affects nothing else.
//!
//! At most two run at a time, each with a memory limit, and a time limit for each source. If a
//! helper dies, its source is tried once more in a new one, because the cause may have been
//! something else. If that dies too, the source is skipped. Idle helpers are ended.

use pitcrew_process::{Helper, HelperEnd, confine_helper, limit_time};
use pitcrew_symbols::{
    HELPER_BYTES_MAX, Parsed, Parser, Request, Skipped, ask, await_ready, serve,
};
use std::{
    ffi::OsString,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// The argument that starts our executable as a helper.
const PART: &str = "parser";

/// The maximum number of helpers, and so of concurrent requests. Together they have about 1 GiB of
/// heap.
const HELPERS_MAX: usize = 2;

/// The CPU time for one source, after which the kernel ends the helper. The parser gives up earlier
/// unless it is stuck.
const SOURCE_SECONDS_MAX: u64 = 10;

/// The time limit for starting a helper and for one answer, even on a busy machine. Only a stopped
/// helper takes longer.
const ANSWER_TIME_MAX: Duration = Duration::from_mins(2);

/// How long an idle helper is kept.
const IDLE_TIME_MAX: Duration = Duration::from_secs(10);

/// The pause after a failed start.
const START_PAUSE: Duration = Duration::from_secs(10);

/// Runs the parser helper if the command line asks for it.
pub fn play_parser(words: &[OsString]) -> Option<ExitCode> {
    (words == [PART]).then(|| match parser_main() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    })
}

fn parser_main() -> io::Result<()> {
    confine_helper(HELPER_BYTES_MAX)?;
    // A panic message may quote the source.
    std::panic::set_hook(Box::new(|_| {}));
    serve(io::stdin(), io::stdout(), || limit_time(SOURCE_SECONDS_MAX))
}

/// A parser that uses helper processes.
#[derive(Debug)]
pub struct Parsers(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// Our own executable.
    program: PathBuf,
    state: Mutex<State>,
    /// Notified when a request is done.
    free: Condvar,
    closed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Requests in progress. Each uses one helper.
    busy_count: usize,
    /// Idle helpers. Together with the busy ones there are at most `HELPERS_MAX`.
    idle: Vec<Idle>,
    pause_until: Option<Instant>,
    keeper: Option<JoinHandle<()>>,
    is_closed: bool,
}

#[derive(Debug)]
struct Idle {
    helper: Helper,
    since: Instant,
}

impl Parsers {
    /// Starts no process before the first request. `program` is our own executable, or one that
    /// calls [`play_parser`].
    pub fn new(program: &Path) -> Self {
        let (free, closed) = (Condvar::new(), Condvar::new());
        let (program, state) = (program.to_owned(), Mutex::default());
        Self(Arc::new(Shared { program, state, free, closed }))
    }
}

impl Parser for Parsers {
    fn parse(&self, request: &Request<'_>) -> Parsed {
        let turn = Turn::take(&self.0);
        let parsed = match turn.parse(request, Which::Any) {
            Err(Skipped::NoParser) => Err(Skipped::NoParser),
            Err(_) => turn.parse(request, Which::New),
            Ok(parsed) => Ok(parsed),
        };
        parsed.unwrap_or_else(|why| Parsed::skipped(request.language(), why))
    }
}

impl Drop for Parsers {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.is_closed = true;
        state.idle.clear();
        let keeper = state.keeper.take();
        drop(state);
        self.0.closed.notify_all();
        if let Some(keeper) = keeper {
            keeper.join().ok();
        }
    }
}

/// Selects the helper for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    Any,
    /// An unused one, because a used one may have fragmented memory.
    New,
}

/// The right to use one helper.
struct Turn<'a>(&'a Arc<Shared>);

impl<'a> Turn<'a> {
    /// Waits until fewer requests than helpers are in progress.
    fn take(shared: &'a Arc<Shared>) -> Self {
        let mut state = shared.lock();
        while state.busy_count >= HELPERS_MAX {
            state = shared.free.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.busy_count += 1;
        Self(shared)
    }

    /// Sends a request to a helper. Fails with the reason if the helper dies.
    fn parse(&self, request: &Request<'_>, which: Which) -> Result<Parsed, Skipped> {
        let mut helper = self.helper(which).map_err(|_| Skipped::NoParser)?;
        helper.set_deadline(Instant::now() + ANSWER_TIME_MAX);
        match ask(&mut helper, request) {
            Ok(parsed) => {
                self.0.put_back(helper);
                Ok(parsed)
            }
            Err(error) => Err(why_skipped(&error, helper)),
        }
    }

    fn helper(&self, which: Which) -> io::Result<Helper> {
        let mut state = self.0.lock();
        match (state.idle.pop(), which) {
            (Some(idle), Which::Any) => return Ok(idle.helper),
            // The idle helper is dropped to make room for the new one.
            (idle, _) => drop(idle),
        }
        if state.pause_until.is_some_and(|it| it > Instant::now()) {
            return Err(ErrorKind::WouldBlock.into());
        }
        drop(state);
        let started = self.0.start();
        let pause = started.is_err().then(|| Instant::now() + START_PAUSE);
        self.0.lock().pause_until = pause;
        started
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.lock().busy_count -= 1;
        self.0.free.notify_one();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(&self) -> io::Result<Helper> {
        let mut helper = Helper::start(&self.program, PART, Instant::now() + ANSWER_TIME_MAX)?;
        await_ready(&mut helper)?;
        Ok(helper)
    }

    fn put_back(self: &Arc<Self>, helper: Helper) {
        let mut state = self.lock();
        if state.is_closed {
            return;
        }
        state.idle.push(Idle { helper, since: Instant::now() });
        if state.keeper.is_none() {
            let shared = self.clone();
            let keeper = thread::Builder::new().name("parsers".into());
            state.keeper = keeper.spawn(move || shared.end_idle()).ok();
        }
    }

    /// Ends idle helpers. Returns when there are none left.
    fn end_idle(&self) {
        let mut state = self.lock();
        while !state.is_closed {
            let now = Instant::now();
            let is_over = |it: &mut Idle| now.duration_since(it.since) >= IDLE_TIME_MAX;
            drop(state.idle.extract_if(.., is_over).collect::<Vec<_>>());
            let Some(oldest) = state.idle.iter().map(|it| it.since).min() else { break };
            let left = (oldest + IDLE_TIME_MAX).saturating_duration_since(now);
            let waited = self.closed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.keeper = None;
    }
}

/// Why a source is skipped after its helper failed.
fn why_skipped(error: &io::Error, helper: Helper) -> Skipped {
    let Ok(end) = helper.end() else { return Skipped::Killed };
    match (error.kind(), end) {
        (ErrorKind::InvalidData, _) => Skipped::Crashed,
        // Something outside the source stopped or killed the helper.
        (ErrorKind::TimedOut, _) | (_, HelperEnd::Killed) => Skipped::Killed,
        (_, HelperEnd::Aborted) => Skipped::TooMuchMemory,
        (_, HelperEnd::OutOfTime) => Skipped::TooSlow,
        (_, HelperEnd::Exit | HelperEnd::Crashed) => Skipped::Crashed,
    }
}
