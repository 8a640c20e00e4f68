//! The requests, as the events told of them.

use crate::plain;
use pitcrew_model::{
    Actor, Entry, Event, PlanId, RequestId, RequestKind, RequestStatus, TaskId, Timestamp, WorkerId,
};
use std::collections::BTreeMap;

/// The read model of everything that was asked of a person.
#[derive(Clone, Debug, Default)]
pub struct Inbox {
    pub(super) open: BTreeMap<RequestId, Request>,
    /// In the order in which they were closed.
    pub(super) closed: Vec<(RequestId, Request, Closing)>,
}

#[derive(Clone, Debug)]
pub(super) struct Request {
    pub plan: PlanId,
    pub task: Option<TaskId>,
    pub worker: Option<WorkerId>,
    pub kind: RequestKind,
    pub opened_at: Timestamp,
}

#[derive(Clone, Debug)]
pub(super) struct Closing {
    pub status: RequestStatus,
    pub at: Timestamp,
    pub text: Option<String>,
    pub actor: Actor,
}

impl Inbox {
    /// Takes in one entry. Total: what it cannot place is left out.
    pub fn fold(&mut self, entry: &Entry) {
        if let Event::RequestOpened { request, plan, task, worker, kind } = &entry.event {
            let opened = Request {
                plan: *plan,
                task: *task,
                worker: *worker,
                kind: kind.clone(),
                opened_at: entry.at,
            };
            self.open.insert(*request, opened);
        }
        if let Event::RequestMoved { request, to, text, actor, .. } = &entry.event
            && *to != RequestStatus::AtUser
            && let Some(closed) = self.open.remove(request)
        {
            let text = text.as_deref().map(plain::block);
            let closing = Closing { status: *to, at: entry.at, text, actor: *actor };
            self.closed.push((*request, closed, closing));
        }
    }

    pub fn open_count(&self) -> usize {
        self.open.len()
    }
}
