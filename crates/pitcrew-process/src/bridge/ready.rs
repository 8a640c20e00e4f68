//! Readiness of the bridge: one line on its standard output.

use crate::poll::{self, Step};
use rustix::event::PollFlags;
use serde::{Deserialize, Serialize};
use std::{
    io::{self, PipeReader, Read, Write},
    os::fd::AsFd,
    time::{Duration, Instant},
};

/// How long the bridge may take to start. It normally takes milliseconds, and much less than this
/// even on a busy machine.
const START_MS_MAX: u64 = 30_000;
const LINE_BYTES_MAX: usize = 64 * 1_024;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Ready {
    Listening { port: u16 },
    Failed { reason: String },
}

/// Reports the result to the parent process. Fails if the parent has ended.
pub(super) fn say_ready(ready: &Ready) -> io::Result<()> {
    let mut line = serde_json::to_vec(ready).expect("plain data");
    line.push(b'\n');
    let mut stdout = io::stdout().lock();
    stdout.write_all(&line)?;
    stdout.flush()
}

/// Waits for the line that `say_ready` writes.
pub(super) fn ready(mut stdout: PipeReader) -> io::Result<Ready> {
    poll::never_block(&stdout)?;
    let until = Instant::now() + Duration::from_millis(START_MS_MAX);
    let mut line = Vec::new();
    while !line.ends_with(b"\n") && line.len() < LINE_BYTES_MAX {
        let ready = poll::wait(&[(stdout.as_fd(), PollFlags::IN)], Some(until))?;
        let mut buffer = [0; 1_024];
        match Step::of(stdout.read(&mut buffer)) {
            Step::Moved(count) => line.extend(&buffer[..count]),
            Step::NotNow if !ready[0] && Instant::now() >= until => {
                return Err(io::ErrorKind::TimedOut.into());
            }
            Step::NotNow => {}
            Step::Closed => break,
        }
    }
    serde_json::from_slice(&line).map_err(|_| {
        let said = String::from_utf8_lossy(&line).into_owned();
        io::Error::other(format!("it said {said:?} and not that it is ready"))
    })
}
