//! Limits the processes of a program where the kernel does not: it does not limit root.
//!
//! It samples from outside, so a program can have more for a moment. Then that program is ended, and no
//! other.

use crate::{Policy, Tier, tree};
use std::{
    fs,
    time::{Duration, Instant},
};

/// Between two looks. What a program can start meanwhile a machine can bear.
const LOOK_MS: u64 = 50;

/// Those who hold a box and lead to its network, and the program itself.
const HOLDERS_MAX: u64 = 8;

/// The processes and threads that a program may have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProcessCounter {
    max: u64,
    next: Instant,
    /// All of them end with the first one.
    pub(crate) is_boxed: bool,
}

impl ProcessCounter {
    /// Nothing where there is no limit, or where the kernel sees to it.
    pub(crate) fn of(policy: &Policy) -> Option<Self> {
        let is_held = policy.tier > Tier::T1 && rustix::process::geteuid().is_root();
        let max = policy.limits.processes.filter(|_| is_held)?;
        // Most programs have ended by the first look.
        let next = Instant::now() + Duration::from_millis(LOOK_MS);
        Some(Self { max, next, is_boxed: policy.tier == Tier::T3 })
    }

    /// When to look next.
    pub(crate) fn next(self) -> Instant {
        self.next
    }

    /// Whether those who descend from `root` are too many, in words. Nothing before its time.
    pub(crate) fn exceeded(&mut self, root: i32) -> Option<String> {
        let now = Instant::now();
        if now < self.next {
            return None;
        }
        self.next = now + Duration::from_millis(LOOK_MS);
        let limit = self.max.saturating_add(HOLDERS_MAX);
        // Almost always the whole machine has fewer, and that is known without a look at anybody.
        let is_exceeded = of_the_machine() > limit && below(root) > limit;
        is_exceeded.then(|| format!("more than {} processes: it was ended", self.max))
    }
}

/// Processes and threads of the whole machine.
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
    fn the_machine_has_at_least_us() {
        assert!((1..u64::MAX).contains(&of_the_machine()));
    }
}
