//! Waiting for a condition, never for a time.

use std::time::{Duration, Instant};

/// What does not happen within this time does not happen.
pub const PATIENCE: Duration = Duration::from_mins(2);
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Waits until `look` finds something. `what` is named when it never does.
pub fn eventually<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    within(PATIENCE, look).unwrap_or_else(|| panic!("it never happened: {what}"))
}

/// Waits until `look` finds something, for some time.
#[expect(clippy::disallowed_methods, reason = "this is the one place that waits for a condition")]
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

/// The same for tests that wait for other things meanwhile.
pub async fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "it never happened: {what}");
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
