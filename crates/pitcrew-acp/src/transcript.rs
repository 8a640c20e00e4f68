//! The readable conversation with an agent, built from the spooled frames.

mod builder;
mod command_output;

pub(crate) use builder::TranscriptBuilder;
use pitcrew_process::{SpoolReader, SpoolRecord};
use std::{
    io,
    path::{Path, PathBuf},
};

/// One entry of the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The offset in the spool of the frame that started it.
    pub offset: u64,
    /// In milliseconds since the epoch.
    pub time_ms: u64,
    pub kind: LineKind,
    /// May have several lines. Terminal escapes are removed.
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    Prompt,
    Said,
    Thought,
    ToolStarted,
    ToolDone,
    ToolFailed,
    /// The result of a tool.
    Output,
    PermissionAsked,
    PermissionAnswered,
    /// The agent was asked to end its turn.
    Cancelled,
    TurnEnded,
    /// Output of the agent that is not protocol.
    Noise,
}

/// The spool could not be read.
#[derive(Debug, thiserror::Error)]
#[error("failed to read the spool `{}`", path.display())]
pub struct TranscriptError {
    pub path: PathBuf,
    #[source]
    pub source: io::Error,
}

/// A spool that is read as it grows.
pub struct Transcript {
    path: PathBuf,
    spool: SpoolReader,
    builder: TranscriptBuilder,
}

/// The conversation from `from_offset` on, including a message at the end that may still grow.
///
/// If `from_offset` is the offset of a line plus one, everything after that line is returned.
pub fn transcript(spool: &Path, from_offset: u64) -> Result<Vec<Line>, TranscriptError> {
    let mut transcript = Transcript::open(spool)?;
    let mut lines = transcript.read()?;
    lines.extend(transcript.close());
    lines.retain(|it| it.offset >= from_offset);
    Ok(lines)
}

impl Transcript {
    pub fn open(spool: &Path) -> Result<Self, TranscriptError> {
        let path = spool.to_owned();
        match SpoolReader::open(spool) {
            Ok(spool) => Ok(Self { path, spool, builder: TranscriptBuilder::default() }),
            Err(source) => Err(TranscriptError { path, source }),
        }
    }

    /// The lines that were completed since the last call.
    pub fn read(&mut self) -> Result<Vec<Line>, TranscriptError> {
        let failed = |source| TranscriptError { path: self.path.clone(), source };
        while let Some(record) = self.spool.read().map_err(failed)? {
            match record {
                SpoolRecord::Output { offset, time_ms, line } => {
                    self.builder.received(offset, time_ms, &line);
                }
                SpoolRecord::Input { offset, time_ms, line, .. } => {
                    self.builder.sent(offset, time_ms, &line);
                }
                SpoolRecord::Garbage { offset, time_ms, reason } => {
                    self.builder.noise(offset, time_ms, &reason);
                }
            }
        }
        Ok(self.builder.take_lines())
    }

    /// The message at the end that may still grow.
    pub fn open_message(&self) -> Option<Line> {
        self.builder.open_message()
    }

    /// The lines that nothing completes any more: of a conversation that has ended.
    pub fn close(&mut self) -> Vec<Line> {
        self.builder.close()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::io::Write;

    fn said(offset: u64, text: &str) -> String {
        let frame = json!({"method": "session/update", "params": {"update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}}});
        let line = frame.to_string();
        format!("{}\n", json!({"out": {"offset": offset, "time": 7, "line": line}}))
    }

    fn texts(lines: &[Line]) -> Vec<&str> {
        lines.iter().map(|it| it.text.as_str()).collect()
    }

    #[test]
    fn a_growing_spool_is_read_incrementally() {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        let mut transcript = Transcript::open(file.path()).expect("a spool");
        let (first, second) = (said(0, "one "), said(50, "two"));
        let (start, rest) = second.split_at(20);
        write!(file, "{first}{start}").expect("room");
        assert!(transcript.read().expect("lines").is_empty(), "the message may still grow");
        let open = transcript.open_message().expect("a message");
        assert_eq!((open.text.as_str(), open.offset, open.time_ms), ("one", 0, 7));
        let noise = json!({"garbage": {"offset": 99, "time": 8, "reason": "not UTF-8"}});
        writeln!(file, "{rest}{noise}").expect("room");
        assert_eq!(texts(&transcript.read().expect("lines")), ["one two", "not UTF-8"]);
        assert!(transcript.read().expect("lines").is_empty());
        assert_eq!(texts(&super::transcript(file.path(), 1).expect("lines")), ["not UTF-8"]);
    }
}
