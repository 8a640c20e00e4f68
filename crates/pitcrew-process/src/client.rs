//! The orchestrator's end of a shim: starts it or reconnects to it, sends frames, receives events.
//!
//! Reads the socket only while a caller waits for the next event. So a slow reader slows the agent
//! down, and buffers are bounded.

mod error;
mod events;
mod leftover;
mod attach;
mod start;
mod stderr_line;

pub use attach::{Attached, Presence, attach_shim};
pub use error::{ShimError, ShimErrorKind};
pub use events::{ShimEvent, ShimEvents};
pub use leftover::{end_shim, until_gone};
pub use start::{PreparedShim, prepare_shim, start_shim};
pub use stderr_line::StderrLine;

use crate::shim::{Order, encode};
use error::Context;
use pitcrew_model::limits::FRAME_BYTES_MAX;
use std::{
    borrow::Cow,
    collections::VecDeque,
    io,
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{UnixStream, unix::OwnedWriteHalf},
    sync::Mutex,
    time::timeout,
};

/// How long a shim may take to respond to a request.
const RESPONSE_MAX: Duration = Duration::from_secs(5);

/// Sends requests to a shim. Dropping it disconnects the client, and the lease starts to run.
#[derive(Debug)]
pub struct ShimHandle {
    pid: Option<u32>,
    socket: PathBuf,
    context: Context,
    /// Absent if the agent had ended before we connected.
    outgoing: Mutex<Option<Outgoing>>,
}

#[derive(Debug)]
struct Outgoing {
    stream: OwnedWriteHalf,
    /// The unsent rest of an abandoned `send`. It is sent before anything else, so that no frame is
    /// cut off.
    pending: VecDeque<u8>,
}

impl ShimHandle {
    /// Sends one frame to the agent. The shim drops an id that was sent before, so everything may
    /// be sent again after a crash.
    ///
    /// Waits while the agent does not read. If the agent ends, the events report it.
    pub async fn send(&self, id: u64, frame: &str) -> Result<(), ShimError> {
        if frame.contains('\n') {
            let reason = "it has more than one line".to_owned();
            return Err(self.context.error(ShimErrorKind::BadFrame { reason }));
        }
        if frame.len() > FRAME_BYTES_MAX {
            let reason = format!("it has {} bytes, at most {FRAME_BYTES_MAX}", frame.len());
            return Err(self.context.error(ShimErrorKind::BadFrame { reason }));
        }
        let gone = |error| self.context.error(ShimErrorKind::Gone(error));
        let mut outgoing = self.outgoing.lock().await;
        let Some(outgoing) = &mut *outgoing else {
            return Err(gone(io::ErrorKind::NotConnected.into()));
        };
        encode(&Order::Send { id, frame: Cow::Borrowed(frame) }, &mut outgoing.pending);
        outgoing.flush().await.map_err(gone)
    }

    /// Asks the shim to end the agent, and to kill it after `grace`. Returns when the shim has
    /// received the request; the last event reports that no process is left. Succeeds if the agent
    /// has already ended, but fails if the shim does not respond.
    ///
    /// Uses a separate connection, so it works while frames are blocked and may overtake some of
    /// them.
    pub async fn stop(&self, grace: Duration) -> Result<(), ShimError> {
        let gone = |error| self.context.error(ShimErrorKind::Gone(error));
        stop_at(&self.socket, grace).await.map(drop).map_err(gone)
    }

    /// Kills the shim and the agent's whole process tree without a request: for a shim that does
    /// not respond. The last event is reported as for a shim that was killed from outside.
    pub async fn end_by_force(&self) {
        leftover::hunted(&self.context.dir, None).await;
    }

    /// The process id of the shim. Absent if it had ended before we connected.
    pub fn pid(&self) -> Option<u32> {
        self.pid
    }
}

/// Asks the shim behind the socket to end its agent. Returns false if no shim listens there.
async fn stop_at(socket: &Path, grace: Duration) -> io::Result<bool> {
    match timeout(RESPONSE_MAX, request_stop(socket, grace)).await {
        Ok(answer) => answer,
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    }
}

async fn request_stop(socket: &Path, grace: Duration) -> io::Result<bool> {
    let mut stream = match UnixStream::connect(socket).await {
        Ok(stream) => stream,
        Err(error) if is_over(&error) => return Ok(false),
        Err(error) => return Err(error),
    };
    let grace_ms = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
    let mut line = Vec::new();
    encode(&Order::Stop { grace_ms }, &mut line);
    let exchange = async {
        stream.write_all(&line).await?;
        stream.shutdown().await?;
        stream.read_to_end(&mut Vec::new()).await
    };
    match exchange.await {
        Err(error) if !is_over(&error) => Err(error),
        Ok(_) | Err(_) => Ok(true),
    }
}

impl Outgoing {
    async fn flush(&mut self) -> io::Result<()> {
        self.stream.write_all_buf(&mut self.pending).await
    }
}

/// Whether the error means that no shim listens there any more.
fn is_over(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::BrokenPipe
    )
}
