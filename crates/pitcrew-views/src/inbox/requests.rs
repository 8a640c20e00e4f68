//! The requests of the events.

use crate::plain;
use pitcrew_model::{
    Actor, Entry, Event, PlanId, RequestId, RequestKind, RequestStatus, TaskId, Timestamp, WorkerId,
};
use std::collections::BTreeMap;

/// The read model of all requests.
#[derive(Clone, Debug, Default)]
pub struct Inbox {
    pub(super) open: BTreeMap<RequestId, Request>,
    /// In the order of closing.
    pub(super) closed: Vec<(RequestId, Request, Closing)>,
    /// The tasks of each plan.
    tasks_counts: BTreeMap<PlanId, usize>,
}

#[derive(Clone, Debug)]
pub(super) struct Request {
    pub plan: PlanId,
    pub task: Option<TaskId>,
    pub worker: Option<WorkerId>,
    pub kind: RequestKind,
    pub opened_at: Timestamp,
    /// The tasks that its plan had then.
    pub tasks_count: usize,
    /// Who decides it now.
    pub status: RequestStatus,
    /// The parties that passed it on, and why.
    pub path: Vec<String>,
    /// The withdrawn request of an earlier worker that it repeats.
    pub replaces: Option<RequestId>,
}

#[derive(Clone, Debug)]
pub(super) struct Closing {
    pub status: RequestStatus,
    pub at: Timestamp,
    pub text: Option<String>,
    pub actor: Actor,
}

impl Inbox {
    /// Folds one entry. Total: an entry that does not fit is ignored.
    pub fn fold(&mut self, entry: &Entry) {
        if let Event::TaskAdded { plan, .. } = &entry.event {
            *self.tasks_counts.entry(*plan).or_default() += 1;
        }
        if let Event::RequestOpened { request, plan, task, worker, kind } = &entry.event {
            let opened = Request {
                plan: *plan,
                task: *task,
                worker: *worker,
                kind: kind.clone(),
                opened_at: entry.at,
                tasks_count: self.tasks_counts.get(plan).copied().unwrap_or_default(),
                status: RequestStatus::AtUser,
                path: Vec::new(),
                replaces: self.asked_before(*task, kind),
            };
            self.open.insert(*request, opened);
        }
        if let Event::RequestMoved { request, to, text, .. } = &entry.event
            && let Some(open) = self.open.get_mut(request)
        {
            open.status = *to;
            open.path.extend(came_by(*to, text.as_deref()));
        }
        if let Event::RequestMoved { request, to, text, actor, .. } = &entry.event
            && !to.is_open()
            && let Some(closed) = self.open.remove(request)
        {
            let text = text.as_deref().map(plain::block);
            let closing = Closing { status: *to, at: entry.at, text, actor: *actor };
            self.closed.push((*request, closed, closing));
        }
    }

    /// Returns the newest equal request of the same task that was not decided.
    fn asked_before(&self, task: Option<TaskId>, kind: &RequestKind) -> Option<RequestId> {
        let task = task?;
        let mut of_task = self.closed.iter().rev().filter(|it| it.1.task == Some(task));
        let (id, _, closing) = of_task.find(|it| it.1.kind.asks_the_same(kind))?;
        (closing.status == RequestStatus::Withdrawn).then_some(*id)
    }

    /// Returns the requests at a person; the others may get there.
    pub(super) fn at_person(&self) -> impl Iterator<Item = (&RequestId, &Request)> {
        self.open.iter().filter(|it| it.1.status == RequestStatus::AtUser)
    }

    pub fn open_count(&self) -> usize {
        self.at_person().count()
    }
}

/// Describes who had it and why it moved on; absent at the end.
fn came_by(to: RequestStatus, why: Option<&str>) -> Option<String> {
    let who = match to {
        RequestStatus::AtParent => "its parent got it first",
        RequestStatus::AtOrchestrator => "its parent has not decided it",
        RequestStatus::AtUser => "so you decide it",
        RequestStatus::Requested
        | RequestStatus::Approved
        | RequestStatus::Denied
        | RequestStatus::Answered
        | RequestStatus::Expired
        | RequestStatus::Withdrawn => return None,
    };
    let why = why.map(|it| format!(" ({})", plain::line(it))).unwrap_or_default();
    Some(format!("{who}{why}"))
}
