//! The conversation of one attempt with its agent.

use super::Said;
use crate::serve::Doors;
use pitcrew_api::LogSource;
use pitcrew_model::{AttemptId, Timestamp};
use pitcrew_runtime::{Line, LineKind, Transcript};

/// A conversation, read as far as it went.
#[derive(Default)]
pub enum Talk {
    #[default]
    NotBegun,
    Open(Box<Transcript>),
    Finished,
}

/// Whether a conversation may go on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Growth {
    Grows,
    Over,
}

impl Talk {
    /// What was completed since the last look. Every reader counts the same lines, whenever it
    /// comes: a message that may still grow is left for later.
    pub fn read(&mut self, doors: &Doors, attempt: AttemptId, growth: Growth) -> Vec<Said> {
        let opened = match std::mem::replace(self, Self::Finished) {
            // An attempt whose agent has not started has no conversation yet.
            Self::NotBegun => doors.orchestrator.transcript(attempt).ok().map(Box::new),
            Self::Open(transcript) => Some(transcript),
            Self::Finished => return Vec::new(),
        };
        let Some(mut transcript) = opened else {
            if growth == Growth::Grows {
                *self = Self::NotBegun;
            }
            return Vec::new();
        };
        // What cannot be read now may be next time.
        let mut lines = transcript.read().unwrap_or_default();
        // The line of its start has told of it already. Left out before anything is counted.
        lines.retain(|it| it.kind != LineKind::ToolDone);
        match growth {
            Growth::Grows => *self = Self::Open(transcript),
            Growth::Over => lines.extend(transcript.open_message()),
        }
        lines.into_iter().map(said).collect()
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
