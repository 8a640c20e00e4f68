//! The events of an agent, from the shim's connection and from the spool.

use super::leftover::{hunted, until_gone};
use crate::{
    shim::{ExitRecord, MESSAGE_BYTES_MAX, Report, read_exit, spool_path},
    tree::ProcessId,
};
use pitcrew_model::Exit;
use std::{
    io::{self, SeekFrom},
    path::PathBuf,
    time::Duration,
};
use tokio::{
    fs::File,
    io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncSeekExt, BufReader},
    net::unix::OwnedReadHalf,
    process::Child,
    time::timeout,
};

/// How long a shim may take to exit after its last report or after it was killed.
const SHIM_END_MAX: Duration = Duration::from_secs(15);

/// One message between the orchestrator and the agent. `offset` is where its record begins in the
/// spool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShimEvent {
    /// One line of the agent's standard output, and its time in milliseconds since the epoch.
    Frame { offset: u64, time_ms: u64, line: String },
    /// A frame that was sent to the agent, by this orchestrator or an earlier one.
    Sent { offset: u64, id: u64, line: String },
    /// Output that is not a line of text: not UTF-8, longer than a frame may be, or cut off.
    Garbage { offset: u64, reason: String },
    /// The agent has ended, but the kernel is still removing its processes. Sent only if that is
    /// known before `Exited`.
    Halted(Exit),
    /// None of the agent's processes is left. Always the last event.
    Exited(Exit),
}

/// The events of one agent, in order.
#[derive(Debug)]
pub struct ShimEvents {
    pub(super) source: Source,
    /// The attempt's folder.
    pub(super) dir: PathBuf,
    pub(super) agent: Option<ProcessId>,
    /// The shim, if it is our child. It is waited for at the end.
    pub(super) shim: Option<Child>,
    /// The beginning of a report that has not arrived completely.
    pub(super) begun: Vec<u8>,
    /// The offset up to which the spool was read.
    pub(super) position: u64,
    pub(super) exit: Option<ExitRecord>,
    /// The shim sent nothing for too long and was ended.
    pub(super) was_silent: bool,
    pub(super) is_over: bool,
}

#[derive(Debug)]
pub(super) enum Source {
    Shim(BufReader<OwnedReadHalf>),
    /// The shim has ended; the rest is on disk.
    Spool(BufReader<File>),
    /// There are no more events.
    Nothing,
}

impl ShimEvents {
    /// Returns the next event, and `None` after `Exited`. Can be cancelled and called again without
    /// loss.
    ///
    /// Between calls, the shim buffers the agent's output up to a limit and then stops reading from
    /// the agent.
    pub async fn next(&mut self) -> Option<ShimEvent> {
        if self.is_over {
            return None;
        }
        while let Some(line) = self.next_line().await {
            let report = serde_json::from_slice(&line);
            // These two are never in the spool.
            if !matches!(report, Ok(Report::Halted(_) | Report::Exited(_))) {
                self.position += line.len() as u64 + 1;
            }
            match report {
                Ok(Report::Out { offset, time, line }) => {
                    let line = line.into_owned();
                    return Some(ShimEvent::Frame { offset, time_ms: time, line });
                }
                Ok(Report::In { offset, id, line, .. }) => {
                    return Some(ShimEvent::Sent { offset, id, line: line.into_owned() });
                }
                Ok(Report::Garbage { offset, reason, .. }) => {
                    return Some(ShimEvent::Garbage { offset, reason });
                }
                Ok(Report::Halted(record)) => {
                    return Some(ShimEvent::Halted(record.exit));
                }
                Ok(Report::Exited(exit)) => {
                    self.exit = Some(exit);
                    self.source = Source::Nothing;
                }
                // A newer version of the shim may send unknown reports.
                Ok(Report::Hello(_)) | Err(_) => {}
            }
        }
        let exit = self.last_words().await;
        self.is_over = true;
        Some(ShimEvent::Exited(exit))
    }

    /// Like `next`, but with a timeout: a shim that sends nothing for `silence` is ended with its
    /// agent. The records that it has already written are still returned.
    pub async fn next_within(&mut self, silence: Duration) -> Option<ShimEvent> {
        if let Source::Shim(_) = self.source {
            if let Ok(event) = timeout(silence, self.next()).await {
                return event;
            }
            let exit = hunted(&self.dir, self.agent).await;
            self.was_silent = true;
            self.exit = Some(read_exit(&self.dir).unwrap_or(ExitRecord { exit, ordered: false }));
            self.read_spool().await;
        }
        self.next().await
    }

    /// Whether the shim sent nothing for too long and was ended.
    pub fn was_silent(&self) -> bool {
        self.was_silent
    }

    /// The offset up to which the spool was read: the end of the last event's record.
    pub fn position(&self) -> u64 {
        self.position
    }

    async fn next_line(&mut self) -> Option<Vec<u8>> {
        loop {
            match &mut self.source {
                Source::Shim(stream) => {
                    if let Ok(Some(line)) = read_line(stream, &mut self.begun).await {
                        return Some(line);
                    }
                    // The shim was killed. Records that it wrote but did not send are read from the
                    // spool.
                    self.shim_ended().await;
                    self.read_spool().await;
                }
                Source::Spool(file) => {
                    if let Ok(Some(line)) = read_line(file, &mut self.begun).await {
                        return Some(line);
                    }
                    self.source = Source::Nothing;
                }
                Source::Nothing => return None,
            }
        }
    }

    /// Continues in the file at the offset where the shim stopped sending.
    pub(super) async fn read_spool(&mut self) {
        let position = SeekFrom::Start(self.position);
        let opened = async {
            let mut file = File::open(spool_path(&self.dir)).await?;
            file.seek(position).await?;
            io::Result::Ok(BufReader::with_capacity(256 * 1_024, file))
        };
        // Without a spool, the agent has written nothing.
        self.source = opened.await.map_or(Source::Nothing, Source::Spool);
        self.begun.clear();
    }

    async fn shim_ended(&mut self) {
        match &mut self.shim {
            Some(shim) => drop(timeout(SHIM_END_MAX, shim.wait()).await),
            None => drop(timeout(SHIM_END_MAX, until_gone(&self.dir)).await),
        }
    }

    /// The shim ends only after the agent's process tree, unless it was killed. In that case the
    /// tree is ended here.
    async fn last_words(&mut self) -> Exit {
        self.shim_ended().await;
        if let Some(record) = self.exit.take().or_else(|| read_exit(&self.dir)) {
            return record.exit;
        }
        hunted(&self.dir, self.agent).await
    }
}

/// Reads the next complete line, without its line end. An incomplete line stays in `begun`.
pub(super) async fn read_line(
    stream: &mut BufReader<impl AsyncRead + Unpin>,
    begun: &mut Vec<u8>,
) -> io::Result<Option<Vec<u8>>> {
    let room = (MESSAGE_BYTES_MAX + 1).saturating_sub(begun.len());
    stream.take(room as u64).read_until(b'\n', begun).await?;
    if begun.pop_if(|byte| *byte == b'\n').is_some() {
        return Ok(Some(std::mem::take(begun)));
    }
    Ok(None)
}
