//! Processes by id and start time, so that a reused id is detected.

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal},
};
use std::{fs, time::Duration};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    pub pid: i32,
    /// In clock ticks since the machine started.
    start: u64,
}

impl Process {
    /// The process that has this id now.
    pub fn of(pid: u32) -> Option<Self> {
        let pid = i32::try_from(pid).ok()?;
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (_, fields) = stat.rsplit_once(')')?;
        let start = fields.split_ascii_whitespace().nth(19)?.parse().ok()?;
        Some(Self { pid, start })
    }

    /// Sends a signal to exactly this process.
    pub fn signal(self, signal: Signal) {
        let Some(pid) = Pid::from_raw(self.pid) else { return };
        let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { return };
        if Self::of(self.pid.unsigned_abs()) == Some(self) {
            pidfd_send_signal(handle, signal).ok();
        }
    }

    /// Waits for its end; returns whether it ended in time.
    pub fn await_end(self, patience: Duration) -> bool {
        let Some(pid) = Pid::from_raw(self.pid) else { return true };
        let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { return true };
        if Self::of(self.pid.unsigned_abs()) != Some(self) {
            return true;
        }
        let time = Timespec { tv_sec: patience.as_secs().cast_signed(), tv_nsec: 0 };
        poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&time)) == Ok(1)
    }

    /// The living processes with `text` in their arguments or environment.
    pub fn naming(text: &str) -> Vec<(Self, String)> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|it| it.file_name().to_str()?.parse().ok());
        let names = |pid: u32, what: &str| {
            fs::read(format!("/proc/{pid}/{what}"))
                .is_ok_and(|it| String::from_utf8_lossy(&it).contains(text))
        };
        let of_ours = pids.filter(|pid| {
            *pid != std::process::id() && (names(*pid, "cmdline") || names(*pid, "environ"))
        });
        let described = of_ours.filter_map(|pid| {
            let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let arguments = String::from_utf8_lossy(&arguments).replace('\0', " ");
            Some((Self::of(pid)?, arguments))
        });
        described.filter(|it| !it.1.is_empty()).collect()
    }
}
