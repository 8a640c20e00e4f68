//! Questions of agents to a person: requests in the inbox, and part of the conversation.

use super::MessageFilter;
use crate::{board::Board, plain};
use pitcrew_model::{
    Actor, Entry, Event, PlanId, RequestId, RequestKind, RequestStatus, TaskId, Timestamp, WorkerId,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The most questions in a view; the newest ones.
const LISTED_MAX: usize = 500;

/// A question to a person, and its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionView {
    pub request: RequestId,
    pub asked_at: Timestamp,
    pub plan: PlanId,
    pub plan_name: String,
    pub task: Option<TaskId>,
    pub task_key: String,
    /// The display name.
    #[serde(default)]
    pub task_name: Option<String>,
    pub worker: Option<WorkerId>,
    pub question: String,
    pub status: RequestStatus,
    /// Absent while it is open.
    pub end: Option<QuestionEnd>,
}

/// The answer, or why there is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionEnd {
    pub at: Timestamp,
    pub by: Actor,
    pub text: Option<String>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Questions {
    rows: BTreeMap<RequestId, QuestionView>,
}

impl Questions {
    pub fn fold(&mut self, entry: &Entry) {
        if let Event::RequestOpened { request, plan, task, worker, kind } = &entry.event
            && let RequestKind::Question { question } = kind
        {
            let row = QuestionView {
                request: *request,
                asked_at: entry.at,
                plan: *plan,
                plan_name: String::new(),
                task: *task,
                task_key: String::new(),
                task_name: None,
                worker: *worker,
                question: plain::block(question),
                status: RequestStatus::AtUser,
                end: None,
            };
            self.rows.insert(*request, row);
        } else if let Event::RequestMoved { request, to, text, actor, .. } = &entry.event
            && let Some(row) = self.rows.get_mut(request)
        {
            row.status = *to;
            let text = text.as_deref().map(plain::block);
            row.end = (!to.is_open()).then_some(QuestionEnd { at: entry.at, by: *actor, text });
        }
    }

    /// A filter by message status excludes questions.
    pub fn view(&self, board: &Board, wanted: &MessageFilter) -> Vec<QuestionView> {
        let is_wanted = |it: &&QuestionView| {
            wanted.status.is_none()
                && wanted.plan.is_none_or(|plan| it.plan == plan)
                && wanted.worker.is_none_or(|worker| it.worker == Some(worker))
        };
        let rows: Vec<&QuestionView> = self.rows.values().filter(is_wanted).collect();
        let newest = &rows[rows.len().saturating_sub(LISTED_MAX)..];
        newest.iter().map(|it| named(it, board)).collect()
    }
}

fn named(row: &QuestionView, board: &Board) -> QuestionView {
    let plan = board.plan(row.plan);
    let task = row.task.and_then(|it| board.task(it));
    QuestionView {
        plan_name: plan.map(|it| plain::line(&it.head.name)).unwrap_or_default(),
        task_key: task.map(|it| plain::line(&it.spec.key)).unwrap_or_default(),
        task_name: row.task.map(|it| board.task_name(it)),
        ..row.clone()
    }
}
