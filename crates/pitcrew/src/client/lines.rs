//! Streams with one JSON value per line.

use super::{
    HttpResponse,
    call::{CallError, send},
};
use http_body_util::BodyExt;
use hyper::{Method, body::Incoming};
use pitcrew_api::Token;
use std::{collections::VecDeque, path::Path, time::Duration};
use tokio::time::timeout;

/// The orchestrator sends something every few seconds; a longer silence means that it is gone.
const SILENCE_MAX: Duration = Duration::from_secs(30);
/// A longer line is an error.
const LINE_BYTES_MAX: usize = 64 * 1_024 * 1_024;

/// The lines of a streamed response.
pub struct Lines {
    body: Incoming,
    partial: Vec<u8>,
    complete: VecDeque<Vec<u8>>,
}

/// The result of reading a line.
pub enum StreamItem {
    Line(Vec<u8>),
    /// The stream is complete.
    End,
    /// The stream broke.
    Broken(String),
}

pub(super) async fn open(
    socket: &Path,
    token: &Token,
    path: &str,
) -> Result<Result<Lines, HttpResponse>, CallError> {
    let response = send(socket, token, Method::GET, path, Vec::new()).await?;
    let status = response.status().as_u16();
    let body = response.into_body();
    if status == 200 {
        return Ok(Ok(Lines { body, partial: Vec::new(), complete: VecDeque::new() }));
    }
    let body = body.collect().await.map_err(|error| CallError::Broken(error.to_string()))?;
    Ok(Err(HttpResponse { status, body: body.to_bytes().to_vec() }))
}

impl Lines {
    /// Waits for the next line. Cancel-safe.
    pub async fn next(&mut self) -> StreamItem {
        loop {
            if let Some(line) = self.complete.pop_front() {
                return StreamItem::Line(line);
            }
            let Ok(frame) = timeout(SILENCE_MAX, self.body.frame()).await else {
                return StreamItem::Broken("it sent nothing for too long".to_owned());
            };
            match frame {
                None if self.partial.is_empty() => return StreamItem::End,
                None => {
                    return StreamItem::Broken(
                        "the stream ended in the middle of a line".to_owned(),
                    );
                }
                Some(Err(error)) => return StreamItem::Broken(error.to_string()),
                Some(Ok(frame)) => {
                    if let Some(bytes) = frame.data_ref() {
                        self.take(bytes);
                    }
                }
            }
            if self.partial.len() > LINE_BYTES_MAX {
                return StreamItem::Broken("a line is too long".to_owned());
            }
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|it| *it == b'\n') {
            self.partial.extend_from_slice(piece);
            if self.partial.last() == Some(&b'\n') {
                self.partial.pop();
                self.complete.push_back(std::mem::take(&mut self.partial));
            }
        }
    }
}
