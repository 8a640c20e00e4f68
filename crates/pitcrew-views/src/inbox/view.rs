//! Joins requests with their context.

use super::requests::{Closing, Inbox, Request};
use crate::{board::Board, board::Plan, plain};
use pitcrew_model::{
    Action, Actor, CommitId, GrantScope, MessageKind, PermissionOption, PlanBase, PlanId, Priority,
    RepoPath, RequestId, RequestKind, RequestStatus, Spending, TaskId, TaskStatus, TaskWork,
    Timestamp, ToolUse, WorkerId, is_grantable,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The most closed requests in a view; the newest ones.
const CLOSED_LISTED_MAX: usize = 100;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InboxView {
    /// Oldest first.
    pub open: Vec<OpenRequest>,
    /// Newest first; not all of them.
    pub closed: Vec<ClosedRequest>,
    pub closed_count: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenRequest {
    pub id: RequestId,
    pub opened_at: Timestamp,
    pub plan: PlanId,
    pub plan_name: String,
    pub task: Option<TaskId>,
    pub task_key: Option<String>,
    /// The display name: `subtask-4 sketch`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_name: Option<String>,
    pub worker: Option<WorkerId>,
    /// The worker that saved the plan, and its task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved_by: Option<(WorkerId, TaskId)>,
    /// The name by which the agent introduced itself.
    pub agent: Option<String>,
    /// The request in one line.
    pub title: String,
    /// The parties that had it before, for a sub-task.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<String>,
    /// The withdrawn request of an ended worker that it repeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<RequestId>,
    pub ask: Ask,
}

/// The subject of the decision. Control characters are escaped, so that everything is visible.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Ask {
    /// Everything that the plan will execute, verbatim.
    PlanExecution {
        base: Option<PlanBase>,
        /// What the base will be.
        #[serde(default)]
        start: PlannedStart,
        setup: Vec<String>,
        tasks: Vec<PlannedTask>,
        /// How many of them the plan had when the request was opened.
        #[serde(default)]
        tasks_asked: usize,
    },
    BranchMerge {
        base: Option<PlanBase>,
        head: Option<CommitId>,
        completed: Vec<TaskId>,
        /// Tasks that are not part of the merge.
        missing: Vec<TaskId>,
        files_count: u64,
        insertions: u64,
        deletions: u64,
    },
    ToolUse {
        tool: ToolUse,
        options: Vec<PermissionOption>,
        region: Vec<RepoPath>,
        checkout: Option<String>,
        /// The strictest action.
        #[serde(default)]
        action: Option<Action>,
        /// All actions that an approval allows.
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        actions: BTreeSet<Action>,
        /// The possible scopes of an approval.
        #[serde(default)]
        scopes: Vec<GrantScope>,
    },
    Budget {
        spending: Spending,
    },
    Question {
        question: String,
        prompt: Option<String>,
    },
}

impl Ask {
    /// Returns the priority that a message to the orchestrator would have.
    pub fn priority(&self) -> Priority {
        match self {
            Self::PlanExecution { .. }
            | Self::BranchMerge { .. }
            | Self::ToolUse { .. }
            | Self::Budget { .. } => MessageKind::PermissionRequest.priority(),
            Self::Question { .. } => MessageKind::Question.priority(),
        }
    }
}

/// Where a plan will start from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedStart {
    /// Absent: what is checked out.
    pub base: Option<String>,
    /// It does not start with uncommitted work.
    pub clean: bool,
    /// Uncommitted paths that it starts with even if they look like secrets.
    pub include: Vec<RepoPath>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedTask {
    pub id: TaskId,
    pub key: String,
    pub agent: String,
    pub work: TaskWork,
    pub region: Vec<RepoPath>,
    pub depends_on: Vec<TaskId>,
    pub checks: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClosedRequest {
    pub id: RequestId,
    pub opened_at: Timestamp,
    pub closed_at: Timestamp,
    pub plan: PlanId,
    pub task: Option<TaskId>,
    pub worker: Option<WorkerId>,
    pub title: String,
    pub status: RequestStatus,
    /// The answer to a question, or the reason for a decision.
    pub text: Option<String>,
    pub decided_by: Actor,
}

impl Inbox {
    pub fn view(&self, board: &Board) -> InboxView {
        let newest = self.closed.iter().rev().take(CLOSED_LISTED_MAX);
        InboxView {
            open: self.at_person().map(|(id, it)| OpenRequest::new(*id, it, board)).collect(),
            closed: newest.map(|(id, it, closing)| ClosedRequest::new(*id, it, closing)).collect(),
            closed_count: self.closed.len() as u64,
        }
    }
}

impl OpenRequest {
    fn new(id: RequestId, request: &Request, board: &Board) -> Self {
        let task = request.task.and_then(|it| board.task(it));
        let plan = board.plan(request.plan);
        Self {
            id,
            opened_at: request.opened_at,
            plan: request.plan,
            plan_name: plan.map(|it| plain::line(&it.head.name)).unwrap_or_default(),
            task: request.task,
            task_key: task.map(|it| plain::line(&it.spec.key)),
            task_name: request.task.map(|it| plain::line(&board.task_name(it))),
            worker: request.worker,
            saved_by: plan.and_then(|it| saver(it, board)),
            agent: request.worker.and_then(|it| board.worker(it)?.agent.clone()),
            title: title(&request.kind),
            path: request.path.clone(),
            replaces: request.replaces,
            ask: ask(request, board),
        }
    }
}

impl ClosedRequest {
    fn new(id: RequestId, request: &Request, closing: &Closing) -> Self {
        Self {
            id,
            opened_at: request.opened_at,
            closed_at: closing.at,
            plan: request.plan,
            task: request.task,
            worker: request.worker,
            title: title(&request.kind),
            status: closing.status,
            text: closing.text.clone(),
            decided_by: closing.actor,
        }
    }
}

fn saver(plan: &Plan, board: &Board) -> Option<(WorkerId, TaskId)> {
    let Actor::Worker(worker) = plan.creator else { return None };
    Some((worker, board.attempt(board.worker(worker)?.attempt)?.task))
}

/// Returns the request in one line.
pub(crate) fn title(kind: &RequestKind) -> String {
    match kind {
        RequestKind::PlanExecution => "run this plan?".to_owned(),
        RequestKind::BranchMerge => "merge the result?".to_owned(),
        RequestKind::ToolUse { tool, .. } => match &tool.command {
            Some(command) => format!("may it run `{}`?", one_line(command)),
            None => format!("may it {}: {}?", plain::line(&tool.kind), plain::line(&tool.title)),
        },
        RequestKind::Budget(spending) => format!("{spending}: grant as much again?"),
        RequestKind::Question { question } => plain::line(question),
    }
}

/// A second line of a command must not look like an argument of the first.
fn one_line(command: &str) -> String {
    plain::line(&plain::block(command).replace('\n', "\\n"))
}

fn ask(request: &Request, board: &Board) -> Ask {
    let plan = board.plan(request.plan);
    let task = request.task.and_then(|it| board.task(it));
    match &request.kind {
        RequestKind::PlanExecution => Ask::PlanExecution {
            base: plan.and_then(|it| it.base.clone()),
            start: plan.map(start).unwrap_or_default(),
            setup: plan.map(|it| blocks(&it.head.setup)).unwrap_or_default(),
            tasks: plan.map(|it| planned(it, board)).unwrap_or_default(),
            tasks_asked: request.tasks_count,
        },
        RequestKind::BranchMerge => merge(plan, board),
        RequestKind::ToolUse { tool, options, action, actions, .. } => Ask::ToolUse {
            tool: safe(tool),
            action: action.clone(),
            actions: actions.clone(),
            scopes: scopes(tool, action.as_ref()),
            options: options.clone(),
            region: task.map(|it| it.spec.region.clone()).unwrap_or_default(),
            checkout: request
                .worker
                .and_then(|it| board.attempt(board.worker(it)?.attempt)?.path.clone()),
        },
        RequestKind::Budget(spending) => Ask::Budget { spending: *spending },
        RequestKind::Question { question } => Ask::Question {
            question: plain::block(question),
            prompt: task.map(|it| plain::block(it.spec.work.prompt())),
        },
    }
}

fn start(plan: &Plan) -> PlannedStart {
    PlannedStart {
        base: plan.head.base.clone(),
        clean: plan.clean_base,
        include: plan.head.include.clone(),
    }
}

/// An unspecific tool use can be approved only once.
fn scopes(tool: &ToolUse, action: Option<&Action>) -> Vec<GrantScope> {
    let actions = action.into_iter().cloned().collect();
    if is_grantable(&actions, tool) { GrantScope::ALL.to_vec() } else { vec![GrantScope::Once] }
}

fn planned(plan: &Plan, board: &Board) -> Vec<PlannedTask> {
    let tasks = plan.tasks.iter().filter_map(|id| Some((*id, board.task(*id)?)));
    tasks
        .map(|(id, it)| PlannedTask {
            id,
            key: plain::line(&it.spec.key),
            agent: it.spec.agent.to_string(),
            work: visible(&it.spec.work),
            region: it.spec.region.clone(),
            depends_on: it.depends_on.clone(),
            checks: blocks(&it.spec.checks),
        })
        .collect()
}

fn blocks(commands: &[String]) -> Vec<String> {
    commands.iter().map(|it| plain::block(it)).collect()
}

/// A plan file may have come with the repository, so it is escaped.
fn visible(work: &TaskWork) -> TaskWork {
    let prompt = plain::block(work.prompt());
    match work {
        TaskWork::Prompt { .. } => TaskWork::Prompt { prompt },
        TaskWork::Script { script, .. } => {
            TaskWork::Script { prompt, script: plain::block(script) }
        }
        TaskWork::Command { command, .. } => {
            TaskWork::Command { prompt, command: plain::block(command) }
        }
    }
}

fn merge(plan: Option<&Plan>, board: &Board) -> Ask {
    let (mut completed, mut missing) = (Vec::new(), Vec::new());
    let (mut files_count, mut insertions, mut deletions) = (0_u64, 0_u64, 0_u64);
    for id in plan.into_iter().flat_map(|it| &it.tasks) {
        let Some(task) = board.task(*id) else { continue };
        if task.status != TaskStatus::Completed {
            missing.push(*id);
            continue;
        }
        completed.push(*id);
        if let Some(work) = task.attempts.last().and_then(|it| board.attempt(*it)) {
            files_count = files_count.saturating_add(work.files_count);
            insertions = insertions.saturating_add(work.insertions);
            deletions = deletions.saturating_add(work.deletions);
        }
    }
    Ask::BranchMerge {
        base: plan.and_then(|it| it.base.clone()),
        head: plan.and_then(|it| it.integrated.clone()),
        completed,
        missing,
        files_count,
        insertions,
        deletions,
    }
}

fn safe(tool: &ToolUse) -> ToolUse {
    ToolUse {
        title: plain::block(&tool.title),
        kind: plain::line(&tool.kind),
        paths: tool.paths.iter().map(|it| plain::line(it)).collect(),
        outside: tool.outside.iter().map(|it| plain::line(it)).collect(),
        command: tool.command.as_deref().map(plain::block),
        partial: tool.partial,
    }
}
