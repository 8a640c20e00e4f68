//! One attempt in a temporary folder, and helpers that inspect its processes.

mod program;

pub use program::shim_program;

use pitcrew_model::Exit;
use pitcrew_process::{Policy, ShimEvent, ShimEvents, ShimHandle, ShimSpec, start_shim};
use rustix::{
    event::{PollFd, PollFlags, Timespec},
    fs::{CWD, FileType, Mode, OFlags},
    process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open},
};
use std::{fs, os::fd::OwnedFd, path::Path};
use tempfile::TempDir;

pub const LINE_BYTES_MAX: usize = pitcrew_model::limits::FRAME_BYTES_MAX;

pub struct Fixture {
    root: TempDir,
    pub spec: ShimSpec,
}

impl Fixture {
    /// Creates an agent that is a shell script.
    pub fn new(script: &str) -> Self {
        let root = TempDir::new().unwrap();
        let cwd = root.path().join("checkout");
        fs::create_dir(&cwd).unwrap();
        let path = std::env::var("PATH").unwrap();
        let spec = ShimSpec {
            dir: root.path().join("attempt"),
            socket: root.path().join("s"),
            argv: vec!["sh".into(), "-c".into(), script.into()],
            cwd,
            env: vec![("PATH".into(), path), ("GIVEN".into(), "1".into())],
            lease_ms: 0,
            policy: Policy::unconfined(),
        };
        Self { root, spec }
    }

    pub async fn start(&self) -> (ShimHandle, ShimEvents) {
        start_shim(&shim_program(), &self.spec).await.unwrap()
    }

    pub fn dir(&self) -> &Path {
        &self.spec.dir
    }

    pub fn cwd(&self) -> &Path {
        assert!(self.spec.cwd.starts_with(self.root.path()));
        &self.spec.cwd
    }

    /// Reads the exit record.
    pub fn exit(&self) -> Exit {
        serde_json::from_slice(&fs::read(self.dir().join("exit.json")).unwrap()).unwrap()
    }
}

/// Returns the next event that is neither an echo of a sent frame nor specific to boxes.
pub async fn heard(events: &mut ShimEvents) -> Option<ShimEvent> {
    loop {
        match events.next().await {
            Some(ShimEvent::Sent { .. } | ShimEvent::Halted(_)) => {}
            event => return event,
        }
    }
}

pub fn line(event: Option<ShimEvent>) -> String {
    match event {
        Some(ShimEvent::Frame { line, .. }) => line,
        other => panic!("not a frame: {other:?}"),
    }
}

fn runs(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|it| !it.rsplit(')').next().unwrap().trim_start().starts_with('Z'))
}

/// Whether the process whose id the agent wrote into the file `name` is alive.
pub fn is_alive(fixture: &Fixture, name: &str) -> bool {
    runs(fs::read_to_string(fixture.cwd().join(name)).unwrap().trim())
}

/// Returns the living processes whose current folder is `folder`.
pub fn processes_in(folder: &Path) -> Vec<i32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let numbers = entries.filter_map(|it| it.file_name().into_string().ok());
    let here = numbers.filter(|it| {
        fs::read_link(format!("/proc/{it}/cwd")).is_ok_and(|cwd| cwd == folder) && runs(it)
    });
    here.filter_map(|it| it.parse().ok()).collect()
}

/// Returns the peak memory of the process.
pub fn peak_bytes(pid: u32) -> usize {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|it| it.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1_024
}

/// Opens a handle of a process, so that its end can be waited for.
pub fn watch(pid: u32) -> OwnedFd {
    let pid = Pid::from_raw(pid.try_into().unwrap()).unwrap();
    pidfd_open(pid, PidfdFlags::empty()).unwrap()
}

/// Stops the process.
pub fn freeze(pid: u32) {
    kill_process(Pid::from_raw(pid.try_into().unwrap()).unwrap(), Signal::STOP).unwrap();
}

pub fn kill(pid: u32) {
    kill_process(Pid::from_raw(pid.try_into().unwrap()).unwrap(), Signal::KILL).unwrap();
}

pub fn await_end(process: &OwnedFd) {
    let mut fds = [PollFd::new(process, PollFlags::IN)];
    let deadline = Timespec { tv_sec: 30, tv_nsec: 0 };
    assert_eq!(rustix::event::poll(&mut fds, Some(&deadline)).unwrap(), 1, "it does not end");
}

/// A named pipe that detects living processes: each process that inherits its other end keeps it
/// open.
pub struct Lifeline(OwnedFd);

impl Lifeline {
    pub fn new(path: &Path) -> Self {
        rustix::fs::mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Self(rustix::fs::open(path, flags, Mode::empty()).unwrap())
    }

    /// Whether a process that opened or inherited the other end is alive.
    pub fn is_held(&self) -> bool {
        let mut fds = [PollFd::new(&self.0, PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        rustix::event::poll(&mut fds, Some(&now)).unwrap();
        !fds[0].revents().contains(PollFlags::HUP)
    }
}
