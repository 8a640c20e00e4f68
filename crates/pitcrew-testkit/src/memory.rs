//! How much memory something takes at its height.

use std::fs;

/// Runs `work` and tells by how many bytes the memory of this process rose above what it was
/// before, at the highest. For tests that have their process to themselves.
pub fn memory_peak<T>(work: impl FnOnce() -> T) -> (T, u64) {
    // Lets the system count the highest from here on.
    fs::write("/proc/self/clear_refs", "5").expect("the mark can be reset");
    let before = status("VmRSS:");
    let done = work();
    (done, status("VmHWM:").saturating_sub(before))
}

fn status(name: &str) -> u64 {
    let text = fs::read_to_string("/proc/self/status").expect("the system tells");
    let line = text.lines().find_map(|it| it.strip_prefix(name)).expect("a line of that name");
    let number = line.trim().strip_suffix(" kB").expect("in kilobytes");
    number.parse::<u64>().expect("a number") * 1_024
}
