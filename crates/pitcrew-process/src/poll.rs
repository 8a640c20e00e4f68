//! Waiting for several things at once: descriptors, and a moment in time.

use rustix::event::{PollFd, PollFlags, Timespec};
use std::{
    io,
    os::fd::{AsFd, BorrowedFd},
    time::{Duration, Instant},
};

/// How much is moved at once.
pub(crate) const BUFFER_BYTES: usize = 16 * 1_024;

/// Waits until one of `interests` is ready or `until` has come. Answers in the order of
/// `interests`; a descriptor whose other end is gone is ready.
///
/// `PollFlags::empty()` waits for nothing but the loss of the other end.
pub(crate) fn wait(
    interests: &[(BorrowedFd<'_>, PollFlags)],
    until: Option<Instant>,
) -> io::Result<Vec<bool>> {
    let mut fds: Vec<PollFd<'_>> =
        interests.iter().map(|(fd, flags)| PollFd::from_borrowed_fd(*fd, *flags)).collect();
    let left = until.map(|until| timespec(until.saturating_duration_since(Instant::now())));
    match rustix::event::poll(&mut fds, left.as_ref()) {
        Ok(_) => Ok(fds.iter().map(|it| !it.revents().is_empty()).collect()),
        // The caller looks at everything again anyway.
        Err(rustix::io::Errno::INTR) => Ok(vec![false; fds.len()]),
        Err(error) => Err(error.into()),
    }
}

/// Rounded up to the millisecond: waking a little early would only spin.
fn timespec(duration: Duration) -> Timespec {
    let up = duration + Duration::from_micros(999);
    Timespec {
        tv_sec: i64::try_from(up.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(up.subsec_millis()) * 1_000_000,
    }
}

/// Reads and writes on `fd` answer `WouldBlock` from now on instead of waiting.
pub(crate) fn never_block(fd: impl AsFd) -> io::Result<()> {
    Ok(rustix::io::ioctl_fionbio(fd, true)?)
}

/// What one read or write on a descriptor that never blocks came to.
pub(crate) enum Step {
    Moved(usize),
    NotNow,
    /// End of the stream, or the other end is gone.
    Closed,
}

impl Step {
    pub(crate) fn of(result: io::Result<usize>) -> Self {
        match result {
            Ok(0) => Self::Closed,
            Ok(count) => Self::Moved(count),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                ) =>
            {
                Self::NotNow
            }
            Err(_) => Self::Closed,
        }
    }
}
