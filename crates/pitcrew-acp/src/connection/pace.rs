//! How fast an agent is listened to.

use pitcrew_model::limits::{AGENT_BYTES_AT_ONCE_MAX, AGENT_BYTES_PER_S_MAX};
use std::time::Duration;
use tokio::time::Instant;

/// Keeps account of what an agent says.
pub(super) struct Pace {
    /// When all that was said would have been heard at the steady pace.
    heard_at: Instant,
}

impl Pace {
    pub fn new(now: Instant) -> Self {
        Self { heard_at: now }
    }

    /// Takes so many bytes into account; until when nothing more is to be heard.
    pub fn take(&mut self, now: Instant, bytes: usize) -> Option<Instant> {
        self.heard_at = self.heard_at.max(now) + time_of(bytes as u64);
        let until = self.heard_at.checked_sub(time_of(AGENT_BYTES_AT_ONCE_MAX))?;
        (until > now).then_some(until)
    }
}

fn time_of(bytes: u64) -> Duration {
    Duration::from_nanos(bytes * (1_000_000_000 / AGENT_BYTES_PER_S_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT_ONCE: usize = 8 * 1_024 * 1_024;

    #[test]
    fn who_says_much_at_once_is_heard_at_once_and_then_at_the_pace() {
        let now = Instant::now();
        let mut pace = Pace::new(now);
        assert_eq!(pace.take(now, AT_ONCE), None);
        let until = pace.take(now, AT_ONCE).expect("it was too much");
        let pause = until - now;
        assert!((400..600).contains(&pause.as_millis()), "{pause:?}");
        // A silence is as good as a pause.
        assert_eq!(pace.take(now + 10 * pause, AT_ONCE), None);
    }

    #[test]
    fn who_says_little_is_never_held_up() {
        let now = Instant::now();
        let mut pace = Pace::new(now);
        for second in 0..1_000 {
            let then = now + Duration::from_secs(second);
            assert_eq!(pace.take(then, AT_ONCE), None);
        }
    }
}
