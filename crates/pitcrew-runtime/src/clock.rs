//! The only module that reads the time, and the task that sends ticks to the kernel.

use crate::Handle;
use pitcrew_model::Timestamp;
use std::{
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};
use tokio::sync::watch;

/// The wall clock at the first call, and its instant.
static START: LazyLock<(Duration, Instant)> = LazyLock::new(|| {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (since, Instant::now())
});

/// How far the journal is ahead of the wall clock.
static AHEAD_MS: AtomicU64 = AtomicU64::new(0);

/// Returns the time for deadlines. It does not advance while the machine is suspended and ignores
/// changes of the clock, so that neither can time out workers.
pub fn now() -> Timestamp {
    counted().plus(AHEAD_MS.load(Ordering::Relaxed))
}

/// Continues after `last`, the time of the last journal entry: if the clock was set back between
/// two runs, deadlines must not be delayed.
pub fn continue_after(last: Timestamp) {
    AHEAD_MS.fetch_max(last.since(counted()), Ordering::Relaxed);
}

/// The wall clock in milliseconds since the epoch, for comparison with other programs.
pub fn wall_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn counted() -> Timestamp {
    let (wall, start) = &*START;
    let since = *wall + start.elapsed();
    Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// Sends a tick whenever the kernel has something due. Ends with the writer.
pub async fn wake(handle: Handle, mut due: watch::Receiver<Option<Timestamp>>) {
    loop {
        let next = *due.borrow_and_update();
        let wait = async {
            match next {
                Some(at) => tokio::time::sleep(Duration::from_millis(at.since(now()))).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = wait => {
                handle.tick().await;
                // The writer replies with the next time, or that this tick was too early.
                if due.changed().await.is_err() { return; }
            }
            changed = due.changed() => if changed.is_err() { return; },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_starts_at_the_wall_clock_and_never_goes_back() {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
        let mut last = now();
        assert!(u128::from(last.0).abs_diff(wall) < 60_000, "{last:?} at {wall}");
        let until = Timestamp(last.0 + 20);
        while last < until {
            let next = now();
            assert!(next >= last, "{next:?} after {last:?}");
            last = next;
        }
    }
}
