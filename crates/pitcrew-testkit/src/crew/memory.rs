//! The peak memory of one agent with all its processes.

use crate::Sandbox;
use std::{
    collections::HashMap,
    fs,
    sync::mpsc::{self, RecvTimeoutError, Sender},
    thread::JoinHandle,
    time::Duration,
};

const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Samples the agents of a sandbox until it is stopped.
pub struct PeakMemory {
    stop: Sender<()>,
    thread: JoinHandle<u64>,
}

impl PeakMemory {
    pub fn watch(sandbox: &Sandbox) -> Self {
        let root = sandbox.root().display().to_string();
        let (stop, stopped) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let mut peak = 0;
            while stopped.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
                peak = largest_agent_kib(&root).max(peak);
            }
            peak
        });
        Self { stop, thread }
    }

    /// In MiB.
    pub fn stop(self) -> u64 {
        drop(self.stop);
        self.thread.join().expect("it only reads") / 1_024
    }
}

struct Seen {
    parent: u32,
    resident_kib: u64,
    arguments: String,
}

fn largest_agent_kib(root: &str) -> u64 {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|it| it.file_name().to_str()?.parse::<u32>().ok());
    let all: HashMap<u32, Seen> = pids.filter_map(|it| Some((it, look(it)?))).collect();
    let is_shim = |it: &Seen| it.arguments.contains(" shim ") && it.arguments.contains(root);
    let shims = all.iter().filter(|(_, it)| is_shim(it)).map(|(pid, _)| *pid);
    shims.map(|shim| below(shim, &all)).max().unwrap_or(0)
}

/// The memory of all descendants except our own programs, but including the built-in agent.
fn below(parent: u32, all: &HashMap<u32, Seen>) -> u64 {
    let children = all.iter().filter(|(_, it)| it.parent == parent);
    children
        .map(|(pid, it)| {
            let mut words = it.arguments.split(' ');
            let is_ours = words.next().is_some_and(|it| it.ends_with("/pitcrew"));
            let is_tool = is_ours && words.next() != Some("agent");
            (if is_tool { 0 } else { it.resident_kib }) + below(*pid, all)
        })
        .sum()
}

fn look(pid: u32) -> Option<Seen> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let field = |name: &str| status.lines().find_map(|it| it.strip_prefix(name)).map(str::trim);
    let arguments = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    Some(Seen {
        parent: field("PPid:")?.parse().ok()?,
        resident_kib: field("VmRSS:")?.strip_suffix(" kB")?.trim().parse().ok()?,
        arguments: String::from_utf8_lossy(&arguments).replace('\0', " "),
    })
}
