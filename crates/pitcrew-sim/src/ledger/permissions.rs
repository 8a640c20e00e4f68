//! Permissions: no party approves more than it holds, or a denied action.

use super::{Ledger, place};
use crate::broken::hold;
use pitcrew_model::{
    Action, Actor, Grant, GrantId, GrantTarget, Matrix, RequestId, RequestKind, RequestStatus,
    Rule, ToolUse, Verdict, WorkerId,
};

impl Ledger {
    pub(super) fn matrix_applied(&mut self, matrix: &Matrix) {
        hold!(self.matrix != *matrix, "a matrix is stored when it changes", "{matrix:?}");
        self.matrix = matrix.clone();
        let waits = self.requests.iter().map(|it| self.due_since(it.status, it.since));
        let waits: Vec<_> = waits.collect();
        for (request, due) in self.requests.iter_mut().zip(waits) {
            request.due = due.filter(|_| request.tool.is_some());
        }
    }

    fn rule(&self, action: Option<&Action>) -> Rule {
        action.map_or(Rule::AutoApprove, |it| self.matrix.rule(it))
    }

    pub(super) fn granted(&mut self, grant: &Grant, request: RequestId, actor: Actor) {
        let id = grant.id;
        hold!(actor == Actor::Person, "only a person gives grants", "{id} by {actor}");
        let row = self.request(request);
        let (status, plan, tool) = (row.status, row.plan, row.tool.clone());
        hold!(status == RequestStatus::Approved, "a grant follows an approval", "{id}: {status}");
        let Some(tool) = tool else {
            hold!(false, "no grant exceeds what was asked", "{id}: {request} is not a tool use");
            return;
        };
        let same = grant.command == tool.command
            && grant.paths == tool.paths
            && grant.outside == tool.outside
            && !tool.partial;
        hold!(same, "no grant exceeds what was asked", "{id}: {grant:?}, {tool:?}");
        let mut denied = grant.actions.iter().filter(|it| self.rule(Some(it)) != Rule::AskUser);
        hold!(denied.next().is_none(), "no grant exceeds the grantor's rights", "{id}");
        if let GrantTarget::Plan(of) = grant.reach {
            hold!(of == plan, "no grant exceeds what was asked", "{id} reaches {of}");
        }
        let before = self.grants.insert(id, grant.clone());
        hold!(before.is_none(), "ids have no gap", "{id}");
        self.grants_given += 1;
    }

    pub(super) fn revoked(&mut self, grant: GrantId, actor: Actor) {
        let held = self.grants.remove(&grant);
        let is_over = match held.as_ref().map(|it| it.reach) {
            Some(GrantTarget::Task(task)) => self.tasks[place(task.0)].status.has_ended(),
            Some(GrantTarget::Plan(plan)) => self.plans[place(plan.0)].status.has_ended(),
            Some(GrantTarget::Always) | None => false,
        };
        let by_person = actor == Actor::Person;
        hold!(by_person || is_over, "only a person revokes grants", "{grant} by {actor}");
        hold!(held.is_some(), "a grant is revoked once", "{grant}");
    }

    /// Checks that a decision without a person follows from the matrix or from a grant.
    pub(super) fn tool_decided(
        &mut self,
        worker: WorkerId,
        option: Option<&str>,
        action: Option<&Action>,
        grant: Option<GrantId>,
    ) {
        let rule = self.rule(action);
        let held = grant.map(|it| self.grants.get(&it).cloned());
        let fits = match (option, held) {
            (None, _) => true,
            (Some("yes"), None) => rule == Rule::AutoApprove,
            (Some("yes"), Some(Some(grant))) => {
                self.grants_used += 1;
                rule == Rule::AskUser && self.is_reached(worker, grant.reach)
            }
            (Some("no"), None) => rule == Rule::AutoDeny,
            (Some(_), _) => false,
        };
        hold!(fits, "no grant exceeds the grantor's rights", "{worker}: {action:?}, {grant:?}");
    }

    fn is_reached(&mut self, worker: WorkerId, reach: GrantTarget) -> bool {
        let attempt = self.worker(worker).attempt;
        match reach {
            GrantTarget::Task(task) if self.matrix.limits.auto_approve_for_subtasks => {
                self.chain(self.attempts[place(attempt.0)].task).contains(&task)
            }
            GrantTarget::Task(task) => self.attempt(attempt).task == task,
            GrantTarget::Plan(plan) => self.plan_id_of(attempt) == plan,
            GrantTarget::Always => true,
        }
    }

    /// Checks a decision before the request moves.
    pub(super) fn check_verdict(&mut self, request: RequestId, to: RequestStatus, actor: Actor) {
        let word = self.word_for(to);
        let row = self.request(request);
        row.word = word;
        let (action, is_tool, due) = (row.action.clone(), row.tool.is_some(), row.due);
        let (rule, at) = (self.rule(action.as_ref()), self.at);
        match to {
            RequestStatus::Approved if is_tool => {
                let denied = rule == Rule::AutoDeny;
                hold!(!denied, "no grant exceeds the grantor's rights", "{request}: {action:?}");
                let by_rule = actor == Actor::Orchestrator;
                hold!(!by_rule || rule == Rule::AutoApprove, "ask_user waits", "{request}");
            }
            RequestStatus::Expired => {
                self.expired += 1;
                hold!(due.is_some_and(|it| it <= at), "what expires was due", "{request}");
            }
            RequestStatus::Approved
            | RequestStatus::Denied
            | RequestStatus::Requested
            | RequestStatus::AtParent
            | RequestStatus::AtOrchestrator
            | RequestStatus::AtUser
            | RequestStatus::Answered
            | RequestStatus::Withdrawn => {}
        }
    }

    /// Returns the decision that the agent must get.
    fn word_for(&self, status: RequestStatus) -> Option<&'static str> {
        let default = self.matrix.limits.permission_default;
        match status {
            RequestStatus::Approved => Some("yes"),
            RequestStatus::Expired if default == Verdict::Approve => Some("yes"),
            RequestStatus::Denied | RequestStatus::Expired => Some("no"),
            RequestStatus::Requested
            | RequestStatus::AtParent
            | RequestStatus::AtOrchestrator
            | RequestStatus::AtUser
            | RequestStatus::Answered
            | RequestStatus::Withdrawn => None,
        }
    }
}

pub(super) fn asked(kind: &RequestKind) -> (Option<ToolUse>, Option<Action>) {
    match kind {
        RequestKind::ToolUse { tool, action, .. } => (Some(tool.clone()), action.clone()),
        RequestKind::PlanExecution => (None, Some(Action::PlanExecution)),
        RequestKind::BranchMerge => (None, Some(Action::BranchMerge)),
        RequestKind::Budget(_) | RequestKind::Question { .. } => (None, None),
    }
}
