//! What the agent says, as the shim passes it on.

use crate::{
    ShimSpec,
    shim::{MESSAGE_BYTES_MAX, ProcessIds, Report, marker, read_exit},
    tail::Tail,
    tree::{self, ProcessId},
};
use pitcrew_model::{Exit, limits::OUTPUT_TAIL_BYTES};
use std::{
    io,
    path::Path,
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, BufReader},
    net::unix::OwnedReadHalf,
    process::Child,
};

/// How long the tree of a shim that was killed is hunted before its end is told anyway.
const HUNT_MS_MAX: u64 = 5_000;

/// Something that came from the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShimEvent {
    /// One line of its standard output. `offset` is where its record begins in the spool.
    Frame { offset: u64, line: String },
    /// Output that is no line of text: not UTF-8, longer than a frame may be, or cut off.
    Garbage { offset: u64, reason: String },
    /// Nothing of it lives any more. Always the last one.
    Exited(Exit),
}

/// The events of one agent, in order.
#[derive(Debug)]
pub struct ShimEvents {
    pub(super) stream: BufReader<OwnedReadHalf>,
    pub(super) spec: ShimSpec,
    pub(super) ids: ProcessIds,
    /// Our child, to be waited for at the end.
    pub(super) shim: Child,
    /// A report of which the end has not come yet.
    pub(super) begun: Vec<u8>,
    pub(super) exit: Option<Exit>,
    pub(super) is_over: bool,
}

impl ShimEvents {
    /// The next event; `None` after `Exited`. May be abandoned and called again without loss.
    ///
    /// When nobody calls this, the shim keeps what the agent says until there is too much of it,
    /// and then stops reading the agent.
    pub async fn next(&mut self) -> Option<ShimEvent> {
        if self.is_over {
            return None;
        }
        while self.exit.is_none() {
            let Ok(Some(line)) = read_line(&mut self.stream, &mut self.begun).await else { break };
            match serde_json::from_slice(&line) {
                Ok(Report::Out { offset, line, .. }) => {
                    return Some(ShimEvent::Frame { offset, line: line.into_owned() });
                }
                Ok(Report::Garbage { offset, reason, .. }) => {
                    return Some(ShimEvent::Garbage { offset, reason });
                }
                Ok(Report::Exited(exit)) => self.exit = Some(exit),
                // A shim of a newer version may say more than we understand.
                Ok(Report::In { .. } | Report::Hello(_)) | Err(_) => {}
            }
        }
        let exit = self.last_words().await;
        self.is_over = true;
        Some(ShimEvent::Exited(exit))
    }

    /// The shim never ends before its tree does, unless it was killed: then the tree is ours to
    /// end.
    async fn last_words(&mut self) -> Exit {
        self.shim.wait().await.ok();
        if let Some(exit) = self.exit.take().or_else(|| read_exit(&self.spec.dir)) {
            return exit;
        }
        let (dir, agent) = (self.spec.dir.clone(), self.ids.agent);
        let hunted = tokio::task::spawn_blocking(move || hunt(&dir, Some(agent)));
        hunted.await.unwrap_or(Exit { code: None, signal: None, stderr: String::new() })
    }
}

/// Ends what a killed shim left behind, by the mark on the agent's processes and, where it is
/// known, by the agent's identity.
pub(super) fn hunt(dir: &Path, agent: Option<ProcessId>) -> Exit {
    let marker = marker(dir);
    let find = || {
        let mut found = tree::marked(&marker);
        if let Some(agent) = agent.filter(|it| it.is_alive()) {
            found.insert(agent);
            found.extend(tree::descendants(agent.pid));
        }
        found
    };
    tree::end(find, Some(Instant::now() + Duration::from_millis(HUNT_MS_MAX)));
    let mut tail = Tail::new(OUTPUT_TAIL_BYTES);
    tail.push(&std::fs::read(dir.join("stderr.log")).unwrap_or_default());
    Exit { code: None, signal: None, stderr: tail.text() }
}

/// The next whole line, without its end; what has come of it so far stays in `begun`.
pub(super) async fn read_line(
    stream: &mut BufReader<OwnedReadHalf>,
    begun: &mut Vec<u8>,
) -> io::Result<Option<Vec<u8>>> {
    let room = (MESSAGE_BYTES_MAX + 1).saturating_sub(begun.len());
    stream.take(room as u64).read_until(b'\n', begun).await?;
    if begun.pop_if(|byte| *byte == b'\n').is_some() {
        return Ok(Some(std::mem::take(begun)));
    }
    Ok(None)
}
