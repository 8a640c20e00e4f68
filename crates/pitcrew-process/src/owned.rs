//! A started program with everything that it starts: ended whole, at the latest when it is
//! dropped. No other code may wait for it.

use crate::{
    confine::{self, Scratch},
    egress::Outlet,
    marker::Mark,
    tree::{self, ProcessId, See},
};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::{
    io,
    process::{Child, ExitStatus},
    time::{Duration, Instant},
};

/// How long the end of a killed tree is waited for.
const END_MS_MAX: u64 = 2_000;

/// A running program that is ours. When this is dropped, it and everything that it started is
/// killed, also what left its group or its session; that takes milliseconds.
#[derive(Debug)]
pub struct Owned {
    /// Leads a group of its own.
    child: Child,
    /// On all of its processes, see `marker`.
    mark: Option<Mark>,
    waited_for: bool,
    /// Its way to the network, which ends after it.
    outlet: Option<Outlet>,
    /// Its home, where it has none of its own.
    home: Option<Scratch>,
}

impl Owned {
    pub(crate) fn new(child: Child, mark: Option<Mark>) -> Self {
        Self { child, mark, waited_for: false, outlet: None, home: None }
    }

    /// The same program with its way to the network, and its home.
    pub(crate) fn with(mut self, outlet: Option<Outlet>, home: Option<Scratch>) -> Self {
        self.outlet = outlet;
        self.home = home;
        self
    }

    /// Its number, which is also the number of its group. It cannot belong to anybody else before
    /// the program was waited for.
    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Ends everything.
    pub(crate) fn end(&self) {
        let group = self.pid();
        kill_process_group(group, Signal::STOP).ok();
        let root = ProcessId::of(group.as_raw_pid());
        let family = |see: See<'_>| {
            if let Some(root) = root.and_then(ProcessId::living) {
                see(root);
            }
            tree::descendants(group.as_raw_pid(), see);
        };
        tree::end(family, Some(until()));
        self.end_rest();
    }

    /// Kills only the first of them. When the first process of a box ends, the kernel kills all others in
    /// it, however fast they start new ones.
    pub(crate) fn kill(&self) {
        kill_process(self.pid(), Signal::KILL).ok();
    }

    /// Ends what the program, which has ended, left behind.
    pub(crate) fn end_rest(&self) {
        kill_process_group(self.pid(), Signal::KILL).ok();
        match &self.mark {
            Some(mark) if mark.is_boxed => {
                tree::end(|see| tree::marked_in_box(&mark.text, see), Some(until()));
            }
            Some(mark) => tree::end(|see| tree::marked(&mark.text, see), Some(until())),
            None => {}
        }
    }

    /// Waits for the end of the program itself and says how it ended.
    pub(crate) fn wait(mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait()?;
        self.waited_for = true;
        Ok(status)
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        if !self.waited_for {
            self.end();
            self.child.wait().ok();
        }
        drop(self.outlet.take());
        drop(self.home.take());
    }
}

/// Ends the programs of `owner` whose parent has died, and removes the files that only they used. The
/// next owner calls this before it starts any program.
pub fn end_left_behind(owner: &str) {
    tree::end(|see| tree::owned_by(owner, see), Some(until()));
    confine::remove_left_behind(owner);
}

fn until() -> Instant {
    Instant::now() + Duration::from_millis(END_MS_MAX)
}
