//! A started program with all of its descendants. They are all ended, at the latest when it is
//! dropped. No other code may wait for the program.

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

/// How long to wait for the end of a killed tree.
const END_MS_MAX: u64 = 2_000;

/// A running program that we own. When this is dropped, the program and all of its descendants are
/// killed within milliseconds, including those that left its group or session.
#[derive(Debug)]
pub struct Owned {
    /// The leader of a separate process group.
    child: Child,
    /// The marker of all of its processes, see `marker`.
    mark: Option<Mark>,
    waited_for: bool,
    /// The egress process, which ends after the program.
    outlet: Option<Outlet>,
    /// The program's temporary home, if the policy has none.
    home: Option<Scratch>,
}

impl Owned {
    pub(crate) fn new(child: Child, mark: Option<Mark>) -> Self {
        Self { child, mark, waited_for: false, outlet: None, home: None }
    }

    /// Adds the program's egress process and temporary home.
    pub(crate) fn with(mut self, outlet: Option<Outlet>, home: Option<Scratch>) -> Self {
        self.outlet = outlet;
        self.home = home;
        self
    }

    /// The process id, which is also the process group id. It cannot be reused before the program
    /// was waited for.
    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Ends all processes.
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

    /// Kills only the first process. When the first process of a box ends, the kernel kills all
    /// others in it, however fast they start new ones.
    pub(crate) fn kill(&self) {
        kill_process(self.pid(), Signal::KILL).ok();
    }

    /// Ends the remaining processes of a program that has ended.
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

    /// Waits for the end of the program itself and returns how it ended.
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

/// Ends the programs of `owner` whose parent has died, and removes the files that only they used.
/// The next owner calls this before it starts any program.
pub fn end_left_behind(owner: &str) {
    tree::end(|see| tree::owned_by(owner, see), Some(until()));
    confine::remove_left_behind(owner);
}

fn until() -> Instant {
    Instant::now() + Duration::from_millis(END_MS_MAX)
}
