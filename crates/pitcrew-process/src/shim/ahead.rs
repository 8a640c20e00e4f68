//! The parts of an agent that can be prepared before it starts: its egress process, and its box
//! with our launcher in it, which waits for the agent's input and output.
//!
//! The process that starts a shim early passes a socket as its standard output. It writes to the
//! socket to start the agent, and closes the socket to end the shim.

use super::{ShimSpec, agent::wrapped};
use crate::{Policy, command, confine::Wrapped, egress::Outlet, ends, ends::Ends, poll};
use rustix::{
    event::PollFlags,
    fs::{Mode, OFlags, fstat, open, stat},
    net::sockopt::socket_type,
    process::{Pid, Signal, kill_process_group},
};
use std::{
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::{net::UnixStream, process::CommandExt},
    },
    path::PathBuf,
    process::{Child, Stdio},
    time::{Duration, Instant},
};

/// How long to wait for the checkout.
const EXPECTED_MS_MAX: u64 = 10 * 60_000;

pub(super) struct Ahead {
    pub(super) outlet: Option<Outlet>,
    /// Contains the address of the egress process.
    pub(super) policy: Policy,
    pub(super) waiting: Option<Waiting>,
}

impl Ahead {
    /// Starts only the egress process, without a box.
    pub(super) fn way_out(spec: &ShimSpec) -> io::Result<Self> {
        let (outlet, policy) = Outlet::open(&spec.policy)?;
        Ok(Self { outlet, policy, waiting: None })
    }

    /// Prepares as much as possible. The rest is created when the agent starts.
    pub(super) fn make(spec: &ShimSpec) -> Option<Self> {
        let mut ahead = Self::way_out(spec).ok()?;
        // If mounts make part of the checkout read-only, the box depends on the checkout's content.
        let is_made_of_it = ahead.policy.inner.is_some() && !ahead.policy.guest;
        if Ends::alone(&ahead.policy) == Ends::HandedOver && !is_made_of_it {
            ahead.waiting = Waiting::start(spec, &ahead.policy).ok();
        }
        Some(ahead)
    }
}

/// Whether this shim was started before its agent may start.
pub(super) fn is_early() -> bool {
    socket_type(io::stdout()).is_ok()
}

/// Waits until the agent may start. Returns false if it is no longer needed.
pub(super) fn is_wanted() -> io::Result<bool> {
    let until = Instant::now() + Duration::from_millis(EXPECTED_MS_MAX);
    let stdout = io::stdout();
    while Instant::now() < until {
        if poll::wait(&[(stdout.as_fd(), PollFlags::IN)], Some(until))?[0] {
            let read = rustix::io::retry_on_intr(|| rustix::io::read(&stdout, &mut [0_u8]));
            return Ok(read? == 1);
        }
    }
    Ok(false)
}

/// A box that contains only our launcher. Dropping this removes the box.
pub(super) struct Waiting {
    child: Option<Child>,
    /// The socket on which the launcher waits for the agent's input and output.
    socket: UnixStream,
    wrapped: Wrapped,
    /// The shared paths of the box. They are held open so that their inode numbers cannot be
    /// reused.
    shared: Vec<(PathBuf, OwnedFd)>,
}

impl Waiting {
    fn start(spec: &ShimSpec, policy: &Policy) -> io::Result<Self> {
        let wrapped = wrapped(spec, policy)?;
        let held = |path: &PathBuf| -> io::Result<(PathBuf, OwnedFd)> {
            Ok((path.clone(), open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?))
        };
        let shared = wrapped.shared.iter().map(held).collect::<io::Result<_>>()?;
        let (socket, theirs) = UnixStream::pair()?;
        let mut command = command::command(&wrapped.argv, &spec.cwd, &wrapped.env)?;
        command.stdin(OwnedFd::from(theirs)).stdout(Stdio::null()).stderr(Stdio::piped());
        let child = Some(command.process_group(0).spawn()?);
        Ok(Self { child, socket, wrapped, shared })
    }

    /// Starts the agent in this box, if a box that is created now would be identical.
    pub(super) fn enter(
        mut self,
        wrapped: &Wrapped,
        stdin: impl AsFd,
        stdout: impl AsFd,
    ) -> Option<Child> {
        let is_alive = self.child.as_mut()?.try_wait().is_ok_and(|it| it.is_none());
        if !is_alive || *wrapped != self.wrapped || !self.shared.iter().all(is_there) {
            return None;
        }
        ends::pass(&self.socket, stdin, stdout).ok()?;
        self.child.take()
    }
}

/// Whether a path still leads to the same file.
fn is_there((path, held): &(PathBuf, OwnedFd)) -> bool {
    match (stat(path), fstat(held)) {
        (Ok(now), Ok(held)) => (now.st_dev, now.st_ino) == (held.st_dev, held.st_ino),
        (Err(_), _) | (_, Err(_)) => false,
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        // The process id of a child that was waited for may belong to another process.
        if let Ok(Some(_)) = child.try_wait() {
            return;
        }
        // The box ends with its first process.
        kill_process_group(Pid::from_child(&child), Signal::KILL).ok();
        child.wait().ok();
    }
}
