//! Messages between people, workers and the orchestrator: durable and ordered.

use crate::{Actor, MessageId, PlanId, TaskId, Timestamp, WorkerId, limits};
use alloc::string::String;
use core::fmt;
use serde::{Deserialize, Serialize};

/// The sender or receiver of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "kind", content = "id", rename_all = "snake_case")]
pub enum Party {
    Person,
    Orchestrator,
    /// Only this worker. Messages that it has not read when it ends are dead letters.
    Worker(WorkerId),
    /// The current worker of the task, or that of a later attempt.
    Task(TaskId),
    /// An outside program of a person.
    Client,
}

impl From<Actor> for Party {
    fn from(actor: Actor) -> Self {
        match actor {
            Actor::Person => Self::Person,
            Actor::Client => Self::Client,
            Actor::Orchestrator => Self::Orchestrator,
            Actor::Worker(worker) => Self::Worker(worker),
        }
    }
}

impl fmt::Display for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Person => f.pad("person"),
            Self::Orchestrator => f.pad("orchestrator"),
            Self::Worker(worker) => worker.fmt(f),
            Self::Task(task) => task.fmt(f),
            Self::Client => f.pad("client"),
        }
    }
}

/// The addressee of a worker's message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "id", rename_all = "snake_case")]
pub enum Addressee {
    #[default]
    Orchestrator,
    /// The worker that delegated the task.
    Parent,
    Worker(WorkerId),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageKind {
    StatusUpdate,
    PermissionRequest,
    Question,
    Completion,
    Error,
    Answer,
    /// Information from a person or a sub-task.
    Update,
    /// A query about the reader's code. Its sender waits.
    Query,
}

impl MessageKind {
    /// Returns the default priority of this kind.
    pub fn priority(self) -> Priority {
        match self {
            Self::PermissionRequest => Priority::Critical,
            // The sender waits for an answer.
            Self::Error | Self::Completion | Self::Answer | Self::Query => Priority::High,
            Self::Question | Self::Update => Priority::Normal,
            Self::StatusUpdate => Priority::Low,
        }
    }

    /// Returns how long it may stay unread. Permission requests and answers never expire, because a
    /// worker waits for them.
    pub fn lasts_ms(self) -> Option<u64> {
        match self {
            Self::PermissionRequest | Self::Answer => None,
            Self::Question => Some(limits::QUESTION_WAIT_MS_MAX),
            // The query itself ends much earlier.
            Self::Query => Some(limits::QUERY_DEADLINE_MS_MAX),
            Self::StatusUpdate | Self::Completion | Self::Error | Self::Update => {
                Some(limits::MESSAGE_WAIT_MS_MAX)
            }
        }
    }

    /// Returns whether the sender waits for an answer of the reader.
    pub fn is_asked(self) -> bool {
        match self {
            Self::Question | Self::Query => true,
            Self::StatusUpdate
            | Self::PermissionRequest
            | Self::Completion
            | Self::Error
            | Self::Answer
            | Self::Update => false,
        }
    }
}

impl fmt::Display for MessageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::StatusUpdate => "status_update",
            Self::PermissionRequest => "permission_request",
            Self::Question => "question",
            Self::Completion => "completion",
            Self::Error => "error",
            Self::Answer => "answer",
            Self::Update => "update",
            Self::Query => "query",
        })
    }
}

/// The urgency of a message. The most urgent is the smallest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    Critical,
    High,
    Normal,
    Low,
}

impl Priority {
    pub const ALL: &[Self] = &[Self::Critical, Self::High, Self::Normal, Self::Low];

    /// Returns the age at which it is treated as high.
    pub fn patience_ms(self) -> u64 {
        match self {
            Self::Critical | Self::High => 0,
            Self::Normal => limits::NORMAL_PATIENCE_MS,
            Self::Low => limits::LOW_PATIENCE_MS,
        }
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Critical => "critical",
            Self::High => "high",
            Self::Normal => "normal",
            Self::Low => "low",
        })
    }
}

/// The work that a message belongs to: that of its sender, or of its reader if the sender is not a
/// worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageContext {
    pub plan: PlanId,
    pub task: TaskId,
    pub worker: Option<WorkerId>,
    /// The worker's checkout.
    pub worktree: Option<String>,
    /// The worker that delegated the task.
    pub parent: Option<WorkerId>,
    /// The task, if it was delegated.
    pub subtask: Option<TaskId>,
    pub depth: u32,
}

/// A message as it was sent. Later events record its delivery.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    pub id: MessageId,
    pub from: Party,
    pub to: Party,
    pub kind: MessageKind,
    pub priority: Priority,
    pub context: MessageContext,
    pub content: String,
    /// The first message of the conversation.
    pub thread: MessageId,
    pub reply_to: Option<MessageId>,
    /// The sender's idempotency key. A message with a known key is not queued again.
    pub key: Option<String>,
    pub expires_at: Option<Timestamp>,
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: &[MessageKind] = &[
        MessageKind::StatusUpdate,
        MessageKind::PermissionRequest,
        MessageKind::Question,
        MessageKind::Completion,
        MessageKind::Error,
        MessageKind::Answer,
        MessageKind::Update,
        MessageKind::Query,
    ];

    /// S4-067, S4-068: every kind has a priority.
    #[test]
    fn the_order_of_kinds_is_permission_completion_question_status() {
        let order = [
            MessageKind::PermissionRequest,
            MessageKind::Completion,
            MessageKind::Question,
            MessageKind::StatusUpdate,
        ];
        assert!(order.is_sorted_by(|a, b| a.priority() < b.priority()));
        assert_eq!(MessageKind::Error.priority(), Priority::High);
        assert!(Priority::ALL.is_sorted());
    }

    #[test]
    fn only_permission_requests_and_answers_never_expire() {
        for kind in KINDS {
            let waited_for = [MessageKind::PermissionRequest, MessageKind::Answer].contains(kind);
            assert_eq!(kind.lasts_ms().is_none(), waited_for, "{kind}");
        }
    }
}
