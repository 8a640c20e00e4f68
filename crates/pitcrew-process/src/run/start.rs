//! Starts the program of a run with its pipes.

use super::Run;
use crate::{command, poll};
use std::{
    io::{self, PipeReader, PipeWriter},
    os::unix::process::CommandExt,
    process::Child,
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

#[derive(Clone, Copy)]
pub(super) enum Streams {
    Apart,
    /// Both go into one pipe, so that their order is kept.
    Together,
}

/// A program that runs, and our ends of its pipes. None of them ever blocks.
pub(super) struct Started {
    pub(super) child: Child,
    pub(super) stdin: Option<PipeWriter>,
    pub(super) stdout: Option<PipeReader>,
    pub(super) stderr: Option<PipeReader>,
    pub(super) marker: Option<String>,
    pub(super) at: Instant,
}

/// A value that no other run has, in this process or another.
pub(super) fn unique_marker() -> String {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let since_epoch = std::time::UNIX_EPOCH.elapsed().unwrap_or_default();
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    format!("{}-{}-{number}", std::process::id(), since_epoch.as_nanos())
}

pub(super) fn start(run: &Run, streams: Streams, marker: Option<String>) -> io::Result<Started> {
    let mut command = command::command(&run.argv, &run.cwd, &run.env)?;
    command.process_group(0);

    let (stdin, ours_stdin) = io::pipe()?;
    let (ours_stdout, stdout) = io::pipe()?;
    command.stdin(stdin);
    let ours_stderr = match streams {
        Streams::Apart => {
            let (ours, stderr) = io::pipe()?;
            command.stdout(stdout).stderr(stderr);
            Some(ours)
        }
        Streams::Together => {
            command.stdout(stdout.try_clone()?).stderr(stdout);
            None
        }
    };
    poll::never_block(&ours_stdin)?;
    poll::never_block(&ours_stdout)?;
    if let Some(stderr) = &ours_stderr {
        poll::never_block(stderr)?;
    }
    let at = Instant::now();
    // The command holds the other ends of the pipes and lets them go when it is dropped here.
    let child = command.spawn()?;
    Ok(Started {
        child,
        stdin: Some(ours_stdin),
        stdout: Some(ours_stdout),
        stderr: ours_stderr,
        marker,
        at,
    })
}
