//! Finds the files and folders that can be read, written and executed below `/`, `/proc` and
//! `/sys`.
//!
//! Paths with the same rights as their folder are not reported, so a uniform tree is one line.

use crate::{
    Report,
    connect::leads_anywhere,
    in_child,
    notes::{Orders, is_note},
};
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    ffi::CString,
    fs::{self, File},
    io::Write,
    os::unix::{
        ffi::OsStrExt,
        fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    },
    path::{Path, PathBuf},
};

/// The maximum number of entries to inspect.
const ENTRIES_MAX: usize = 200_000;
/// Not opened, because opening has side effects or blocks.
const NEVER_OPENED: &[&str] = &["watchdog", "rtc", "st", "nst", "kmsg"];
/// Reported on separate lines.
const APART: &[&str] = &["/proc", "/sys"];
/// System folders, for which the read access is checked once.
const SYSTEM: &[&str] = &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Rights {
    read: bool,
    write: bool,
}

pub fn survey(orders: &Orders, report: &mut Report) {
    mounts(report);
    let mut found = BTreeMap::new();
    let own = ["HOME", "TMPDIR"].into_iter().filter_map(std::env::var_os).map(PathBuf::from);
    let starts = std::iter::once(PathBuf::from("/")).chain(own).chain(orders.paths.iter().cloned());
    walk(starts.collect(), &mut found, report);
    add_lines(&found, &mount_points(), "path", report);
    let mut found = BTreeMap::new();
    walk_kernel(["/proc", "/sys"].map(PathBuf::from).into(), &mut found);
    walk_kernel(orders.paths.iter().filter(|it| is_apart(it)).cloned().collect(), &mut found);
    let proc = fs::read_dir("/proc").into_iter().flatten().flatten().map(|it| it.path());
    add_lines(&found, &proc.collect(), "kernel", report);
}

fn mount_points() -> BTreeSet<PathBuf> {
    let text = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    text.lines().filter_map(|it| it.split(' ').nth(4)).map(PathBuf::from).collect()
}

fn mounts(report: &mut Report) {
    let text = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let (Some(root), Some(place), Some(options)) = (words.get(3), words.get(4), words.get(5))
        else {
            continue;
        };
        let kind = line.split(" - ").nth(1).and_then(|it| it.split(' ').next()).unwrap_or("?");
        let options: Vec<&str> = options
            .split(',')
            .filter(|it| ["ro", "rw", "nosuid", "nodev", "noexec"].contains(it))
            .collect();
        report.add(format_args!("mount {place} {kind} {root} {}", options.join(" ")));
    }
}

fn is_apart(path: &Path) -> bool {
    APART.iter().any(|it| path.starts_with(it))
}

fn is_system(path: &Path) -> bool {
    SYSTEM.iter().any(|it| path.starts_with(it))
}

fn walk(starts: Vec<PathBuf>, found: &mut BTreeMap<PathBuf, Rights>, report: &mut Report) {
    let (mut queue, mut seen) = (VecDeque::from(starts), BTreeSet::new());
    let mut has_setuid = BTreeSet::new();
    while let Some(path) = queue.pop_front() {
        if seen.len() >= ENTRIES_MAX {
            report.add("path walk ended early");
            break;
        }
        if is_apart(&path) || is_note(&path) || !seen.insert(path.clone()) {
            continue;
        }
        let Ok(data) = path.symlink_metadata() else { continue };
        let kind = data.file_type();
        if kind.is_symlink() {
            continue;
        }
        if kind.is_dir() {
            let entries = fs::read_dir(&path);
            let read = entries.is_ok();
            found.insert(path.clone(), Rights { read, write: can_fill(&path) });
            // System files on a read-only, nosuid file system need not be inspected.
            let is_plain = is_system(&path)
                && has_flag(&path, libc::ST_RDONLY)
                && has_flag(&path, libc::ST_NOSUID);
            let is_left_out = |it: &fs::DirEntry| {
                is_plain && it.file_type().is_ok_and(|it| it.is_file() || it.is_symlink())
            };
            let entries = entries.into_iter().flatten().flatten();
            queue.extend(entries.filter(|it| !is_left_out(it)).map(|it| it.path()));
            continue;
        }
        if kind.is_file() && data.mode() & 0o6000 != 0 && !is_nosuid(&path) {
            let place = SYSTEM.iter().find(|it| path.starts_with(it)).map_or(&*path, Path::new);
            has_setuid.insert(place.to_owned());
        }
        let rights = file_rights(&path, kind);
        if kind.is_file() {
            if !is_system(&path) {
                found.insert(path, rights);
            }
        } else if rights != Rights::default() {
            let kind = if kind.is_socket() { "socket" } else { "device" };
            report.add(format_args!("{kind} {} {}", shown(rights), path.display()));
        }
    }
    for place in has_setuid {
        report.add(format_args!("setuid {}", place.display()));
    }
}

fn file_rights(path: &Path, kind: fs::FileType) -> Rights {
    if kind.is_socket() {
        let connected = leads_anywhere(&path.to_string_lossy());
        return Rights { read: connected, write: connected };
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_dangerous = |it: &&str| *name.trim_end_matches(|it: char| it.is_ascii_digit()) == **it;
    if (kind.is_char_device() || kind.is_block_device()) && NEVER_OPENED.iter().any(is_dangerous) {
        return Rights::default();
    }
    // The rights of a system folder apply to its files.
    if kind.is_file() && is_system(path) {
        return Rights { read: true, write: false };
    }
    let is_fixed = kind.is_file() && has_flag(path, libc::ST_RDONLY);
    Rights { read: opens(path, false), write: !is_fixed && opens(path, true) }
}

fn opens(path: &Path, write: bool) -> bool {
    let mut options = File::options();
    options.read(!write).write(write);
    options.custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_NOFOLLOW);
    options.open(path).is_ok()
}

/// Whether an entry can be created in a folder.
fn can_fill(path: &Path) -> bool {
    if has_flag(path, libc::ST_RDONLY) {
        return false;
    }
    let new = path.join(".survey-new");
    let is_made = fs::create_dir(&new).is_ok();
    is_made && fs::remove_dir(new).is_ok()
}

fn has_flag(path: &Path, flag: libc::c_ulong) -> bool {
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else { return false };
    // SAFETY: all fields are numbers.
    let mut data: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: the path ends with a zero, and the result is written to our variable.
    let asked = unsafe { libc::statvfs(path.as_ptr(), &raw mut data) };
    asked == 0 && data.f_flag & flag != 0
}

fn is_nosuid(path: &Path) -> bool {
    has_flag(path, libc::ST_NOSUID)
}

/// Whether a program created in a folder can be executed.
fn runs_what_is_made(folder: &Path) -> bool {
    let program = folder.join(".survey-program");
    let made = File::options().write(true).create_new(true).mode(0o755).open(&program);
    let is_made = made.and_then(|mut it| it.write_all(b"#!/bin/sh\nexit 7\n")).is_ok();
    let Ok(path) = CString::new(program.as_os_str().as_bytes()) else { return false };
    let arguments = [path.as_ptr(), std::ptr::null()];
    let ended = in_child(|| {
        // SAFETY: the lists end with a null pointer and live until the child is replaced.
        unsafe { libc::execve(path.as_ptr(), arguments.as_ptr(), arguments[1..].as_ptr()) };
        0
    });
    fs::remove_file(program).ok();
    is_made && ended == Ok(7)
}

/// Finds the kernel's files that can be opened. Nothing is read or written.
fn walk_kernel(starts: Vec<PathBuf>, found: &mut BTreeMap<PathBuf, Rights>) {
    let (mut queue, mut seen_count) = (VecDeque::from(starts), 0);
    while let Some(path) = queue.pop_front() {
        let Ok(data) = path.symlink_metadata() else { continue };
        if data.is_symlink() || seen_count >= ENTRIES_MAX || found.contains_key(&path) {
            continue;
        }
        seen_count += 1;
        if !data.is_dir() {
            let rights = Rights { read: opens(&path, false), write: opens(&path, true) };
            found.insert(path, rights);
            continue;
        }
        let entries = fs::read_dir(&path);
        let can_make = path.starts_with("/sys/fs/cgroup") && can_fill(&path);
        found.insert(path.clone(), Rights { read: entries.is_ok(), write: can_make });
        for entry in entries.into_iter().flatten().flatten() {
            let (name, path) = (entry.file_name(), entry.path());
            let name = name.to_string_lossy();
            let is_process = name.chars().all(|it| it.is_ascii_digit());
            let is_repeated = ["task", "fd", "fdinfo", "map_files"].contains(&&*name);
            if !is_process && !is_repeated {
                queue.push_back(path);
            }
        }
    }
    // These are the targets of links.
    for own in ["/proc/self", "/proc/self/net"] {
        if !found.contains_key(Path::new(own)) && starts_here(own, found) {
            let below = fs::read_dir(own).into_iter().flatten().flatten().map(|it| it.path());
            let names = below.filter(|it| {
                let name = it.file_name().unwrap_or_default().to_string_lossy().into_owned();
                !["task", "fd", "fdinfo", "map_files", "net"].contains(&&*name)
            });
            found.insert(own.into(), Rights { read: true, write: false });
            walk_kernel(names.collect(), found);
        }
    }
}

fn starts_here(own: &str, found: &BTreeMap<PathBuf, Rights>) -> bool {
    Path::new(own).exists() && found.contains_key(Path::new("/proc"))
}

fn shown(rights: Rights) -> &'static str {
    match (rights.read, rights.write) {
        (true, true) => "rw",
        (true, false) => "r",
        (false, true) => "w",
        (false, false) => "",
    }
}

/// Adds entries that differ from their parent folder, and those that are always reported.
fn add_lines(
    found: &BTreeMap<PathBuf, Rights>,
    named: &BTreeSet<PathBuf>,
    class: &str,
    report: &mut Report,
) {
    for (path, rights) in found {
        let above = path.parent().and_then(|it| found.get(it)).copied().unwrap_or_default();
        if *rights == Rights::default() || *rights == above && !named.contains(path) {
            continue;
        }
        let mut more = String::new();
        if class == "path" && rights.write {
            let mode = path.metadata().map_or(0, |it| it.permissions().mode() & 0o7777);
            more = format!(" {mode:04o}");
            if path.is_dir() && runs_what_is_made(path) {
                more.push_str(" runs");
            }
        }
        report.add(format_args!("{class} {} {}{more}", shown(*rights), path.display()));
    }
}
