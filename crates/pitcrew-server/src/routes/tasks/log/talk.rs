//! The conversation of one attempt with its agent.

use super::{
    LogEntry,
    merge::{Call, Phase, Place},
};
use crate::serve::Doors;
use pitcrew_api::LogSource;
use pitcrew_model::{AttemptId, Timestamp};
use pitcrew_runtime::{Line, LineKind, Transcript};

/// A conversation, read up to a position.
#[derive(Default)]
pub struct Talk {
    reading: Reading,
    phase: Phase,
}

#[derive(Default)]
enum Reading {
    #[default]
    NotBegun,
    Open(Box<Transcript>),
    Finished,
}

/// The lines completed since the last poll, and the position of the message that may still grow.
#[derive(Default)]
pub struct NewLines {
    pub lines: Vec<(Place, Call, LogEntry)>,
    pub growing: Option<Place>,
}

/// Whether a conversation may continue.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Growth {
    Grows,
    Over,
}

impl Talk {
    /// Every reader counts the same lines: a message that may still grow is left for later.
    pub fn read(&mut self, doors: &Doors, attempt: AttemptId, growth: Growth) -> NewLines {
        let opened = match std::mem::replace(&mut self.reading, Reading::Finished) {
            // An attempt whose agent has not started has no conversation yet.
            Reading::NotBegun => doors.orchestrator.transcript(attempt).ok().map(Box::new),
            Reading::Open(transcript) => Some(transcript),
            Reading::Finished => return NewLines::default(),
        };
        let Some(mut transcript) = opened else {
            if growth == Growth::Grows {
                self.reading = Reading::NotBegun;
            }
            return NewLines::default();
        };
        // If reading fails, the next poll tries again.
        let mut lines = transcript.read().unwrap_or_default();
        // The line for the start of the call contains this too. It is removed before lines are
        // counted.
        lines.retain(|it| it.kind != LineKind::ToolDone);
        let growing = match growth {
            Growth::Grows => transcript.open_message(),
            Growth::Over => {
                lines.extend(transcript.close());
                None
            }
        };
        let lines = lines.into_iter().map(|it| (self.place(&it), call(&it), said(it))).collect();
        let growing = growing.map(|it| self.place(&it));
        if growth == Growth::Grows {
            self.reading = Reading::Open(transcript);
        }
        NewLines { lines, growing }
    }

    /// The prompt is the first line of its turn, and the end of the turn the last one.
    fn place(&mut self, line: &Line) -> Place {
        if line.kind == LineKind::Prompt {
            self.phase.turn_begins();
        }
        let place = self.phase.at(Timestamp(line.time_ms));
        if line.kind == LineKind::TurnEnded {
            self.phase.turn_ends();
        }
        place
    }
}

/// The agents' names for our tools contain our names.
fn call(line: &Line) -> Call {
    match line.kind {
        LineKind::ToolStarted => {
            let is_ours = pitcrew_mcp::tools().iter().any(|it| line.text.contains(it.name));
            if is_ours { Call::Begins } else { Call::None }
        }
        LineKind::ToolDone | LineKind::ToolFailed | LineKind::Output | LineKind::TurnEnded => {
            Call::Ends
        }
        LineKind::Prompt
        | LineKind::Said
        | LineKind::Thought
        | LineKind::PermissionAsked
        | LineKind::PermissionAnswered
        | LineKind::Cancelled
        | LineKind::Noise => Call::None,
    }
}

fn said(line: Line) -> LogEntry {
    let source = match line.kind {
        LineKind::Prompt => LogSource::Prompt,
        LineKind::Said => LogSource::Agent,
        LineKind::Thought => LogSource::Thought,
        LineKind::ToolStarted
        | LineKind::ToolDone
        | LineKind::ToolFailed
        | LineKind::Output
        | LineKind::PermissionAsked => LogSource::Tool,
        LineKind::PermissionAnswered | LineKind::Cancelled | LineKind::TurnEnded => {
            LogSource::Orchestrator
        }
        LineKind::Noise => LogSource::Stderr,
    };
    let text = match line.kind {
        LineKind::ToolFailed => format!("failed: {}", line.text),
        LineKind::PermissionAsked => format!("asks for permission: {}", line.text),
        LineKind::PermissionAnswered => format!("permission: {}", line.text),
        LineKind::Cancelled => "the turn is interrupted".to_owned(),
        LineKind::TurnEnded => format!("the turn ended: {}", line.text),
        LineKind::Prompt
        | LineKind::Said
        | LineKind::Thought
        | LineKind::ToolStarted
        | LineKind::ToolDone
        | LineKind::Output
        | LineKind::Noise => line.text,
    };
    LogEntry { at: Timestamp(line.time_ms), source, text, fact: None }
}
