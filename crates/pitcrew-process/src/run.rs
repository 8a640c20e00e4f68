//! Runs one program to its end, keeps the end of its output, and ends all of its processes.
//!
//! Blocking and single-threaded. Interpreting the output is up to the caller.

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

/// One program to run to its end.
#[derive(Clone, Debug)]
pub struct Run {
    pub argv: Vec<OsString>,
    pub cwd: PathBuf,
    /// Added to the environment that the run function sets.
    pub env: Vec<(OsString, OsString)>,
    pub stdin: Stdin,
    pub streams: Streams,
    pub timeout: Duration,
    /// How much of the end of each output stream is kept.
    pub output_bytes_max: usize,
    pub overflow: Overflow,
    /// The memory that each process may have, in all run functions. Absent: the policy's limit.
    pub memory_bytes_max: Option<u64>,
}

/// What to do with a program that writes more than is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// The program continues, and only the end of its output is kept.
    KeepEnd,
    /// The program is killed, because incomplete output would be useless.
    Kill,
}

/// The standard input of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stdin {
    Bytes(Vec<u8>),
    /// A file, from this offset on.
    File(PathBuf, u64),
}

/// Where a program's two output streams go.
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

    /// Marks the program with its owner, so that `end_left_behind` finds it after its parent died.
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
    /// Whether the beginning of one of the streams was dropped.
    pub truncated: bool,
    pub took: Duration,
}

impl Finished {
    /// Whether the program ended by itself with exit code 0.
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
/// `USER`, `LOGNAME`, `SHELL`, `CARGO_HOME`, `RUSTUP_HOME`, `RUSTUP_TOOLCHAIN`) plus the variables
/// of the policy and the run. The program gets a separate process group. When it ends, times out or
/// is cancelled, all of its descendants are killed, including those that left the group or the
/// session.
pub fn run_confined(policy: &Policy, run: Run, cancel: &Cancel) -> Result<Finished, RunError> {
    run_observed(policy, run, cancel, |_| {})
}

/// Like `run_confined`, but passes every piece of the output to `observe` in the order of arrival,
/// including output that `Finished` does not keep.
///
/// Pieces may end anywhere, even within a character. While the observer runs, the program's output
/// is not read and its time-out is not checked, so the observer should return quickly.
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
/// Like `run_confined`, but with our environment, except for variables that redirect git (`GIT_*`)
/// or mark processes. Processes that left the process group are killed only on time-out and on
/// cancellation.
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

/// The result of a run that was cancelled before it started.
fn cancelled() -> Finished {
    Finished { cancelled: true, ..Finished::default() }
}

/// Starts the program with exactly the environment in `run`. The mark identifies all of its
/// processes.
fn begin(run: &Run, mark: Option<Mark>) -> Result<Started, RunError> {
    start::start(run, mark).map_err(|it| RunError::new(&run.argv, &run.cwd, it))
}

/// Waits for the end of the started program. Its time-out starts now.
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
    // A later error must not look like a missing program.
    finished.map_err(|it| RunError::new(&argv, &cwd, io::Error::other(it)))
}
