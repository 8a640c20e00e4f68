//! Process trees: finding all descendants of a process, and ending them.
//!
//! A process is identified by its number and start time, so a reused number is never signalled. Processes
//! are never found by name. Each one is reported as soon as it is found, while the search goes on: a
//! short-lived process would be gone at the end of the search.

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

/// The flag of a thread that has begun to end, and does nothing for its program any more.
const PF_EXITING: u32 = 0x4;

/// A process that has no environment for this long has none.
const EXEC_MS_MAX: u64 = 100;

/// What almost every environment fits in.
const ENVIRONMENT_BYTES_USUAL: usize = 32 * 1024;

/// Looks at a process without environment after which it is believed.
const EMPTY_LOOKS: u32 = 8;

/// One process, which cannot be confused with a later one of the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct ProcessId {
    pub(crate) pid: i32,
    /// In clock ticks since the machine started.
    pub(crate) start: u64,
}

impl ProcessId {
    /// The process that has this number now, also a zombie.
    pub(crate) fn of(pid: i32) -> Option<Self> {
        Entry::read(pid).map(|it| it.id)
    }

    /// What the table has of it, while it lives.
    pub(crate) fn living(self) -> Option<Entry> {
        Entry::read(self.pid).filter(|it| it.id == self && !it.ended)
    }

    pub(crate) fn is_alive(self) -> bool {
        self.living().is_some()
    }

    pub(crate) fn signal(self, signal: Signal) -> io::Result<()> {
        Ok(pidfd_send_signal(self.open()?, signal)?)
    }

    /// A handle of this process; an error where it is gone.
    fn open(self) -> io::Result<OwnedFd> {
        let pid = Pid::from_raw(self.pid).ok_or(io::ErrorKind::NotFound)?;
        let handle = pidfd_open(pid, PidfdFlags::empty())?;
        // Looked at after the handle was taken: from here on it is this process or none.
        if Self::of(self.pid) != Some(self) {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(handle)
    }

    /// Waits for its end, and tells whether it came.
    fn has_ended_by(self, until: Instant) -> bool {
        let handle = Pid::from_raw(self.pid).map(|pid| pidfd_open(pid, PidfdFlags::empty()));
        // Looked at after the handle was taken, as above.
        if let Some(Ok(handle)) = handle
            && self.is_alive()
        {
            poll::wait(&[(handle.as_fd(), PollFlags::IN)], Some(until)).ok();
        }
        !self.is_alive()
    }
}

/// A handle of the process with this number that started so many clock ticks after the machine. An
/// error where it is gone, also where another one has its number now.
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

/// Called with each process that was found.
pub(crate) type See<'a> = &'a mut dyn FnMut(Entry);

impl Entry {
    fn read(pid: i32) -> Option<Self> {
        Self::parse(pid, &fs::read(format!("/proc/{pid}/stat")).ok()?)
    }

    /// The second field is the program's name in parentheses and may hold anything.
    fn parse(pid: i32, line: &[u8]) -> Option<Self> {
        let name_end = line.iter().rposition(|byte| *byte == b')')?;
        let rest = str::from_utf8(line.get(name_end + 1..)?).ok()?;
        let mut fields = rest.split_ascii_whitespace();
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        let group = fields.next()?.parse().ok()?;
        let session = fields.next()?.parse().ok()?;
        // Of the whole line this is field 20, the next one field 22; six are gone.
        let threads: u32 = fields.nth(13)?.parse().ok()?;
        let start = fields.nth(1)?.parse().ok()?;
        // A process whose first thread has ended looks dead while its other threads go on.
        let ended = matches!(state, "Z" | "X") && threads <= 1;
        Some(Self { id: ProcessId { pid, start }, parent, group, session, threads, ended })
    }
}

/// The parent in a line of the process table.
#[cfg(test)]
pub(crate) fn parent_in(line: &[u8]) -> Option<i32> {
    Entry::parse(1, line).map(|it| it.parent)
}

fn numbers() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|it| it.file_name().to_str()?.parse().ok())
}

/// The living descendants of `root`, without `root`, the newest child of each first.
pub(crate) fn descendants(root: i32, see: See<'_>) {
    if !Path::new("/proc/thread-self/children").exists() {
        return descendants_in_table(root, see);
    }
    let mut parents = vec![root];
    while let Some(parent) = parents.pop() {
        for entry in children(parent).iter().rev().filter_map(|it| Entry::read(*it)) {
            // One whose parent has ended meanwhile is a child of somebody else now.
            if entry.parent == parent && !entry.ended {
                see(entry);
                parents.push(entry.id.pid);
            }
        }
    }
}

/// Whether all processes below `root` are exiting, which cannot be undone. They may still have files and
/// memory to free, which takes a while.
///
/// Believed when it is seen again and again: who loses its parent meanwhile is overlooked once.
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

/// Whether each thread of a process has begun to end.
fn is_ending(pid: i32) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    // One that cannot be read is gone.
    let mut stats = threads.filter_map(|it| fs::read(it.path().join("stat")).ok());
    stats.all(|it| flags(&it).is_some_and(|it| it & PF_EXITING != 0))
}

/// The flags of the kernel in a line of the process table.
fn flags(line: &[u8]) -> Option<u32> {
    let name_end = line.iter().rposition(|byte| *byte == b')')?;
    let rest = str::from_utf8(line.get(name_end + 1..)?).ok()?;
    // Of the whole line this is field 9; two are gone.
    rest.split_ascii_whitespace().nth(6)?.parse().ok()
}

/// The same from the table of all processes, where the kernel keeps no lists of children.
fn descendants_in_table(root: i32, see: See<'_>) {
    let mut table: Vec<Entry> = numbers().filter_map(Entry::read).collect();
    let mut family = BTreeSet::from([root]);
    // A child stands before its parent when numbers have wrapped around.
    while let Some(index) = table.iter().position(|it| family.contains(&it.parent)) {
        let entry = table.swap_remove(index);
        family.insert(entry.id.pid);
        if !entry.ended {
            see(entry);
        }
    }
}

/// The children of a process, the newest last. Some may be missing while others end.
pub(crate) fn children(parent: i32) -> Vec<i32> {
    let threads = fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
    let list =
        |it: fs::DirEntry| String::from_utf8(read_at_once(&it.path().join("children")).ok()?).ok();
    let lists = threads.filter_map(list);
    lists
        .flat_map(|it| it.split_ascii_whitespace().flat_map(str::parse).collect::<Vec<i32>>())
        .collect()
}

/// The living processes whose environment says that they belong to the run `marker`, or to one
/// within it.
pub(crate) fn marked(marker: &str, see: See<'_>) {
    with_environment(numbers(), |it| marker::is_on(it, marker), see);
}

/// The same, if all of them are in a box. A process in our own PID namespace is none of them, and checking
/// that is much faster than reading an environment.
pub(crate) fn marked_in_box(marker: &str, see: See<'_>) {
    let space = |of: &str| fs::read_link(format!("/proc/{of}/ns/pid")).ok();
    let own = space("self");
    let is_elsewhere = |pid: &i32| own.is_none() || space(&pid.to_string()) != own;
    let fits = |it: &[u8]| marker::is_on(it, marker);
    with_environment(numbers().filter(is_elsewhere), fits, see);
}

/// The living processes that have this file as their standard input, but for this one.
pub(crate) fn fed_by(file: &Path, see: See<'_>) {
    let identity = |it: fs::Metadata| (it.dev(), it.ino());
    let Ok(wanted) = fs::metadata(file).map(identity) else { return };
    let own = rustix::process::getpid().as_raw_pid();
    let input = |pid: i32| fs::metadata(format!("/proc/{pid}/fd/0")).map(identity);
    let fed = numbers().filter(|it| *it != own && input(*it).is_ok_and(|it| it == wanted));
    fed.filter_map(Entry::read).filter(|it| !it.ended).for_each(see);
}

/// The living processes whose environment says that they are `owner`'s, but for this one.
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

/// The environment of a process; nothing if we may not read it.
///
/// A process that is just becoming another program has none for a moment, and would be overlooked
/// in it: it is looked at again.
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

/// Reads a file in one piece: a second read would find the memory of another program, or none, and
/// would miss children of whose brothers one has ended.
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

/// What is to be known of the memory of a process whose environment looks empty.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Memory {
    /// It is a thread of the kernel, or at its end.
    None,
    /// There is a place for an environment, and nothing in it. Also a process that becomes another
    /// program looks like this, but for an instant only.
    NoEnvironment,
    /// There is one, or will be.
    Environment,
}

impl Memory {
    fn of(pid: i32) -> Self {
        let Ok(line) = fs::read(format!("/proc/{pid}/stat")) else { return Self::None };
        let name_end = line.iter().rposition(|byte| *byte == b')').unwrap_or(0);
        let rest = String::from_utf8_lossy(&line[name_end..]);
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        // Of the whole line these are the fields 23, 50 and 51; the first one here is field 2.
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
    fn a_program_may_have_any_name() {
        let rest = "S 7 6 5 0 -1 4 3 4 0 1 0 3 29 14 20 0 2 0 101880 5124096 983";
        let entry = Entry::parse(8, format!("8 (a) Z 1 (b) {rest}").as_bytes()).unwrap();
        assert_eq!(entry.id, ProcessId { pid: 8, start: 101_880 });
        assert_eq!((entry.parent, entry.group, entry.session, entry.ended), (7, 6, 5, false));
    }

    #[test]
    fn a_process_whose_first_thread_ended_is_alive_while_another_goes_on() {
        let stat = |threads| {
            let line = format!("8 (a) Z 7 7 7 0 -1 4 3 4 0 1 0 3 29 14 20 0 {threads} 0 9 0");
            Entry::parse(8, line.as_bytes()).unwrap()
        };
        assert!(stat(1).ended && !stat(2).ended);
    }

    #[test]
    fn we_know_ourselves_and_not_a_process_that_had_our_number() {
        let pid = rustix::process::getpid().as_raw_pid();
        let own = ProcessId::of(pid).unwrap();
        assert!(own.is_alive());
        let other = ProcessId { start: own.start + 1, ..own };
        assert!(!other.is_alive());
        assert_eq!(other.signal(Signal::KILL).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn both_ways_to_find_descendants_find_the_same() {
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
    fn who_is_in_a_box_is_found_by_its_mark_and_who_is_not_is_passed_over() {
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
    fn a_process_without_environment_is_not_waited_for() {
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
