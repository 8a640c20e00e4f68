//! Runs one program to its end, keeps the end of its output, and leaves nothing of it behind.
//!
//! Blocking and single-threaded. What the output means is the caller's business.

mod start;
mod supervise;
mod prepared;

pub use prepared::{Prepared, Way, open_way, prepare, prepare_waiting};

use crate::{
    Cancel, Policy,
    ends::Ends,
    environment,
    marker::{Mark, OWNER_MARKER},
    process_counter::ProcessCounter,
};
use pitcrew_model::limits::{CHECK_TIMEOUT_MS, OUTPUT_BYTES_MAX};
use start::Started;
use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// One program to be run to its end.
#[derive(Clone, Debug)]
pub struct Run {
    pub argv: Vec<OsString>,
    pub cwd: PathBuf,
    /// Added to what the way of running gives.
    pub env: Vec<(OsString, OsString)>,
    pub stdin: Stdin,
    pub streams: Streams,
    pub timeout: Duration,
    /// How much of the end of each output stream is kept.
    pub output_bytes_max: usize,
    pub overflow: Overflow,
    /// Memory of its own that each process may have, whatever the way of running. Absent: what the
    /// policy says.
    pub memory_bytes_max: Option<u64>,
}

/// What becomes of a program that writes more than is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// It goes on, and only the end of its output is kept.
    KeepEnd,
    /// It is killed. Its output would be of no use.
    Kill,
}

/// What a program reads from its standard input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stdin {
    Bytes(Vec<u8>),
    /// A file, from this byte on.
    File(PathBuf, u64),
}

/// What becomes of a program's two output streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Streams {
    Apart,
    /// Both are in `stdout`, interleaved as they were written.
    Together,
}

impl Run {
    pub fn new(program: impl Into<OsString>, cwd: impl Into<PathBuf>) -> Self {
        Self {
            argv: vec![program.into()],
            cwd: cwd.into(),
            env: Vec::new(),
            stdin: Stdin::Bytes(Vec::new()),
            streams: Streams::Apart,
            timeout: Duration::from_millis(CHECK_TIMEOUT_MS),
            output_bytes_max: OUTPUT_BYTES_MAX,
            overflow: Overflow::KeepEnd,
            memory_bytes_max: None,
        }
    }

    /// `sh -c COMMAND`, with both output streams together.
    pub fn shell(command: impl Into<OsString>, cwd: impl Into<PathBuf>) -> Self {
        let run = Self::new("sh", cwd).arg("-c").arg(command);
        Self { streams: Streams::Together, ..run }
    }

    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.argv.push(arg.into());
        self
    }

    #[must_use]
    pub fn args<I>(mut self, args: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<OsString>,
    {
        self.argv.extend(args.into_iter().map(Into::into));
        self
    }

    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// The program says whose it is, so that `end_left_behind` finds it after its starter died.
    #[must_use]
    pub fn owned_by(self, owner: &str) -> Self {
        self.env(OWNER_MARKER, owner)
    }

    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Stdin::Bytes(bytes.into());
        self
    }

    #[must_use]
    pub fn stdin_file(mut self, path: impl Into<PathBuf>, from: u64) -> Self {
        self.stdin = Stdin::File(path.into(), from);
        self
    }

    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    #[must_use]
    pub fn output_bytes_max(mut self, bytes: usize) -> Self {
        self.output_bytes_max = bytes;
        self
    }

    #[must_use]
    pub fn overflow(mut self, overflow: Overflow) -> Self {
        self.overflow = overflow;
        self
    }

    #[must_use]
    pub fn memory_bytes_max(mut self, bytes: u64) -> Self {
        self.memory_bytes_max = Some(bytes);
        self
    }
}

/// How a run ended and what it wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finished {
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub timed_out: bool,
    pub cancelled: bool,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    /// The beginning of one of the streams was let go.
    pub truncated: bool,
    pub took: Duration,
}

impl Finished {
    /// It ended by itself with exit code 0.
    pub fn success(&self) -> bool {
        self.code == Some(0) && !self.timed_out && !self.cancelled
    }
}

/// A program could not be run.
#[derive(Debug, thiserror::Error)]
#[error("failed to run `{program}` in `{}`", cwd.display())]
pub struct RunError {
    pub program: String,
    pub cwd: PathBuf,
    #[source]
    pub kind: RunErrorKind,
}

impl RunError {
    pub(crate) fn new(argv: &[OsString], cwd: &Path, error: io::Error) -> Self {
        let program = argv.first().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
        Self { kind: RunErrorKind::new(&program, error), program, cwd: cwd.to_owned() }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum RunErrorKind {
    #[error("`{program}` was not found: install it, or put its folder on PATH")]
    NotFound { program: String },
    #[error("`{program}` may not be executed: check its permissions")]
    PermissionDenied { program: String },
    #[error("{0}")]
    Io(io::Error),
}

impl RunErrorKind {
    fn new(program: &str, error: io::Error) -> Self {
        let (kind, program) = (error.kind(), program.to_owned());
        if kind == io::ErrorKind::NotFound {
            Self::NotFound { program }
        } else if kind == io::ErrorKind::PermissionDenied {
            Self::PermissionDenied { program }
        } else {
            Self::Io(error)
        }
    }
}

/// Runs code of the repository, or git in a tree that an agent has written.
///
/// The environment is an allow-list (`PATH`, `HOME`, `LANG`, `LC_*`, `TERM`, `TZ`, `TMPDIR`,
/// `USER`, `LOGNAME`, `SHELL`, `CARGO_HOME`, `RUSTUP_HOME`, `RUSTUP_TOOLCHAIN`) with what the policy and the run add.
/// The program gets its own process group. When it ends, at the time-out and at cancel,
/// everything that it started is killed, also what left the group or the session.
pub fn run_confined(policy: &Policy, run: Run, cancel: &Cancel) -> Result<Finished, RunError> {
    run_observed(policy, run, cancel, |_| {})
}

/// Like `run_confined`, and gives every piece of the output to `observe` when it comes, in the
/// order in which it comes; also what `Finished` will have let go.
///
/// Pieces are cut anywhere, also within a character. While the observer works, the program is not
/// read and its time-out not looked at: it should take note and return.
pub fn run_observed(
    policy: &Policy,
    run: Run,
    cancel: &Cancel,
    mut observe: impl FnMut(&[u8]),
) -> Result<Finished, RunError> {
    Prepared::new(policy, run, Ends::Inherited)?.finish(cancel, &mut observe)
}

/// Runs our own git on a repository that only we or the user write.
///
/// Like `run_confined`, but the environment is ours, without what could redirect git (`GIT_*`) or
/// says whose we are, and what left the process group is killed at the time-out and at cancel only.
pub fn run_trusted(mut run: Run, cancel: &Cancel) -> Result<Finished, RunError> {
    run.env = environment::trusted(run.env);
    if cancel.is_cancelled() {
        return Ok(cancelled());
    }
    let started = begin(&run, None)?;
    end(started, run, None, cancel, &mut |_| {})
}

/// Runs `sh -c COMMAND` in `cwd`, confined. Both output streams are in `stdout`, interleaved as
/// they were written.
pub fn shell(
    policy: &Policy,
    command: &str,
    cwd: &Path,
    timeout: Duration,
    cancel: &Cancel,
) -> Result<Finished, RunError> {
    run_confined(policy, Run::shell(command, cwd).timeout(timeout), cancel)
}

/// What never ran.
fn cancelled() -> Finished {
    Finished { cancelled: true, ..Finished::default() }
}

/// Starts it with exactly the environment in `run`. All of it is known by the mark.
fn begin(run: &Run, mark: Option<Mark>) -> Result<Started, RunError> {
    start::start(run, mark).map_err(|it| RunError::new(&run.argv, &run.cwd, it))
}

/// Waits for the end of what was started, whose time begins now.
fn end(
    mut started: Started,
    run: Run,
    process_counter: Option<ProcessCounter>,
    cancel: &Cancel,
    observe: &mut dyn FnMut(&[u8]),
) -> Result<Finished, RunError> {
    started.at = Instant::now();
    let (argv, cwd) = (run.argv.clone(), run.cwd.clone());
    let finished = supervise::supervise(started, run, process_counter, cancel, observe);
    // Whatever breaks now, it is not that the program is missing.
    finished.map_err(|it| RunError::new(&argv, &cwd, io::Error::other(it)))
}
