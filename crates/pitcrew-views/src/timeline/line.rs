//! The line and its subject.

use super::events;
use crate::{Board, plain};
use pitcrew_model::{Actor, AttemptId, Entry, PlanId, RequestId, Seq, TaskId, Timestamp, WorkerId};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A line of the timeline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    pub seq: Seq,
    pub at: Timestamp,
    /// The actor.
    pub actor: Actor,
    pub plan: Option<PlanId>,
    pub task: Option<TaskId>,
    /// The display name of the subject: `task-3 core-types`.
    pub subject: String,
    pub text: String,
}

/// `[orchestrator] task-3 core-types: queued -> starting (a slot is free)`
impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] {}: {}", self.actor, self.subject, self.text)
    }
}

/// Returns the line of an entry; absent if it does not matter to people.
pub fn line(board: &Board, entry: &Entry) -> Option<Line> {
    let said = events::say(board, entry)?;
    let subject = said.about.resolve(board);
    Some(Line {
        seq: entry.seq,
        at: entry.at,
        actor: said.actor,
        plan: subject.plan,
        task: subject.task,
        subject: plain::line(&subject.name),
        text: said.text,
    })
}

/// The text of an entry, before names are resolved.
pub(super) struct LineDraft {
    pub actor: Actor,
    pub about: About,
    pub text: String,
}

#[derive(Clone, Copy)]
pub(super) enum About {
    Workspace,
    Plan(PlanId),
    Task(TaskId),
    Attempt(AttemptId),
    Worker(WorkerId),
    Request(RequestId),
}

pub(super) struct Subject {
    pub plan: Option<PlanId>,
    pub task: Option<TaskId>,
    pub name: String,
}

impl LineDraft {
    pub fn new(actor: Actor, about: About, text: impl Into<String>) -> Self {
        Self { actor, about, text: text.into() }
    }
}

impl About {
    pub fn resolve(self, board: &Board) -> Subject {
        match self {
            Self::Workspace => Subject { plan: None, task: None, name: "workspace".to_owned() },
            Self::Plan(plan) => Subject::of_plan(plan, board),
            Self::Task(task) => Subject::of_task(task, board),
            Self::Attempt(attempt) => match board.attempt(attempt) {
                Some(it) => Subject::of_task(it.task, board),
                None => Subject { plan: None, task: None, name: attempt.to_string() },
            },
            Self::Worker(worker) => match board.worker(worker) {
                Some(it) => Subject::of_task(it.task, board),
                None => Subject { plan: None, task: None, name: worker.to_string() },
            },
            Self::Request(request) => match board.asked(request) {
                Some(asked) => match asked.task {
                    Some(task) => Subject::of_task(task, board),
                    None => Subject::of_plan(asked.plan, board),
                },
                None => Subject { plan: None, task: None, name: request.to_string() },
            },
        }
    }
}

impl Subject {
    fn of_plan(plan: PlanId, board: &Board) -> Self {
        let name = match board.plan(plan) {
            Some(it) => format!("{plan} {}", it.head.name),
            None => plan.to_string(),
        };
        Self { plan: Some(plan), task: None, name }
    }

    fn of_task(task: TaskId, board: &Board) -> Self {
        let plan = board.task(task).map(|it| it.plan);
        Self { plan, task: Some(task), name: board.task_name(task) }
    }
}
