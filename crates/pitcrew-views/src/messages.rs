//! Messages between people, workers and the orchestrator, and their delivery times.
//!
//! `Messages` stores every message with its times, and every question to a person; names come from
//! the board on demand.
mod asked;
mod view;

pub use asked::{QuestionEnd, QuestionView};
pub use view::{DurationStats, MessageMetrics, MessageView, MessagesView};

use pitcrew_model::{Entry, Event, Message, MessageId, MessageStatus, PlanId, Timestamp, WorkerId};
use std::collections::BTreeMap;

/// The read model of all messages.
#[derive(Clone, Debug, Default)]
pub struct Messages {
    rows: BTreeMap<MessageId, Row>,
    questions: asked::Questions,
}

#[derive(Clone, Debug)]
struct Row {
    message: Message,
    status: MessageStatus,
    queued_at: Timestamp,
    /// When it was last in a prompt.
    delivered_at: Option<Timestamp>,
    ended_at: Option<Timestamp>,
    tries_count: u32,
    reader: Option<WorkerId>,
    reason: String,
}

/// A filter of messages. Empty: all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageFilter {
    pub plan: Option<PlanId>,
    /// Sent by it, addressed to it, or read by it.
    pub worker: Option<WorkerId>,
    pub status: Option<MessageStatus>,
}

impl Messages {
    /// Folds one entry. Total: an entry that does not fit is ignored.
    pub fn fold(&mut self, entry: &Entry) {
        self.questions.fold(entry);
        if let Event::MessageQueued(message) = &entry.event {
            let row = Row {
                message: message.clone(),
                status: MessageStatus::Queued,
                queued_at: entry.at,
                delivered_at: None,
                ended_at: None,
                tries_count: 0,
                reader: None,
                reason: String::new(),
            };
            self.rows.insert(message.id, row);
        } else if let Event::MessageMoved { message, to, reader, reason, .. } = &entry.event
            && let Some(row) = self.rows.get_mut(message)
        {
            row.move_to(*to, entry.at);
            row.reader = reader.or(row.reader);
            row.reason.clone_from(reason);
        }
    }
}

impl Row {
    fn move_to(&mut self, to: MessageStatus, at: Timestamp) {
        self.status = to;
        if to == MessageStatus::Delivered {
            self.delivered_at = Some(at);
            self.tries_count += 1;
        }
        if to.has_ended() {
            self.ended_at = Some(at);
        }
    }
}
