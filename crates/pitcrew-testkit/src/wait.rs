//! Waits for conditions, never for a time.

use std::time::{Duration, Instant};

/// The timeout of all waits.
pub const PATIENCE: Duration = Duration::from_mins(2);
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Waits until `look` finds something. A timeout panics with `what`.
pub fn eventually<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    within(PATIENCE, look).unwrap_or_else(|| panic!("timed out waiting for: {what}"))
}

/// Waits until `look` finds something, with a timeout.
#[expect(clippy::disallowed_methods, reason = "the only place that waits for a condition")]
pub fn within<T>(patience: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + patience;
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        if Instant::now() >= deadline {
            return None;
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// The same for asynchronous tests.
pub async fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "timed out waiting for: {what}");
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
