//! Inspects the processes of a box from outside, including data that they cannot read of each
//! other, such as the descriptors of the first process.

use std::{fs, path::Path};

const FIELDS: &[&str] = &[
    "Uid",
    "CapInh",
    "CapPrm",
    "CapEff",
    "CapBnd",
    "CapAmb",
    "NoNewPrivs",
    "Seccomp",
    "Seccomp_filters",
];

/// Describes all processes in the process namespace of this probe. `pid` is the probe's id in that
/// namespace. Returns nothing if the probe is not found.
pub fn look(pid: &str, folder: &Path) -> Vec<String> {
    let Some(probe) = pids().into_iter().find(|it| is_probe(*it, pid, folder)) else {
        return Vec::new();
    };
    let Ok(space) = fs::read_link(format!("/proc/{probe}/ns/pid")) else { return Vec::new() };
    let is_shared = fs::read_link("/proc/self/ns/pid").is_ok_and(|own| own == space);
    let members = pids().into_iter().filter(|it| {
        if is_shared {
            return *it == probe;
        }
        fs::read_link(format!("/proc/{it}/ns/pid")).is_ok_and(|other| other == space)
    });
    members.flat_map(seen).collect()
}

fn pids() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|it| it.file_name().to_str()?.parse().ok()).collect()
}

fn is_probe(candidate: u32, pid: &str, folder: &Path) -> bool {
    let status = status(candidate);
    let name = fs::read_to_string(format!("/proc/{candidate}/comm")).unwrap_or_default();
    let is_same = field(&status, "NSpid").split(' ').next_back() == Some(pid);
    let here = fs::read_link(format!("/proc/{candidate}/cwd")).unwrap_or_default();
    is_same && name == "survey_probe\n" && folder.starts_with(here)
}

fn status(pid: u32) -> String {
    fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default()
}

fn field(status: &str, name: &str) -> String {
    let line = status.lines().find_map(|it| it.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn seen(pid: u32) -> Vec<String> {
    let status = status(pid);
    let comm = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let comm = comm.trim();
    let within = field(&status, "NSpid");
    let is_first = within.contains(' ') && within.ends_with(" 1");
    let name = if is_first { format!("first ({comm})") } else { format!("its own ({comm})") };
    let mut lines: Vec<String> = FIELDS
        .iter()
        .map(|it| format!("from outside {name}: has {it} {}", field(&status, it)))
        .collect();
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    for entry in descriptors {
        let target = fs::read_link(entry.path()).unwrap_or_default().display().to_string();
        let kind = target.split_once(":[").map_or(&*target, |it| it.0);
        lines.push(format!("from outside {name}: holds {kind}"));
    }
    lines
}
