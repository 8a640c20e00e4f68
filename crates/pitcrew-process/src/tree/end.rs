//! Kills process trees that resist, also those that start processes faster than we can look.

use super::{Entry, ProcessId, See};
use rustix::process::{Pid, Signal, kill_process_group};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

/// Scans in a row that must find no new process before the tree counts as empty: a process that
/// starts another and ends is easily missed once, but not again and again.
const CALM_LOOKS: u32 = 2;

/// A killed process that is still there after this long is held by the kernel; look again.
const DEATH_MS_MAX: u64 = 50;

/// Ends all that `find` finds, until it finds none and each of them has let go of its files: first
/// stops each at sight, so that none can start another while the rest is being looked for, then
/// kills them. Gives up at `until`.
pub(crate) fn end(find: impl Fn(See<'_>), until: Option<Instant>) {
    let mut calm_looks = CALM_LOOKS - 1;
    let is_late = || until.is_some_and(|until| Instant::now() >= until);
    // A process that ends frees its memory first, and with it the marker it is found by.
    let mut killed = BTreeSet::new();
    loop {
        let mut stopped = Stopped::default();
        while calm_looks < CALM_LOOKS && !is_late() {
            let count = stopped.processes.len();
            find(&mut |entry| stopped.stop(entry));
            calm_looks = if stopped.processes.len() == count { calm_looks + 1 } else { 0 };
        }
        stopped.kill();
        let is_calm = stopped.processes.is_empty();
        killed.append(&mut stopped.processes);
        let look_again = Instant::now() + Duration::from_millis(DEATH_MS_MAX);
        killed.retain(|it| !it.has_ended_by(look_again));
        if is_late() || is_calm && killed.is_empty() {
            return;
        }
        calm_looks = 0;
    }
}

#[derive(Default)]
struct Stopped {
    processes: BTreeSet<ProcessId>,
    numbers: BTreeSet<i32>,
    /// Each with one of its members: as long as that one exists, the number cannot be reused.
    groups: BTreeMap<i32, ProcessId>,
}

impl Stopped {
    /// Stops a process, and with it all of its group: the system leaves no gap there, not even for
    /// one that is just being started.
    fn stop(&mut self, found: Entry) {
        if !self.processes.insert(found.id) {
            return;
        }
        self.numbers.insert(found.id.pid);
        if self.groups.contains_key(&found.group) {
            return;
        }
        found.id.signal(Signal::STOP).ok();
        // Looked at again: now that it is stopped, it does not leave its group any more.
        let Some(entry) = found.id.living() else { return };
        if self.is_within(entry)
            && let Some(group) = Pid::from_raw(entry.group)
            && kill_process_group(group, Signal::STOP).is_ok()
        {
            self.groups.insert(entry.group, entry.id);
        }
    }

    /// Kills all that were stopped, groups first and whole: with the end of its leader's parent the
    /// system would let the others in a group go on.
    fn kill(&self) {
        for (number, member) in &self.groups {
            // All of them may have ended meanwhile, and a new group may have their number.
            let is_theirs = member.living().is_some_and(|it| it.group == *number);
            if let Some(group) = Pid::from_raw(*number).filter(|_| is_theirs) {
                kill_process_group(group, Signal::KILL).ok();
            }
        }
        for process in &self.processes {
            process.signal(Signal::KILL).ok();
        }
    }

    /// Whether its group contains only its own session. A process can join any group of its session, but a
    /// session contains only what its leader started.
    fn is_within(&self, entry: Entry) -> bool {
        let own = i32::try_from(std::process::id()).ok().and_then(Entry::read);
        let is_of_own_session = own.is_none_or(|own| own.session == entry.session);
        !is_of_own_session || self.numbers.contains(&entry.group)
    }
}
