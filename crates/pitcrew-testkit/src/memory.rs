//! Measures peak memory.

use std::fs;

/// Runs `work` and returns by how many bytes this process's peak memory exceeded its memory before.
/// For tests that have their own process.
pub fn memory_peak<T>(work: impl FnOnce() -> T) -> (T, u64) {
    // Resets the peak that the system counts.
    fs::write("/proc/self/clear_refs", "5").expect("the peak can be reset");
    let before = status("VmRSS:");
    let done = work();
    (done, status("VmHWM:").saturating_sub(before))
}

fn status(name: &str) -> u64 {
    let text = fs::read_to_string("/proc/self/status").expect("the status is readable");
    let line = text.lines().find_map(|it| it.strip_prefix(name)).expect("a line of that name");
    let number = line.trim().strip_suffix(" kB").expect("in kilobytes");
    number.parse::<u64>().expect("a number") * 1_024
}
