//! Properties of this process: ids, capabilities, namespaces, limits, descriptors, keys.

use crate::{Report, errno, error_name, in_child};
use std::{collections::BTreeSet, fs, os::unix::fs::MetadataExt};

const NAME_SPACES: &[&str] = &["cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts"];

/// The limits that a policy sets.
const LIMITS: &[(&str, &str)] = &[
    ("core", "Max core file size"),
    ("data", "Max data size"),
    ("file", "Max file size"),
    ("open files", "Max open files"),
    ("processes", "Max processes"),
    ("locked memory", "Max locked memory"),
    ("nice", "Max nice priority"),
    ("real-time", "Max realtime priority"),
];

pub fn survey(report: &mut Report) {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    for name in ["Uid", "Gid", "Groups", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        report.add(format_args!("own {name} {}", field(&status, name)));
    }
    for name in ["NoNewPrivs", "Seccomp"] {
        report.add(format_args!("own {name} {}", field(&status, name)));
    }
    for map in ["uid_map", "gid_map"] {
        let text = fs::read_to_string(format!("/proc/self/{map}")).unwrap_or_default();
        let words: Vec<&str> = text.split_whitespace().collect();
        report.add(format_args!("own {map} {}", words.join(" ")));
    }
    for name in NAME_SPACES {
        let at = fs::read_link(format!("/proc/self/ns/{name}")).unwrap_or_default();
        report.add(format_args!("namespace {name} {}", at.display()));
    }
    limits(report);
    // SAFETY: the call uses none of our memory.
    let is_dumpable = unsafe { libc::prctl(libc::PR_GET_DUMPABLE, 0, 0, 0, 0) };
    report.add(format_args!("own dumpable {is_dumpable}"));
    let names: BTreeSet<String> =
        std::env::vars_os().map(|it| it.0.to_string_lossy().into_owned()).collect();
    for name in names {
        report.add(format_args!("variable {name}"));
    }
    descriptors(report);
    keys(report);
    terminal(report);
}

pub fn field(status: &str, name: &str) -> String {
    let line = status.lines().find_map(|it| it.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn limits(report: &mut Report) {
    let text = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    for (name, line) in LIMITS {
        let found = text.lines().find_map(|it| it.strip_prefix(line)).unwrap_or_default();
        let hard = found.split_whitespace().nth(1).unwrap_or("?");
        report.add(format_args!("limit {} {hard}", name.replace(' ', "-")));
    }
}

/// The descriptors that were open when this program started.
fn descriptors(report: &mut Report) {
    for number in 0..1_024 {
        let path = format!("/proc/self/fd/{number}");
        let Ok(target) = fs::read_link(&path) else { continue };
        let target = target.display().to_string();
        // The descriptor of the folder that lists them.
        if target.ends_with("/fd") {
            continue;
        }
        // SAFETY: the call uses none of our memory.
        let flags = unsafe { libc::fcntl(number, libc::F_GETFL) };
        let mode = match flags & libc::O_ACCMODE {
            _ if flags & libc::O_PATH != 0 => "path",
            libc::O_RDONLY => "read",
            libc::O_WRONLY => "write",
            _ => "read-write",
        };
        // The names of sockets and pipes contain numbers.
        let kind = match target.split_once(":[") {
            Some((kind, _)) => kind.to_owned(),
            None => target,
        };
        // Another process could reach a deleted file through the same descriptor.
        let is_linked = fs::metadata(&path).is_ok_and(|it| it.is_file() && it.nlink() == 0);
        let more = if is_linked { " (no name)" } else { "" };
        report.add(format_args!("descriptor {number} {mode} {kind}{more}"));
    }
}

/// Whether the keyrings of the session and the user can be read.
fn keys(report: &mut Report) {
    const DESCRIBE: libc::c_long = 6;
    for (name, ring) in [("session", -3_i64), ("user", -4), ("user-session", -5)] {
        let mut text = [0_u8; 256];
        // SAFETY: the kernel writes no more than the given length into our memory.
        let length = unsafe {
            libc::syscall(libc::SYS_keyctl, DESCRIBE, ring, text.as_mut_ptr(), text.len())
        };
        if length < 0 {
            report.add(format_args!("keyring {name} refused {}", error_name(errno())));
        } else {
            let shown = String::from_utf8_lossy(&text);
            let described = shown.split(';').nth(4).unwrap_or_default().trim_end_matches('\0');
            report.add(format_args!("keyring {name} {described}"));
        }
    }
    let listed = fs::read_to_string("/proc/keys").unwrap_or_default();
    for line in listed.lines() {
        let words: Vec<&str> = line.split_whitespace().skip(7).take(2).collect();
        let name = words.last().unwrap_or(&"").trim_end_matches(':');
        if name.contains("pitcrew-survey") {
            report.add(format_args!("keys lists {name}"));
        }
    }
}

/// Whether there is a terminal into which input could be injected.
fn terminal(report: &mut Report) {
    let opened = in_child(|| {
        // SAFETY: the path ends with a zero.
        let file = unsafe { libc::open(c"/dev/tty".as_ptr(), libc::O_RDWR | libc::O_NOCTTY) };
        u8::from(file >= 0)
    });
    if opened == Ok(1) {
        report.add("terminal /dev/tty");
    }
}
