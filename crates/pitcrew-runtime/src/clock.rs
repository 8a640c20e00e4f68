//! The only place that asks what time it is, and the one that wakes the kernel.

use crate::Handle;
use pitcrew_model::Timestamp;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::watch;

pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// Sends a tick whenever the kernel wants to be asked again. Ends with the writer.
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
                // The writer says when the next one is due, or that this one was too early.
                if due.changed().await.is_err() { return; }
            }
            changed = due.changed() => if changed.is_err() { return; },
        }
    }
}
