//! Limits the rate at which an agent's output is read.

use pitcrew_model::limits::{AGENT_BYTES_AT_ONCE_MAX, AGENT_BYTES_PER_S_MAX};
use std::time::Duration;
use tokio::time::Instant;

/// Tracks how much an agent has sent.
pub(super) struct RateLimit {
    /// When everything so far would have been read at the steady rate.
    heard_at: Instant,
}

impl RateLimit {
    pub fn new(now: Instant) -> Self {
        Self { heard_at: now }
    }

    /// Adds this many bytes; returns the time until which nothing more should be read.
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
    fn a_burst_is_read_at_once_and_then_at_the_steady_rate() {
        let now = Instant::now();
        let mut pace = RateLimit::new(now);
        assert_eq!(pace.take(now, AT_ONCE), None);
        let until = pace.take(now, AT_ONCE).expect("it was too much");
        let pause = until - now;
        assert!((400..600).contains(&pause.as_millis()), "{pause:?}");
        // A pause in the output restores the burst.
        assert_eq!(pace.take(now + 10 * pause, AT_ONCE), None);
    }

    #[test]
    fn a_slow_sender_is_never_delayed() {
        let now = Instant::now();
        let mut pace = RateLimit::new(now);
        for second in 0..1_000 {
            let then = now + Duration::from_secs(second);
            assert_eq!(pace.take(then, AT_ONCE), None);
        }
    }
}
