//! Limits the processes of a program if the kernel does not: it does not limit root.
//!
//! It counts at intervals from outside, so a program can exceed the limit for a moment. Then that
//! program is ended, and no other.

use crate::{Policy, Tier, tree};
use std::{
    fs,
    time::{Duration, Instant},
};

/// The interval between two counts. The machine can handle what a program can start in that time.
const LOOK_MS: u64 = 50;

/// The processes that hold a box and connect its network, and the program itself.
const HOLDERS_MAX: u64 = 8;

/// Counts the processes and threads of a program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProcessCounter {
    max: u64,
    next: Instant,
    /// Whether all of them end with the first one.
    pub(crate) is_boxed: bool,
}

impl ProcessCounter {
    /// Returns nothing if there is no limit, or if the kernel enforces it.
    pub(crate) fn of(policy: &Policy) -> Option<Self> {
        let is_held = policy.tier > Tier::T1 && rustix::process::geteuid().is_root();
        let max = policy.limits.processes.filter(|_| is_held)?;
        // Most programs have ended before the first count.
        let next = Instant::now() + Duration::from_millis(LOOK_MS);
        Some(Self { max, next, is_boxed: policy.tier == Tier::T3 })
    }

    /// The time of the next count.
    pub(crate) fn next(self) -> Instant {
        self.next
    }

    /// Returns a message if `root` has too many descendants. Does nothing before the next count is
    /// due.
    pub(crate) fn exceeded(&mut self, root: i32) -> Option<String> {
        let now = Instant::now();
        if now < self.next {
            return None;
        }
        self.next = now + Duration::from_millis(LOOK_MS);
        let limit = self.max.saturating_add(HOLDERS_MAX);
        // The whole machine almost always has fewer, which is known without inspecting processes.
        let is_exceeded = of_the_machine() > limit && below(root) > limit;
        is_exceeded.then(|| format!("more than {} processes: it was ended", self.max))
    }
}

/// Returns the number of processes and threads of the whole machine.
fn of_the_machine() -> u64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let all = text.split_ascii_whitespace().nth(3).and_then(|it| it.split_once('/'));
    all.and_then(|it| it.1.parse().ok()).unwrap_or(u64::MAX)
}

fn below(root: i32) -> u64 {
    let mut count = 0;
    tree::descendants(root, &mut |it| count += u64::from(it.threads));
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machine_has_at_least_this_process() {
        assert!((1..u64::MAX).contains(&of_the_machine()));
    }
}
