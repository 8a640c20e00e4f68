//! The conversation of one attempt with its agent.

use super::{
    Said,
    order::{Call, Phase, Place},
};
use crate::serve::Doors;
use pitcrew_api::LogSource;
use pitcrew_model::{AttemptId, Timestamp};
use pitcrew_runtime::{Line, LineKind, Transcript};

/// A conversation, read as far as it went.
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

/// What was completed since the last look, and where the message stands that may still grow.
#[derive(Default)]
pub struct Heard {
    pub lines: Vec<(Place, Call, Said)>,
    pub growing: Option<Place>,
}

/// Whether a conversation may go on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Growth {
    Grows,
    Over,
}

impl Talk {
    /// Every reader counts the same lines, whenever it comes: a message that may still grow is
    /// left for later.
    pub fn read(&mut self, doors: &Doors, attempt: AttemptId, growth: Growth) -> Heard {
        let opened = match std::mem::replace(&mut self.reading, Reading::Finished) {
            // An attempt whose agent has not started has no conversation yet.
            Reading::NotBegun => doors.orchestrator.transcript(attempt).ok().map(Box::new),
            Reading::Open(transcript) => Some(transcript),
            Reading::Finished => return Heard::default(),
        };
        let Some(mut transcript) = opened else {
            if growth == Growth::Grows {
                self.reading = Reading::NotBegun;
            }
            return Heard::default();
        };
        // What cannot be read now may be next time.
        let mut lines = transcript.read().unwrap_or_default();
        // The line of its start has told of it already. Left out before anything is counted.
        lines.retain(|it| it.kind != LineKind::ToolDone);
        let mut growing = transcript.open_message();
        if growth == Growth::Over {
            lines.extend(growing.take());
        }
        let lines = lines.into_iter().map(|it| (self.place(&it), call(&it), said(it))).collect();
        let growing = growing.map(|it| self.place(&it));
        if growth == Growth::Grows {
            self.reading = Reading::Open(transcript);
        }
        Heard { lines, growing }
    }

    /// The prompt is the first line of its turn, and its end the last one.
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

/// Agents call our tools by names that have ours in them.
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

fn said(line: Line) -> Said {
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
    Said { at: Timestamp(line.time_ms), source, text, fact: None }
}
