//! What the benches share.

use pitcrew_testkit::Process;
use std::{error::Error, fs, path::PathBuf};

pub type Outcome<T> = Result<T, Box<dyn Error>>;

/// The binary beside this example, of the same profile.
pub fn binary() -> Outcome<PathBuf> {
    let this = std::env::current_exe()?;
    let folder = this.ancestors().nth(2).ok_or("examples are in a folder of the profile")?;
    Ok(folder.join("pitcrew").canonicalize()?)
}

/// The most resident memory that it ever had.
pub fn peak_rss_kib(process: Process) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", process.pid)).ok()?;
    let line = status.lines().find_map(|it| it.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}
