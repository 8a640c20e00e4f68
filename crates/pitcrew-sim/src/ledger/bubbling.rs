//! Escalation of requests: a sub-task's parent first, and each party decides only what it holds.

use super::{Ledger, Process, Task, place};
use crate::broken::hold;
use pitcrew_model::{
    Action, Actor, AttemptId, Grant, GrantTarget, RequestId, RequestKind, RequestStatus, Rule,
    Timestamp, ToolUse, WorkerId, WorkspaceMode, limits,
};

/// Counts of events.
#[derive(Debug, Default)]
pub struct Counts {
    pub decided: u64,
    pub passed_over: u64,
    pub cut_short: u64,
}

impl Ledger {
    /// Only permission requests of sub-tasks start at a party other than a person.
    pub(super) fn begins(&self, worker: Option<WorkerId>, kind: &RequestKind) -> RequestStatus {
        let is_tool = matches!(kind, RequestKind::ToolUse { .. });
        match worker.filter(|_| is_tool).and_then(|it| self.parent_of(it)) {
            Some(_) => RequestStatus::Requested,
            None => RequestStatus::AtUser,
        }
    }

    /// Returns when a permission request with this status expires.
    pub(super) fn due_at(&self, status: RequestStatus) -> Option<Timestamp> {
        self.due_since(status, self.at)
    }

    pub(super) fn due_since(&self, status: RequestStatus, since: Timestamp) -> Option<Timestamp> {
        let after = match status {
            RequestStatus::AtUser => self.matrix.limits.permission_timeout_ms,
            RequestStatus::AtParent => Some(limits::PARENT_DECIDES_MS),
            RequestStatus::Requested
            | RequestStatus::AtOrchestrator
            | RequestStatus::Approved
            | RequestStatus::Denied
            | RequestStatus::Answered
            | RequestStatus::Withdrawn
            | RequestStatus::Expired => None,
        };
        after.map(|it| since.plus(it))
    }

    fn parent_of(&self, worker: WorkerId) -> Option<AttemptId> {
        let attempt = self.workers[place(worker.0)].attempt;
        self.task_of(attempt).part.as_ref().map(|it| it.parent)
    }

    /// Returns the parent of the worker.
    pub fn parent(&self, worker: WorkerId) -> Option<WorkerId> {
        let known = (1..=self.workers.len() as u64).contains(&worker.0);
        let parent = if known { self.parent_of(worker) } else { None };
        parent.map(|it| self.attempts[place(it.0)].worker)
    }

    pub fn is_child(&self, worker: WorkerId) -> bool {
        self.parent(worker).is_some()
    }

    /// Returns the requests at any parent.
    pub fn at_parents(&self) -> Vec<RequestId> {
        let all = self.requests.iter().zip(1..);
        all.filter(|it| it.0.status == RequestStatus::AtParent).map(|it| RequestId(it.1)).collect()
    }

    /// Returns the requests at an attempt.
    pub fn asked_of(&self, attempt: AttemptId) -> impl Iterator<Item = RequestId> {
        let all = self.requests.iter().zip(1..);
        let stands = move |(it, _): &(&super::Request, u64)| {
            it.status == RequestStatus::AtParent
                && it.worker.and_then(|it| self.parent_of(it)) == Some(attempt)
        };
        all.filter(stands).map(|it| RequestId(it.1))
    }

    /// Checks who moves a request, before it moves.
    pub(super) fn check_way(&mut self, request: RequestId, to: RequestStatus, actor: Actor) {
        let (at, row) = (self.at, &self.requests[place(request.0)]);
        let (from, due) = (row.status, row.due);
        let parent = row.worker.and_then(|it| self.parent_of(it));
        if let Actor::Worker(worker) = actor {
            let own = parent.is_some_and(|it| self.attempts[place(it.0)].worker == worker);
            let stands = own && from == RequestStatus::AtParent;
            let decides = matches!(to, RequestStatus::Approved | RequestStatus::Denied);
            hold!(stands && decides, "an agent decides what stands at it", "{request}: {worker}");
            self.bubbling.decided += 1;
        }
        let by_parent = matches!(actor, Actor::Worker(_)) && to == RequestStatus::Approved;
        if by_parent || to == RequestStatus::AtParent {
            let held = parent.is_some_and(|it| self.holds(it, request));
            hold!(held, "no grant exceeds the grantor's rights", "{request} at {parent:?}");
        }
        if from == RequestStatus::AtParent && to == RequestStatus::AtOrchestrator {
            let late = due.is_some_and(|it| it <= at);
            let worker = parent.map(|it| self.attempts[place(it.0)].worker);
            let read = worker.is_some_and(|it| self.worker(it).shown.contains(&request));
            hold!(late || read, "a parent has its time to decide", "{request}");
            self.bubbling.passed_over += 1;
        }
    }

    /// Returns whether an attempt has the requested permission itself, according to the facts.
    fn holds(&self, attempt: AttemptId, request: RequestId) -> bool {
        let row = &self.requests[place(request.0)];
        let Some(tool) = &row.tool else { return false };
        let above = &self.attempts[place(attempt.0)];
        let lives = self.workers[place(above.worker.0)].process == Process::Alive;
        let is_change = matches!(tool.kind.as_str(), "edit" | "delete");
        let actions = if is_change {
            changes(self.task_of(attempt), tool)
        } else {
            row.action.iter().cloned().collect()
        };
        let may = |it: &Action| match self.matrix.rule(it) {
            Rule::AutoApprove => true,
            Rule::AskUser => self.has_grant(attempt, it, tool),
            Rule::AutoDeny => false,
        };
        above.outcome.is_none() && lives && actions.iter().all(may)
    }

    fn has_grant(&self, attempt: AttemptId, action: &Action, tool: &ToolUse) -> bool {
        let task = self.attempts[place(attempt.0)].task;
        let hands_down = self.matrix.limits.auto_approve_for_subtasks;
        let reaches = |reach: GrantTarget| match reach {
            GrantTarget::Task(of) => of == task || hands_down && self.chain(task).contains(&of),
            GrantTarget::Plan(of) => of == self.plan_id_of(attempt),
            GrantTarget::Always => true,
        };
        let covers = |it: &Grant| {
            it.actions.contains(action)
                && it.command == tool.command
                && tool.paths.iter().all(|path| it.paths.contains(path))
                && tool.outside.iter().all(|path| it.outside.contains(path))
        };
        self.grants.values().any(|it| reaches(it.reach) && covers(it))
    }
}

/// Returns the actions of a change in the task's checkout.
fn changes(task: &Task, tool: &ToolUse) -> Vec<Action> {
    let mut actions = Vec::new();
    let within = |path: &String| task.files.iter().any(|it| it.contains(path));
    let may_change = match task.part.as_ref().map(|it| it.workspace) {
        None | Some(WorkspaceMode::Isolated) => true,
        Some(WorkspaceMode::ReadOnly) => tool.paths.is_empty(),
        Some(WorkspaceMode::Shared) => tool.paths.iter().all(within),
    };
    if !tool.outside.is_empty() || !may_change {
        actions.push(Action::EditsOutsideWorktree);
    }
    if !tool.paths.is_empty() {
        let deletes = tool.kind == "delete";
        let (delete, edit) = (Action::FileDeletionInWorktree, Action::FileEditsInWorktree);
        actions.push(if deletes { delete } else { edit });
    }
    if actions.is_empty() {
        actions.push(Action::OtherTool);
    }
    actions
}
