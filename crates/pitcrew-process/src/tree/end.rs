//! Kills process trees that resist, including those that start processes faster than they are
//! found.

use super::{Entry, ProcessId, See};
use rustix::process::{Pid, Signal, kill_process_group};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

/// How many scans in a row must find no new process before the tree counts as empty. A process that
/// starts another one and ends is easily missed once, but not repeatedly.
const CALM_LOOKS: u32 = 2;

/// A killed process that still exists after this long is held by the kernel. Search again.
const DEATH_MS_MAX: u64 = 50;

/// Ends all processes that `find` finds, until it finds none and they have all closed their files.
/// First stops each process when it is found, so that it cannot start another one during the
/// search, then kills them all. Gives up at `until`.
pub(crate) fn end(find: impl Fn(See<'_>), until: Option<Instant>) {
    let mut calm_looks = CALM_LOOKS - 1;
    let is_late = || until.is_some_and(|until| Instant::now() >= until);
    // A process that is ending frees its memory first, including the marker by which it is found.
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
    /// Each group with one of its members: as long as that process exists, the id cannot be reused.
    groups: BTreeMap<i32, ProcessId>,
}

impl Stopped {
    /// Stops a process and its whole group. The system leaves no gap there, even for a process that
    /// is just being started.
    fn stop(&mut self, found: Entry) {
        if !self.processes.insert(found.id) {
            return;
        }
        self.numbers.insert(found.id.pid);
        if self.groups.contains_key(&found.group) {
            return;
        }
        found.id.signal(Signal::STOP).ok();
        // Checked again after the stop, because a stopped process cannot leave its group.
        let Some(entry) = found.id.living() else { return };
        if self.is_within(entry)
            && let Some(group) = Pid::from_raw(entry.group)
            && kill_process_group(group, Signal::STOP).is_ok()
        {
            self.groups.insert(entry.group, entry.id);
        }
    }

    /// Kills all stopped processes, whole groups first. When the parent of a group leader ends, the
    /// system would otherwise continue the rest of the group.
    fn kill(&self) {
        for (number, member) in &self.groups {
            // All of them may have ended, and a new group may have the same id.
            let is_theirs = member.living().is_some_and(|it| it.group == *number);
            if let Some(group) = Pid::from_raw(*number).filter(|_| is_theirs) {
                kill_process_group(group, Signal::KILL).ok();
            }
        }
        for process in &self.processes {
            process.signal(Signal::KILL).ok();
        }
    }

    /// Whether its group contains only processes of its own session. A process can join any group
    /// of its session, but a session contains only what its leader started.
    fn is_within(&self, entry: Entry) -> bool {
        let own = i32::try_from(std::process::id()).ok().and_then(Entry::read);
        let is_of_own_session = own.is_none_or(|own| own.session == entry.session);
        !is_of_own_session || self.numbers.contains(&entry.group)
    }
}
