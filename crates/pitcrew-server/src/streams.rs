//! Streaming answers: one JSON value per line, and heartbeats.

use crate::serve::Doors;
use axum::{
    body::{Body, Bytes},
    http::header,
    response::{IntoResponse, Response},
};
use futures::{StreamExt, stream};
use serde::Serialize;
use std::{error::Error, future::ready, io, time::Duration};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

/// A reader can detect a dead orchestrator after twice this time.
pub const HEARTBEAT: Duration = Duration::from_secs(5);

/// Queued lines of a slow reader.
const LINES_QUEUED_MAX: usize = 64;

/// The writing end of a stream.
pub struct Lines {
    sender: mpsc::Sender<Bytes>,
}

/// The stream failed, so the reader receives an incomplete response.
pub struct Broken(io::Error);

impl Lines {
    /// Waits while the reader is slow.
    pub async fn send(&self, line: &impl Serialize) -> Result<(), Broken> {
        let mut bytes = serde_json::to_vec(line).expect("wire types are representable in JSON");
        bytes.push(b'\n');
        self.sender.send(bytes.into()).await.map_err(Broken::new)
    }
}

impl Broken {
    pub fn new(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(io::Error::other(error))
    }
}

/// A stream of the lines that `write` sends. It ends with `write`, with its reader, or at shutdown,
/// whichever comes first.
///
/// `write` runs only while the answer is being sent; it is dropped with the reader.
pub fn stream<W: Future<Output = Result<(), Broken>> + Send + 'static>(
    doors: &Doors,
    write: impl FnOnce(Lines) -> W,
) -> Response {
    let guard = doors.open_requests.enter();
    let mut closing = doors.closing.subscribe();
    let (sender, lines) = mpsc::channel(LINES_QUEUED_MAX);
    let writing = write(Lines { sender });
    let writing = async move {
        let _guard = guard;
        tokio::select! {
            written = writing => written.err().map(|it| Err(it.0)),
            _ = closing.wait_for(|it| *it) => None,
        }
    };
    let writing = stream::once(writing).filter_map(ready);
    let body = Body::from_stream(stream::select(ReceiverStream::new(lines).map(Ok), writing));
    ([(header::CONTENT_TYPE, "application/x-ndjson")], body).into_response()
}
