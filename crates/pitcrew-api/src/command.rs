//! The answers to a command: 200 with `Accepted`, or 409 with `Refused`.

use crate::Known;
use pitcrew_model::{Event, MessageId, PlanId, Rejection, RequestId, Seq, TaskId};
use serde::{Deserialize, Serialize};

/// The command is in the journal and survives a crash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    /// The last entry that it caused: `events?after=` continues from here.
    pub seq: Seq,
    pub created: Created,
}

/// What the command created.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Created {
    pub plan: Option<PlanId>,
    /// In the order of their numbers: dependencies come first.
    pub tasks: Vec<TaskId>,
    /// Requests that wait for a person.
    pub requests: Vec<RequestId>,
    pub messages: Vec<MessageId>,
}

impl Created {
    /// Collects what the events of a command created.
    pub fn from_events<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut created = Self::default();
        for event in events {
            if let Event::PlanCreated { plan, .. } = event {
                created.plan = Some(*plan);
            } else if let Event::TaskAdded { task, .. } = event {
                created.tasks.push(*task);
            } else if let Event::RequestOpened { request, .. } = event {
                created.requests.push(*request);
            } else if let Event::MessageQueued(message) = event {
                created.messages.push(message.id);
            }
        }
        created
    }
}

/// The command was rejected, and nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    pub rejection: Known<Rejection>,
    /// The text of the rejection, for clients that do not know its kind.
    pub message: String,
}

impl Refused {
    pub const HTTP_STATUS: u16 = 409;
}

impl From<Rejection> for Refused {
    fn from(rejection: Rejection) -> Self {
        Self { message: rejection.to_string(), rejection: rejection.into() }
    }
}
