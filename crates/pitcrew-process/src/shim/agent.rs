//! The agent's process and our ends of its pipes.

use super::{
    ShimSpec,
    ahead::{Ahead, Waiting},
    lines::Lines,
    reaper::Reaper,
    spool::Spool,
    wire::Start,
};
use crate::{
    Policy, command,
    confine::{self, Wrapped},
    egress::Outlet,
    ends::{self, Ends},
    marker::RUN_MARKER,
    poll,
    poll::Step,
    tree::ProcessId,
};
use pitcrew_model::limits::FRAME_BYTES_MAX;
use rustix::io::Errno;
use std::{
    collections::VecDeque,
    ffi::OsString,
    io::{self, PipeReader, PipeWriter, Read, Write},
    os::unix::process::CommandExt,
    process::{Child, ChildStderr, Stdio},
};

pub(super) struct Agent {
    pub(super) id: ProcessId,
    pub(super) reaper: Reaper,
    pub(super) stdin: Option<PipeWriter>,
    pub(super) stdout: Option<PipeReader>,
    pub(super) stderr: Option<ChildStderr>,
    lines: Lines,
    /// Frames that the agent has not read yet.
    pending: VecDeque<u8>,
    /// The agent's egress process.
    pub(super) outlet: Option<Outlet>,
}

impl Agent {
    pub(super) fn start(spec: &ShimSpec, ahead: Option<Ahead>) -> Result<Self, Start> {
        let failed = |error: io::Error| Start::Failed { reason: error.to_string() };
        // Must come before the reaper, which waits for every child.
        let ahead = ahead.map_or_else(|| Ahead::way_out(spec), Ok).map_err(failed)?;
        let (mut child, stdin, stdout) =
            spawn(spec, &ahead.policy, ahead.waiting).map_err(|error| refusal(spec, &error))?;
        let pid = i32::try_from(child.id()).expect("a process number is positive");
        // The child has not been waited for, so it has an entry.
        let id = ProcessId::of(pid).expect("a child that was not waited for is in the table");
        let agent = Self {
            id,
            stdin: Some(stdin),
            stdout: Some(stdout),
            stderr: child.stderr.take(),
            reaper: Reaper::start(pid).map_err(failed)?,
            lines: Lines::new(FRAME_BYTES_MAX),
            pending: VecDeque::new(),
            outlet: ahead.outlet,
        };
        agent.never_block().map_err(failed)?;
        Ok(agent)
    }

    fn never_block(&self) -> io::Result<()> {
        self.stdin.as_ref().map_or(Ok(()), poll::never_block)?;
        self.stdout.as_ref().map_or(Ok(()), poll::never_block)?;
        self.stderr.as_ref().map_or(Ok(()), poll::never_block)
    }

    /// Moves one buffer of the agent's output to the spool.
    pub(super) fn take_stdout(&mut self, spool: &mut Spool) -> io::Result<Step> {
        let mut buffer = [0; poll::BUFFER_BYTES];
        let Some(stdout) = &mut self.stdout else { return Ok(Step::Closed) };
        let step = Step::of(stdout.read(&mut buffer));
        match step {
            Step::Moved(count) => {
                self.lines.push(&buffer[..count], &mut |line| spool.output(line))?;
            }
            Step::NotNow => {}
            Step::Closed => self.close_stdout(spool)?,
        }
        Ok(step)
    }

    /// Handles the end of the output. Reports an incomplete last line.
    pub(super) fn close_stdout(&mut self, spool: &mut Spool) -> io::Result<()> {
        self.stdout = None;
        self.lines.finish().map_or(Ok(()), |it| spool.output(it))
    }

    pub(super) fn take_stderr(&mut self, mut each: impl FnMut(&[u8])) -> Step {
        let mut buffer = [0; poll::BUFFER_BYTES];
        let Some(stderr) = &mut self.stderr else { return Step::Closed };
        let step = Step::of(stderr.read(&mut buffer));
        match step {
            Step::Moved(count) => each(&buffer[..count]),
            Step::NotNow => {}
            Step::Closed => self.stderr = None,
        }
        step
    }

    pub(super) fn queue(&mut self, frame: &str) {
        // An agent that closed its input gets no more of it. That is not an error of the shim.
        if self.stdin.is_some() {
            self.pending.extend(frame.as_bytes());
            self.pending.push_back(b'\n');
        }
    }

    pub(super) fn pending_bytes(&self) -> usize {
        self.pending.len()
    }

    pub(super) fn feed(&mut self) {
        let Some(stdin) = &mut self.stdin else { return };
        if self.pending.is_empty() {
            return;
        }
        match Step::of(stdin.write(self.pending.as_slices().0)) {
            Step::Moved(count) => drop(self.pending.drain(..count)),
            Step::NotNow => {}
            Step::Closed => {
                self.stdin = None;
                self.pending = VecDeque::new();
            }
        }
    }
}

/// Starts the agent. Returns it with our ends of its input and output.
fn spawn(
    spec: &ShimSpec,
    policy: &Policy,
    waiting: Option<Waiting>,
) -> io::Result<(Child, PipeWriter, PipeReader)> {
    let wrapped = wrapped(spec, policy)?;
    let (stdin, ours_stdin) = io::pipe()?;
    let (ours_stdout, stdout) = io::pipe()?;
    if let Some(child) = waiting.and_then(|it| it.enter(&wrapped, &stdin, &stdout)) {
        return Ok((child, ours_stdin, ours_stdout));
    }
    let mut command = command::command(&wrapped.argv, &spec.cwd, &wrapped.env)?;
    match Ends::alone(policy) {
        Ends::Inherited | Ends::Awaited => command.stdin(stdin).stdout(stdout),
        Ends::HandedOver => command.stdin(ends::hand_over(stdin, stdout)?).stdout(Stdio::null()),
    };
    let child = command.process_group(0).stderr(Stdio::piped()).spawn()?;
    Ok((child, ours_stdin, ours_stdout))
}

/// Builds the command that is started in place of the agent.
pub(super) fn wrapped(spec: &ShimSpec, policy: &Policy) -> io::Result<Wrapped> {
    let argv: Vec<OsString> = spec.argv.iter().map(Into::into).collect();
    let marker = (RUN_MARKER.into(), spec.marker().into());
    let given = spec.env.iter().chain(&policy.env);
    let env = given.map(|(name, value)| (name.into(), value.into())).chain([marker]).collect();
    confine::wrap(policy, &argv, &spec.cwd, env, Ends::alone(policy))
}

/// Reports the agent as missing only if its program is at fault. A machine that is out of processes
/// or memory is a different failure.
fn refusal(spec: &ShimSpec, error: &io::Error) -> Start {
    let program = spec.program();
    let kind = error.kind();
    let reason = if matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) {
        format!("`{program}` was not found: install it, or put its folder on PATH")
    } else if kind == io::ErrorKind::PermissionDenied {
        format!("`{program}` may not be executed: check its permissions")
    } else if error.raw_os_error() == Some(Errno::NOEXEC.raw_os_error()) {
        format!("`{program}` is not a program on this machine: {error}")
    } else {
        return Start::Failed { reason: format!("cannot execute `{program}`: {error}") };
    };
    Start::AgentMissing { reason }
}
