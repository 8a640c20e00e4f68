//! Reports every process of the tree that ends, including orphans.
//!
//! The shim inherits every orphan of the agent, so none of the agent's processes is left once the
//! shim has no child. The system reports that, so no search is needed.

use rustix::{
    event::{EventfdFlags, eventfd},
    io::Errno,
    process::{WaitOptions, WaitStatus, wait},
};
use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    time::Duration,
};

#[derive(Clone, Copy, Debug)]
pub(super) enum Reaped {
    /// The agent itself has ended; its descendants may still be running.
    Agent(WaitStatus),
    /// No process is left. Always the last message.
    All,
}

pub(super) struct Reaper {
    news: Receiver<Reaped>,
    bell: Arc<OwnedFd>,
}

impl Reaper {
    /// Must be called after the agent was started: without a child there is nothing to wait for.
    pub(super) fn start(agent: i32) -> io::Result<Self> {
        let bell = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let (tell, news) = channel();
        let ring = Arc::clone(&bell);
        std::thread::Builder::new()
            .stack_size(64 * 1_024)
            .spawn(move || reap(agent, &tell, &ring))?;
        Ok(Self { news, bell })
    }

    /// Returns the messages since the last call.
    pub(super) fn news(&self) -> impl Iterator<Item = Reaped> {
        rustix::io::read(&*self.bell, &mut [0_u8; 8]).ok();
        self.news.try_iter()
    }

    /// Returns the next message, if it arrives within `soon`.
    pub(super) fn next(&self, soon: Duration) -> Option<Reaped> {
        match self.news.recv_timeout(soon) {
            Ok(news) => Some(news),
            Err(RecvTimeoutError::Timeout) => None,
            // The last message was received earlier.
            Err(RecvTimeoutError::Disconnected) => Some(Reaped::All),
        }
    }
}

impl AsFd for Reaper {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

fn reap(agent: i32, tell: &Sender<Reaped>, ring: &OwnedFd) {
    loop {
        let news = match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid.as_raw_pid() == agent => Reaped::Agent(status),
            Ok(_) | Err(Errno::INTR) => continue,
            Err(_) => Reaped::All,
        };
        // The shim's main thread outlives this one.
        tell.send(news).ok();
        rustix::io::write(ring, &1_u64.to_ne_bytes()).ok();
        if matches!(news, Reaped::All) {
            return;
        }
    }
}
