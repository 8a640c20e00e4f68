//! Waits for several descriptors and a deadline at once.

use rustix::event::{PollFd, PollFlags, Timespec};
use std::{
    io,
    os::fd::{AsFd, BorrowedFd},
    time::{Duration, Instant},
};

/// The most bytes that are transferred at once.
pub(crate) const BUFFER_BYTES: usize = 16 * 1_024;

/// Waits until one of `interests` is ready or until the deadline `until`. Returns the results in
/// the order of `interests`. A descriptor whose other end is closed counts as ready.
///
/// `PollFlags::empty()` waits only until the other end is closed.
pub(crate) fn wait(
    interests: &[(BorrowedFd<'_>, PollFlags)],
    until: Option<Instant>,
) -> io::Result<Vec<bool>> {
    let mut fds: Vec<PollFd<'_>> =
        interests.iter().map(|(fd, flags)| PollFd::from_borrowed_fd(*fd, *flags)).collect();
    let left = until.map(|until| timespec(until.saturating_duration_since(Instant::now())));
    match rustix::event::poll(&mut fds, left.as_ref()) {
        Ok(_) => Ok(fds.iter().map(|it| !it.revents().is_empty()).collect()),
        // The caller checks everything again anyway.
        Err(rustix::io::Errno::INTR) => Ok(vec![false; fds.len()]),
        Err(error) => Err(error.into()),
    }
}

/// Rounds up to a millisecond: waking up too early would only repeat the wait.
fn timespec(duration: Duration) -> Timespec {
    let up = duration + Duration::from_micros(999);
    Timespec {
        tv_sec: i64::try_from(up.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(up.subsec_millis()) * 1_000_000,
    }
}

/// Makes reads and writes on `fd` return `WouldBlock` instead of blocking.
pub(crate) fn never_block(fd: impl AsFd) -> io::Result<()> {
    Ok(rustix::io::ioctl_fionbio(fd, true)?)
}

/// The result of one read or write on a descriptor that never blocks.
pub(crate) enum Step {
    Moved(usize),
    NotNow,
    /// End of the stream, or the other end is closed.
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
