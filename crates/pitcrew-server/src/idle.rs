//! Detects when the orchestrator is no longer needed.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::{sync::Notify, time::Instant};

/// Counts open requests, including streams.
#[derive(Clone, Default)]
pub struct OpenRequests {
    open_count: Arc<AtomicUsize>,
    changed: Arc<Notify>,
}

/// An open request. Dropped with the body of its answer.
pub struct RequestGuard(OpenRequests);

impl OpenRequests {
    pub fn enter(&self) -> RequestGuard {
        self.open_count.fetch_add(1, Ordering::SeqCst);
        self.changed.notify_one();
        RequestGuard(self.clone())
    }

    fn is_empty(&self) -> bool {
        self.open_count.load(Ordering::SeqCst) == 0
    }

    /// Returns when there was no client and no work for the whole of `patience`.
    pub async fn idle_for(&self, patience: Duration, is_busy: impl Fn() -> bool) {
        let mut since = Instant::now();
        loop {
            if !self.is_empty() || is_busy() {
                since = Instant::now();
            }
            let left = patience.saturating_sub(since.elapsed());
            if left.is_zero() {
                return;
            }
            // The end of work is not signalled, so it is polled.
            let look_again = left.min(Duration::from_millis(500));
            tokio::select! {
                () = tokio::time::sleep(look_again) => {}
                () = self.changed.notified() => since = Instant::now(),
            }
        }
    }
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.0.open_count.fetch_sub(1, Ordering::SeqCst);
        self.0.changed.notify_one();
    }
}
