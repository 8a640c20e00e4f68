//! Finds the visible processes, and what can be done to each of them.

use crate::{Report, errno, in_child, notes::Orders, own::field};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{self, Read},
};

/// The files of a process that can be opened or followed.
const FILES: &[&str] = &["environ", "maps", "mem", "auxv", "stack", "syscall"];
const LINKS: &[&str] = &["root", "cwd", "exe", "ns/mnt"];

pub fn survey(orders: &Orders, report: &mut Report) {
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let ancestors = confined_ancestors();
    for pid in pids() {
        // The files of `/proc` already show what the probe may do to itself.
        if pid == own {
            continue;
        }
        let name = name(pid, orders, &ancestors);
        found.entry(name).or_default().extend(abilities(pid));
    }
    for (name, abilities) in found {
        for ability in abilities {
            report.add(format_args!("process {name}: {ability}"));
        }
    }
    // A process with a known id may be reachable although it is not visible.
    for (pid, name) in &orders.processes {
        if !fs::exists(format!("/proc/{pid}")).is_ok_and(|it| it) {
            let traced = can_trace(*pid).then(|| "it can be traced".to_owned());
            for ability in touch(*pid).into_iter().chain(traced) {
                report.add(format_args!("process {name} (unseen): {ability}"));
            }
        }
    }
}

fn pids() -> Vec<i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|it| it.file_name().to_str()?.parse().ok()).collect()
}

fn name(pid: i32, orders: &Orders, own: &BTreeSet<i32>) -> String {
    let comm = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let comm = comm.trim();
    if is_shared_pid_space() {
        let known = orders.processes.iter().find(|it| it.0 == pid).map(|it| it.1.clone());
        let parent = parent(pid).unwrap_or(0);
        return match known {
            Some(name) => name,
            None if own.contains(&pid) || own.contains(&parent) => format!("its own ({comm})"),
            None => "of the machine".into(),
        };
    }
    if pid == 1 { format!("first ({comm})") } else { format!("its own ({comm})") }
}

/// This process and its ancestors with the same confinement.
fn confined_ancestors() -> BTreeSet<i32> {
    let mut own = BTreeSet::new();
    let mut pid = i32::try_from(std::process::id()).unwrap_or(0);
    loop {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        if field(&status, "NoNewPrivs") != "1" || !own.insert(pid) {
            return own;
        }
        pid = field(&status, "PPid").parse().unwrap_or(0);
    }
}

fn parent(pid: i32) -> Option<i32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    // The process that sets up the confinement is not confined itself.
    let is_confined = field(&status, "NoNewPrivs") == "1";
    is_confined.then(|| field(&status, "PPid").parse().ok()).flatten()
}

/// Whether the processes of the machine are visible. In a box, the first process is bubblewrap.
fn is_shared_pid_space() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let pids = field(&status, "NSpid");
    // Kernel threads are never in a box.
    !pids.contains(' ') && fs::read_to_string("/proc/2/comm").is_ok_and(|it| it == "kthreadd\n")
}

fn abilities(pid: i32) -> Vec<String> {
    if can_trace(pid) {
        return vec!["it can be traced (and so anything)".into()];
    }
    let mut all = Vec::new();
    let path = |name: &str| format!("/proc/{pid}/{name}");
    if fs::read(path("cmdline")).is_ok() {
        all.push("its arguments can be read".into());
    }
    for name in FILES {
        let read = fs::File::open(path(name)).and_then(|mut it| it.read(&mut [0]));
        // Nothing is mapped at the start, and only a process that may read gets this error.
        let is_read = |error: &io::Error| *name == "mem" && error.raw_os_error() == Some(libc::EIO);
        if read.as_ref().map_or_else(is_read, |_| true) {
            all.push(format!("its {name} can be read"));
        }
    }
    for name in ["mem", "oom_score_adj", "clear_refs", "timerslack_ns"] {
        if fs::File::options().write(true).open(path(name)).is_ok() {
            all.push(format!("its {name} can be written"));
        }
    }
    for name in LINKS {
        if fs::read_link(path(name)).is_ok() {
            all.push(format!("its {name} can be followed"));
        }
    }
    let descriptors = fs::read_dir(path("fd")).into_iter().flatten().flatten();
    if descriptors.count() > 0 {
        all.push("its descriptors can be listed".into());
    }
    all.extend(touch(pid));
    all
}

/// Checks which system calls a process permits. None of them changes anything.
fn touch(pid: i32) -> Vec<String> {
    let mut all = Vec::new();
    let mut add = |is_possible: bool, what: &str| {
        if is_possible {
            all.push(what.to_owned());
        }
    };
    // SAFETY: signal 0 only checks permission.
    add(unsafe { libc::kill(pid, 0) } == 0, "it can be signalled");
    add(can_read_memory(pid), "its memory can be read by a call");
    // SAFETY: opens a descriptor or fails.
    let handle = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    if handle >= 0 {
        // SAFETY: requests a descriptor that does not exist, which the kernel reports after
        // checking permission.
        let got = unsafe { libc::syscall(libc::SYS_pidfd_getfd, handle, 1_000_000, 0) };
        add(got >= 0 || errno() == libc::EBADF, "its descriptors can be taken");
        // SAFETY: signal 0 only checks permission.
        let sent = unsafe {
            libc::syscall(libc::SYS_pidfd_send_signal, handle, 0, std::ptr::null::<u8>(), 0)
        };
        add(sent == 0, "it can be signalled by a handle");
        // SAFETY: it was just opened.
        unsafe { libc::close(i32::try_from(handle).unwrap_or(-1)) };
    }
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: one limit is written to our variable and set to its current value.
    let is_limited = unsafe {
        libc::prlimit(pid, libc::RLIMIT_CORE, std::ptr::null(), &raw mut limit) == 0
            && libc::prlimit(pid, libc::RLIMIT_CORE, &raw const limit, std::ptr::null_mut()) == 0
    };
    add(is_limited, "its limits can be changed");
    // SAFETY: the priority is set to its current value.
    let is_slowed = unsafe {
        let who = pid.unsigned_abs();
        let priority = libc::getpriority(libc::PRIO_PROCESS, who);
        libc::setpriority(libc::PRIO_PROCESS, who, priority) == 0
    };
    add(is_slowed, "its priority can be changed");
    all
}

fn can_trace(pid: i32) -> bool {
    // The tracer exits at once, and the traced process continues without it.
    in_child(|| {
        // SAFETY: accesses none of our memory.
        let seized = unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid, 0, 0) };
        u8::from(seized == 0)
    }) == Ok(1)
}

fn can_read_memory(pid: i32) -> bool {
    let mut byte = [0_u8];
    let ours = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
    let theirs = libc::iovec { iov_base: std::ptr::without_provenance_mut(8), iov_len: 1 };
    // SAFETY: at most one byte is written to our memory.
    let read = unsafe { libc::process_vm_readv(pid, &raw const ours, 1, &raw const theirs, 1, 0) };
    read >= 0 || errno() == libc::EFAULT
}
