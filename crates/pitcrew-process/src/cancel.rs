//! Cancels runs from another thread.

use rustix::event::{EventfdFlags, eventfd};
use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
};

/// Cancels runs from outside. Cheap to clone: all clones share one switch, which is never reset.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<Switch>);

#[derive(Debug, Default)]
struct Switch {
    on: AtomicBool,
    waiting: Mutex<Vec<Weak<OwnedFd>>>,
}

impl Cancel {
    /// Kills the process trees of all runs that use this switch, now and later.
    pub fn cancel(&self) {
        self.0.on.store(true, Ordering::SeqCst);
        for fd in self.waiting().drain(..).filter_map(|it| it.upgrade()) {
            // The write fails only if the counter is already at its maximum.
            rustix::io::write(&*fd, &1_u64.to_ne_bytes()).ok();
        }
    }

    pub fn is_cancelled(&self) -> bool {
        self.0.on.load(Ordering::SeqCst)
    }

    /// Returns a descriptor that becomes readable at `cancel`, even if `cancel` was called before.
    pub(crate) fn readable_fd(&self) -> io::Result<CancelFd> {
        let fd = Arc::new(eventfd(0, EventfdFlags::CLOEXEC)?);
        let mut waiting = self.waiting();
        waiting.retain(|it| it.strong_count() > 0);
        waiting.push(Arc::downgrade(&fd));
        drop(waiting);
        if self.is_cancelled() {
            rustix::io::write(&*fd, &1_u64.to_ne_bytes())?;
        }
        Ok(CancelFd(fd))
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, Vec<Weak<OwnedFd>>> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) struct CancelFd(Arc<OwnedFd>);

impl AsFd for CancelFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
