//! A transport of one message a line.
//!
//! The library's own transport ignores a line that is not JSON, so its client waits forever. Here
//! such a line is answered, and the session continues.

use super::invalid_message::{InvalidMessage, invalid_message};
use bytes::{Bytes, BytesMut};
use futures::SinkExt;
use rmcp::{
    RoleServer,
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::{Transport, async_rw::JsonRpcMessageCodec},
};
use std::{future::Future, io, pin::Pin, sync::Arc};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite},
    sync::Mutex,
};
use tokio_util::codec::{
    AnyDelimiterCodec, AnyDelimiterCodecError, BytesCodec, Decoder, FramedWrite,
};

/// The longest message: far more than any tool needs.
const LINE_BYTES_MAX: usize = 16 * 1_024 * 1_024;
/// Bytes that are read at a time.
const READ_BYTES: usize = 8 * 1_024;

type Writer<W> = Arc<Mutex<Option<FramedWrite<W, BytesCodec>>>>;
type Sending = Pin<Box<dyn Future<Output = io::Result<()>> + Send>>;

pub struct Lines<R, W> {
    reader: R,
    buffer: BytesMut,
    splitter: AnyDelimiterCodec,
    writer: Writer<W>,
    /// The pending answer to a bad line. `receive` may be cancelled, so the next call continues it.
    answering: Option<Sending>,
}

impl<R, W: AsyncWrite + Send + Unpin + 'static> Lines<R, W> {
    pub fn new(reader: R, writer: W) -> Self {
        let newline = || b"\n".to_vec();
        Self {
            reader,
            buffer: BytesMut::new(),
            splitter: AnyDelimiterCodec::new_with_max_length(newline(), newline(), LINE_BYTES_MAX),
            writer: Arc::new(Mutex::new(Some(FramedWrite::new(writer, BytesCodec::new())))),
            answering: None,
        }
    }

    fn answer(&mut self, invalid_message: &InvalidMessage) {
        let line = invalid_message.answer();
        self.answering = Some(Box::pin(write(self.writer.clone(), line)));
    }
}

async fn write<W: AsyncWrite + Unpin>(writer: Writer<W>, mut line: Vec<u8>) -> io::Result<()> {
    line.push(b'\n');
    match &mut *writer.lock().await {
        Some(writer) => writer.send(Bytes::from(line)).await,
        None => Err(io::ErrorKind::NotConnected.into()),
    }
}

/// Parses a line; none if it needs no answer.
fn read(line: &[u8]) -> Result<Option<RxJsonRpcMessage<RoleServer>>, InvalidMessage> {
    if line.trim_ascii().is_empty() {
        return Ok(None);
    }
    // The library knows which malformed notifications to ignore.
    let read = JsonRpcMessageCodec::default().decode_eof(&mut BytesMut::from(line));
    read.map_err(|_| invalid_message(line))
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let writer = self.writer.clone();
        async move { write(writer, serde_json::to_vec(&item)?).await }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(answering) = &mut self.answering {
                let answered = answering.await;
                self.answering = None;
                answered.ok()?;
            }
            match self.splitter.decode(&mut self.buffer) {
                Ok(Some(line)) => match read(&line) {
                    Ok(Some(message)) => return Some(message),
                    Ok(None) => {}
                    Err(invalid_message) => self.answer(&invalid_message),
                },
                Ok(None) => {
                    self.buffer.reserve(READ_BYTES);
                    if self.reader.read_buf(&mut self.buffer).await.ok()? == 0 {
                        if self.buffer.is_empty() {
                            return None;
                        }
                        // The last line may lack its newline.
                        self.buffer.extend_from_slice(b"\n");
                    }
                }
                Err(AnyDelimiterCodecError::MaxChunkLengthExceeded) => {
                    self.answer(&InvalidMessage::too_long(LINE_BYTES_MAX));
                }
                Err(AnyDelimiterCodecError::Io(_)) => return None,
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.writer.lock().await.take();
        Ok(())
    }
}
