//! Messages between workers, people and the orchestrator.

use super::line::{About, LineDraft};
use crate::plain;
use pitcrew_model::{Actor, Message, MessageId, MessageKind, MessageStatus, Party, TaskId};

pub fn queued(message: &Message) -> LineDraft {
    let (actor, about) = match message.from {
        Party::Worker(worker) => (Actor::Worker(worker), About::Worker(worker)),
        Party::Person | Party::Client => (Actor::Person, About::Task(message.context.task)),
        Party::Orchestrator | Party::Task(_) => {
            (Actor::Orchestrator, About::Task(message.context.task))
        }
    };
    let words = plain::line(&message.content);
    let text = match (message.to, message.kind) {
        (Party::Orchestrator, MessageKind::StatusUpdate) => words,
        (to, kind) => format!("{} to {to}, {kind}: {words}", message.id),
    };
    LineDraft::new(actor, about, text)
}

/// Describes only messages that were not processed.
pub fn moved(
    message: MessageId,
    task: TaskId,
    to: MessageStatus,
    reason: &str,
) -> Option<LineDraft> {
    match to {
        MessageStatus::Dead | MessageStatus::Expired => {
            let text = format!("{message} was not read: {}", plain::line(reason));
            Some(LineDraft::new(Actor::Orchestrator, About::Task(task), text))
        }
        MessageStatus::Queued | MessageStatus::Delivered | MessageStatus::Processed => None,
    }
}
