//! Process trees: finds all descendants of a process, and ends them.
//!
//! A process is identified by its id and start time, so a reused id is never signalled. Processes
//! are never found by name. Each one is reported as soon as it is found, while the search
//! continues, because a short-lived process would be gone at the end of the search.

mod end;

pub(crate) use end::end;

use crate::{marker, poll};
use rustix::{
    event::PollFlags,
    process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal},
};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, Read},
    os::{
        fd::{AsFd, OwnedFd},
        unix::fs::MetadataExt,
    },
    path::Path,
    time::{Duration, Instant},
};

/// The flag of a thread that is exiting and runs no more code of its program.
const PF_EXITING: u32 = 0x4;

/// A process whose environment stays empty for this long has none.
const EXEC_MS_MAX: u64 = 100;

/// Large enough for almost every environment.
const ENVIRONMENT_BYTES_USUAL: usize = 32 * 1024;

/// How many checks must find no environment before that is accepted.
const EMPTY_LOOKS: u32 = 8;

/// Identifies a process. A later process with the same id is not equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct ProcessId {
    pub(crate) pid: i32,
    /// In clock ticks since the machine started.
    pub(crate) start: u64,
}

impl ProcessId {
    /// Returns the process that has this id now, even if it is a zombie.
    pub(crate) fn of(pid: i32) -> Option<Self> {
        Entry::read(pid).map(|it| it.id)
    }

    /// Returns its entry in the process table while it is alive.
    pub(crate) fn living(self) -> Option<Entry> {
        Entry::read(self.pid).filter(|it| it.id == self && !it.ended)
    }

    pub(crate) fn is_alive(self) -> bool {
        self.living().is_some()
    }

    pub(crate) fn signal(self, signal: Signal) -> io::Result<()> {
        Ok(pidfd_send_signal(self.open()?, signal)?)
    }

    /// Opens a handle of this process. Fails if it has ended.
    fn open(self) -> io::Result<OwnedFd> {
        let pid = Pid::from_raw(self.pid).ok_or(io::ErrorKind::NotFound)?;
        let handle = pidfd_open(pid, PidfdFlags::empty())?;
        // Checked after the handle was opened: from here on, it refers to this process or to none.
        if Self::of(self.pid) != Some(self) {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(handle)
    }

    /// Waits for the process to end. Returns whether it ended in time.
    fn has_ended_by(self, until: Instant) -> bool {
        let handle = Pid::from_raw(self.pid).map(|pid| pidfd_open(pid, PidfdFlags::empty()));
        // Checked after the handle was opened, as above.
        if let Some(Ok(handle)) = handle
            && self.is_alive()
        {
            poll::wait(&[(handle.as_fd(), PollFlags::IN)], Some(until)).ok();
        }
        !self.is_alive()
    }
}

/// Opens a handle of the process with this id and this start time, in clock ticks after the machine
/// started. Fails if it has ended, even if its id has been reused.
pub fn open_process(pid: u32, start: u64) -> io::Result<OwnedFd> {
    let pid = i32::try_from(pid).map_err(|_| io::ErrorKind::NotFound)?;
    ProcessId { pid, start }.open()
}

/// A line of the process table.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) id: ProcessId,
    parent: i32,
    pub(crate) group: i32,
    session: i32,
    pub(crate) threads: u32,
    ended: bool,
}

/// Called for each process that is found.
pub(crate) type See<'a> = &'a mut dyn FnMut(Entry);

impl Entry {
    fn read(pid: i32) -> Option<Self> {
        Self::parse(pid, &fs::read(format!("/proc/{pid}/stat")).ok()?)
    }

    /// The second field is the program's name in parentheses and may contain any bytes.
    fn parse(pid: i32, line: &[u8]) -> Option<Self> {
        let name_end = line.iter().rposition(|byte| *byte == b')')?;
        let rest = str::from_utf8(line.get(name_end + 1..)?).ok()?;
        let mut fields = rest.split_ascii_whitespace();
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        let group = fields.next()?.parse().ok()?;
        let session = fields.next()?.parse().ok()?;
        // Field 20 of the whole line, then field 22. The first six fields have been read.
        let threads: u32 = fields.nth(13)?.parse().ok()?;
        let start = fields.nth(1)?.parse().ok()?;
        // A process whose first thread has ended looks dead while its other threads are running.
        let ended = matches!(state, "Z" | "X") && threads <= 1;
        Some(Self { id: ProcessId { pid, start }, parent, group, session, threads, ended })
    }
}

/// Returns the parent in a line of the process table.
#[cfg(test)]
pub(crate) fn parent_in(line: &[u8]) -> Option<i32> {
    Entry::parse(1, line).map(|it| it.parent)
}

fn numbers() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|it| it.file_name().to_str()?.parse().ok())
}

/// Finds the living descendants of `root`, without `root`, starting with the newest child of each.
pub(crate) fn descendants(root: i32, see: See<'_>) {
    if !Path::new("/proc/thread-self/children").exists() {
        return descendants_in_table(root, see);
    }
    let mut parents = vec![root];
    while let Some(parent) = parents.pop() {
        for entry in children(parent).iter().rev().filter_map(|it| Entry::read(*it)) {
            // A process whose parent has ended has been adopted by another process.
            if entry.parent == parent && !entry.ended {
                see(entry);
                parents.push(entry.id.pid);
            }
        }
    }
}

/// Whether all processes below `root` are exiting, which is irreversible. They may still have files
/// and memory to free, which takes a while.
///
/// Must be confirmed several times: a process whose parent has just ended can be missed once.
pub(crate) fn has_halted(root: i32) -> bool {
    if !Path::new("/proc/thread-self/children").exists() {
        return false;
    }
    let mut parents = vec![root];
    while let Some(parent) = parents.pop() {
        for pid in children(parent) {
            let is_elsewhere = Entry::read(pid).is_some_and(|it| it.parent != parent);
            if is_elsewhere || !is_ending(pid) {
                return false;
            }
            parents.push(pid);
        }
    }
    true
}

/// Whether all threads of a process are exiting.
fn is_ending(pid: i32) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    // A thread that cannot be read has ended.
    let mut stats = threads.filter_map(|it| fs::read(it.path().join("stat")).ok());
    stats.all(|it| flags(&it).is_some_and(|it| it & PF_EXITING != 0))
}

/// Returns the kernel flags in a line of the process table.
fn flags(line: &[u8]) -> Option<u32> {
    let name_end = line.iter().rposition(|byte| *byte == b')')?;
    let rest = str::from_utf8(line.get(name_end + 1..)?).ok()?;
    // Field 9 of the whole line. The first two fields have been removed.
    rest.split_ascii_whitespace().nth(6)?.parse().ok()
}

/// Likewise, from the table of all processes, if the kernel does not keep lists of children.
fn descendants_in_table(root: i32, see: See<'_>) {
    let mut table: Vec<Entry> = numbers().filter_map(Entry::read).collect();
    let mut family = BTreeSet::from([root]);
    // A child comes before its parent if process ids have wrapped around.
    while let Some(index) = table.iter().position(|it| family.contains(&it.parent)) {
        let entry = table.swap_remove(index);
        family.insert(entry.id.pid);
        if !entry.ended {
            see(entry);
        }
    }
}

/// Returns the children of a process, newest last. Some may be missing if others end at the same
/// time.
pub(crate) fn children(parent: i32) -> Vec<i32> {
    let threads = fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
    let list =
        |it: fs::DirEntry| String::from_utf8(read_at_once(&it.path().join("children")).ok()?).ok();
    let lists = threads.filter_map(list);
    lists
        .flat_map(|it| it.split_ascii_whitespace().flat_map(str::parse).collect::<Vec<i32>>())
        .collect()
}

/// Finds the living processes that belong to the run `marker` or to a nested run, by their
/// environment.
pub(crate) fn marked(marker: &str, see: See<'_>) {
    with_environment(numbers(), |it| marker::is_on(it, marker), see);
}

/// Likewise, if all of them are in a box. A process in our own PID namespace cannot be one of them,
/// and checking that is much faster than reading an environment.
pub(crate) fn marked_in_box(marker: &str, see: See<'_>) {
    let space = |of: &str| fs::read_link(format!("/proc/{of}/ns/pid")).ok();
    let own = space("self");
    let is_elsewhere = |pid: &i32| own.is_none() || space(&pid.to_string()) != own;
    let fits = |it: &[u8]| marker::is_on(it, marker);
    with_environment(numbers().filter(is_elsewhere), fits, see);
}

/// Finds the living processes that have this file as their standard input, except for this process.
pub(crate) fn fed_by(file: &Path, see: See<'_>) {
    let identity = |it: fs::Metadata| (it.dev(), it.ino());
    let Ok(wanted) = fs::metadata(file).map(identity) else { return };
    let own = rustix::process::getpid().as_raw_pid();
    let input = |pid: i32| fs::metadata(format!("/proc/{pid}/fd/0")).map(identity);
    let fed = numbers().filter(|it| *it != own && input(*it).is_ok_and(|it| it == wanted));
    fed.filter_map(Entry::read).filter(|it| !it.ended).for_each(see);
}

/// Finds the living processes that belong to `owner`, by their environment, except for this
/// process.
pub(crate) fn owned_by(owner: &str, see: See<'_>) {
    let own = rustix::process::getpid().as_raw_pid();
    with_environment(numbers(), |it| marker::is_of(it, owner), &mut |entry| {
        if entry.id.pid != own {
            see(entry);
        }
    });
}

fn with_environment(
    numbers: impl Iterator<Item = i32>,
    fits: impl Fn(&[u8]) -> bool,
    see: See<'_>,
) {
    let fits = |pid: &i32| environment(*pid).is_some_and(|it| fits(&it));
    numbers.filter(fits).filter_map(Entry::read).filter(|it| !it.ended).for_each(see);
}

/// Returns the environment of a process, or nothing if it may not be read.
///
/// During `exec`, a process has no environment for a moment and would be missed, so it is checked
/// again.
fn environment(pid: i32) -> Option<Vec<u8>> {
    let until = Instant::now() + Duration::from_millis(EXEC_MS_MAX);
    let mut empty_count = 0;
    loop {
        let environment = read_at_once(format!("/proc/{pid}/environ").as_ref()).ok()?;
        let memory = if environment.is_empty() { Memory::of(pid) } else { Memory::None };
        empty_count += u32::from(memory == Memory::NoEnvironment);
        let is_certain = memory == Memory::None || empty_count == EMPTY_LOOKS;
        if is_certain || Instant::now() >= until {
            return Some(environment);
        }
        std::thread::yield_now();
    }
}

/// Reads a file in one piece. A second read could see the memory of another program, or skip
/// children after a sibling has ended.
fn read_at_once(path: &Path) -> io::Result<Vec<u8>> {
    let mut buffer = vec![0; ENVIRONMENT_BYTES_USUAL];
    loop {
        let count = File::open(path)?.read(&mut buffer)?;
        if count < buffer.len() {
            buffer.truncate(count);
            return Ok(buffer);
        }
        buffer.resize(2 * count, 0);
    }
}

/// The memory layout of a process whose environment looks empty.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Memory {
    /// The process is a kernel thread or is ending.
    None,
    /// There is room for an environment, but it is empty. A process also looks like this for an
    /// instant during `exec`.
    NoEnvironment,
    /// There is an environment, or will be one.
    Environment,
}

impl Memory {
    fn of(pid: i32) -> Self {
        let Ok(line) = fs::read(format!("/proc/{pid}/stat")) else { return Self::None };
        let name_end = line.iter().rposition(|byte| *byte == b')').unwrap_or(0);
        let rest = String::from_utf8_lossy(&line[name_end..]);
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        // Fields 23, 50 and 51 of the whole line. The first one here is field 2.
        match (fields.get(21), fields.get(48), fields.get(49)) {
            (Some(&size), Some(start), Some(end)) if size != "0" => {
                if start == end && *end != "0" {
                    Self::NoEnvironment
                } else {
                    Self::Environment
                }
            }
            _ => Self::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_name_may_contain_anything() {
        let rest = "S 7 6 5 0 -1 4 3 4 0 1 0 3 29 14 20 0 2 0 101880 5124096 983";
        let entry = Entry::parse(8, format!("8 (a) Z 1 (b) {rest}").as_bytes()).unwrap();
        assert_eq!(entry.id, ProcessId { pid: 8, start: 101_880 });
        assert_eq!((entry.parent, entry.group, entry.session, entry.ended), (7, 6, 5, false));
    }

    #[test]
    fn process_with_a_running_thread_is_alive() {
        let stat = |threads| {
            let line = format!("8 (a) Z 7 7 7 0 -1 4 3 4 0 1 0 3 29 14 20 0 {threads} 0 9 0");
            Entry::parse(8, line.as_bytes()).unwrap()
        };
        assert!(stat(1).ended && !stat(2).ended);
    }

    #[test]
    fn current_process_differs_from_an_earlier_one_with_its_id() {
        let pid = rustix::process::getpid().as_raw_pid();
        let own = ProcessId::of(pid).unwrap();
        assert!(own.is_alive());
        let other = ProcessId { start: own.start + 1, ..own };
        assert!(!other.is_alive());
        assert_eq!(other.signal(Signal::KILL).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn both_searches_find_the_same_descendants() {
        let root = Path::new("/");
        let argv = ["/bin/sh", "-c", "/bin/sleep 600 & /bin/sleep 600 & wait"];
        let mut child = crate::command::command(&argv, root, &[]).unwrap().spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let found = |way: fn(i32, See<'_>)| {
            let mut found = BTreeSet::new();
            way(pid, &mut |it| {
                found.insert(it.id);
            });
            found
        };
        pitcrew_testkit::eventually("both sleep", || (found(descendants).len() == 2).then_some(()));
        assert_eq!(found(descendants), found(descendants_in_table));
        end(|see| descendants(pid, see), None);
        assert_eq!(found(descendants_in_table), BTreeSet::new());
        child.wait().unwrap();
    }

    #[test]
    fn only_marked_processes_in_a_box_are_found() {
        let user = std::env::vars().collect();
        let Some(found) = crate::find_program("bwrap", &user) else {
            return pitcrew_testkit::skipped("a box", "there is none here");
        };
        let program = found.path;
        let start = |argv: &[&str]| {
            let env = [(marker::RUN_MARKER, "a-box"), ("PATH", "/usr/bin:/bin")];
            crate::command::command(argv, Path::new("/"), &env).unwrap().spawn().unwrap()
        };
        let program = program.to_str().unwrap();
        let words = ["--unshare-user", "--unshare-pid", "--die-with-parent", "--bind", "/", "/"];
        let sleep = ["sleep", "600"];
        let mut holder = start(&[&[program], &words[..], &sleep].concat());
        let mut beside = start(&sleep);
        let found = || {
            let mut found = BTreeSet::new();
            marked_in_box("a-box", &mut |it| {
                found.insert(it.id.pid);
            });
            found
        };
        // The first process of the box, and the program.
        pitcrew_testkit::eventually("both sleep", || (found().len() == 2).then_some(()));
        let outside = [&holder, &beside].map(|it| i32::try_from(it.id()).unwrap());
        assert!(outside.iter().all(|it| !found().contains(it)));
        for child in [&mut holder, &mut beside] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        pitcrew_testkit::eventually("all is gone", || found().is_empty().then_some(()));
    }

    #[test]
    fn process_without_environment_is_not_waited_for() {
        let root = Path::new("/");
        let mut command = crate::command::command(&["sleep", "600"], root, &[]).unwrap();
        let mut child = command.spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        assert_eq!(environment(pid).unwrap(), b"");
        assert!(Memory::of(pid) == Memory::NoEnvironment);
        child.kill().unwrap();
        assert!(Memory::of(rustix::process::getpid().as_raw_pid()) == Memory::Environment);
        child.wait().unwrap();
        assert!(Memory::of(pid) == Memory::None);
    }
}
