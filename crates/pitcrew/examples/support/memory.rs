//! The memory of a process.

use pitcrew_testkit::Process;
use std::fs;

/// The peak resident memory.
pub fn peak_rss_kib(process: Process) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", process.pid)).ok()?;
    let line = status.lines().find_map(|it| it.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}
