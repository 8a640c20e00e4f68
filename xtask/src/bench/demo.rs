//! Runs the demo and samples the memory of its processes.
//!
//! A process belongs to the demo if it runs the binary that was just built and did not run before;
//! its first argument is its role. Reads `/proc`, so it works on Linux only.

use super::json::{Row, Value};
use crate::program::{self, Failure};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

const SAMPLE_EVERY: Duration = Duration::from_millis(10);

/// The peak resident memory in KiB of a process, by role.
type Peaks = BTreeMap<String, u64>;

pub fn measure() -> Result<Vec<Row>, Failure> {
    program::read(program::cargo(), &["build", "--release", "--quiet", "--package", "pitcrew"])?;
    let (seconds, peaks) = watch(&release_binary()?, &["demo"])?;
    let mut rows = vec![row("the whole demo", "seconds", format!("{seconds:.1}"))];
    for (role, peak_kib) in peaks {
        let megabytes = peak_kib * 1_024 / 1_000_000;
        rows.push(row(&format!("pitcrew {role}"), "peak_rss_mb", megabytes.to_string()));
    }
    Ok(rows)
}

/// The binary beside the running one, so that a custom target folder is respected.
fn release_binary() -> Result<PathBuf, Failure> {
    let failed = |error| Failure(format!("failed to find the built binary: {error}"));
    let this = std::env::current_exe().map_err(failed)?;
    let target = this.ancestors().nth(2).expect("cargo puts binaries into target/PROFILE");
    target.join("release/pitcrew").canonicalize().map_err(failed)
}

/// Runs the program until it exits, and samples the processes of its binary.
#[expect(clippy::disallowed_methods, reason = "a sampler waits for time only")]
fn watch(binary: &Path, arguments: &[&str]) -> Result<(f64, Peaks), Failure> {
    let before: BTreeSet<u32> = processes(binary).into_iter().map(|it| it.id).collect();
    let mut peaks = Peaks::new();
    let began = Instant::now();
    let failed = |error| Failure(format!("failed to run the demo: {error}"));
    let mut child =
        program::command(binary, arguments).stdout(Stdio::null()).spawn().map_err(failed)?;
    let status = loop {
        for process in processes(binary).into_iter().filter(|it| !before.contains(&it.id)) {
            let peak = peaks.entry(process.role).or_default();
            *peak = process.peak_rss_kib.max(*peak);
        }
        match child.try_wait().map_err(failed)? {
            Some(status) => break status,
            None => thread::sleep(SAMPLE_EVERY),
        }
    };
    if !status.success() {
        return Err(Failure(format!("the demo failed: {status}")));
    }
    Ok((began.elapsed().as_secs_f64(), peaks))
}

struct Process {
    id: u32,
    /// Its first argument.
    role: String,
    peak_rss_kib: u64,
}

/// The processes that run the binary now. One that exits meanwhile is left out.
fn processes(binary: &Path) -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| read_process(&entry.path(), binary)).collect()
}

fn read_process(folder: &Path, binary: &Path) -> Option<Process> {
    let id = folder.file_name()?.to_str()?.parse().ok()?;
    if fs::read_link(folder.join("exe")).ok()? != binary {
        return None;
    }
    let arguments = fs::read(folder.join("cmdline")).ok()?;
    let role = arguments.split(|it| *it == 0).nth(1)?;
    let role = String::from_utf8_lossy(role).into_owned();
    let peak_rss_kib = peak_rss_kib(&fs::read_to_string(folder.join("status")).ok()?)?;
    Some(Process { id, role, peak_rss_kib })
}

fn peak_rss_kib(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|it| it.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

fn row(what: &str, key: &str, number: String) -> Row {
    let what = ("what".to_owned(), Value::Text(what.to_owned()));
    vec![what, (key.to_owned(), Value::Bare(number))]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_the_memory_of_a_program() {
        let shell = Path::new("/bin/sh").canonicalize().expect("a shell");
        let wait = "i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done";
        let (seconds, peaks) = watch(&shell, &["-c", wait]).expect("it ends well");
        assert!(seconds > 0.0);
        assert!(peaks.get("-c").is_some_and(|it| *it > 0), "{peaks:?}");
    }

    #[test]
    fn a_failed_demo_is_an_error() {
        let shell = Path::new("/bin/sh").canonicalize().expect("a shell");
        let failure = watch(&shell, &["-c", "exit 4"]).expect_err("it fails");
        assert_eq!(failure.to_string(), "the demo failed: exit status: 4");
    }

    #[test]
    fn the_peak_is_read_from_the_status_file() {
        assert_eq!(peak_rss_kib("Name:\tx\nVmHWM:\t   20480 kB\n"), Some(20_480));
        assert_eq!(peak_rss_kib("Name:\tkernel thread\n"), None);
    }
}
