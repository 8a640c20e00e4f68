//! Maps a tool use to actions of the matrix, and decides whether it is allowed.
//!
//! Only the agent's own description is available, so all of it counts: a tool use with several
//! actions is as strict as the strictest one.

mod shell;

use crate::{
    State,
    crew::withheld,
    state::{Request, Task},
};
use alloc::{collections::BTreeSet, string::String, vec::Vec};
use pitcrew_model::{
    Action, AttemptId, GrantId, GrantTarget, Matrix, ORCHESTRATOR_TOOL_KIND, PlanId, Rejection,
    RequestId, RequestKind, RequestStatus, Rule, RuleSource, TaskId, ToolUse, WorkspaceMode,
};

/// The decision of the matrix and the grants about a tool use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgment {
    pub rule: Rule,
    /// The strictest action. Absent if it needs no permission.
    pub action: Option<Action>,
    /// The grant that allows it.
    pub grant: Option<GrantId>,
}

impl State {
    /// Returns what denies a tool use: the definition of the agent, or a rule of the matrix.
    pub fn denied_by(
        &self,
        task: TaskId,
        tool: &ToolUse,
        action: Option<&Action>,
    ) -> Option<RuleSource> {
        let task = &self.tasks[task];
        match (withheld(task, tool), &task.profile) {
            (Some(_), Some(profile)) => Some(RuleSource::Definition(profile.source.clone())),
            (_, _) => action.map(|it| self.matrix.source(it)),
        }
    }

    pub fn rule(&self, action: &Action) -> Rule {
        self.matrix.rule(action)
    }

    /// Returns the rejection of a denied action.
    pub fn denied(&self, action: Action) -> Rejection {
        let rule = self.matrix.source(&action);
        Rejection::DeniedByMatrix { action, rule }
    }

    /// Returns the rejection of an action that needs a person, when no person can be asked.
    pub fn needs_rule(&self, action: Action) -> Rejection {
        let rule = self.matrix.source(&action);
        Rejection::NeedsRule { action, rule }
    }

    /// Judges a tool use of the task's worker.
    pub fn judge(&self, task: TaskId, tool: &ToolUse) -> Judgment {
        let actions = self.actions(task, tool);
        let (rule, action) = strictest(&self.matrix, &actions);
        if withheld(&self.tasks[task], tool).is_some() {
            return Judgment { rule: Rule::AutoDeny, action, grant: None };
        }
        let grant = (rule == Rule::AskUser).then(|| self.grant_for(task, &actions, tool));
        match grant.flatten() {
            Some(grant) => Judgment { rule: Rule::AutoApprove, action, grant: Some(grant) },
            None if rule == Rule::AskUser => self.judge_as_parent(task, tool, action),
            None => Judgment { rule, action, grant: None },
        }
    }

    /// Applies the grants of its parent, if the limits allow that.
    fn judge_as_parent(&self, task: TaskId, tool: &ToolUse, action: Option<Action>) -> Judgment {
        let asked = Judgment { rule: Rule::AskUser, action, grant: None };
        let parent = self.parent_of(&self.tasks[task]);
        let parent = parent.filter(|_| self.matrix.limits.auto_approve_for_subtasks);
        let held = parent.map(|it| self.judge(it.task, tool));
        held.filter(|it| it.rule == Rule::AutoApprove).unwrap_or(asked)
    }

    /// Returns the requests of sub-tasks that the attempt may decide.
    pub fn asked_of(&self, attempt: AttemptId) -> impl Iterator<Item = RequestId> {
        let children = self.attempts[attempt].family.open.iter();
        let workers = children.filter_map(|it| self.tasks[*it].last_attempt());
        let requests = workers.flat_map(|it| &self.workers[self.attempts[it].worker].requests);
        let at_parent = |it: &RequestId| self.requests[*it].status == RequestStatus::AtParent;
        requests.copied().filter(at_parent)
    }

    /// Returns all actions of a tool use.
    pub fn actions(&self, task: TaskId, tool: &ToolUse) -> BTreeSet<Action> {
        let row = &self.tasks[task];
        let base = self.plans[row.plan].base.as_ref();
        let mut all = actions(tool, base.and_then(|it| it.branch.as_deref()));
        if is_change(tool) && !may_change(row, &tool.paths) {
            all.insert(Action::EditsOutsideWorktree);
        }
        all
    }

    /// Returns a grant that covers everything that would need a person.
    fn grant_for(
        &self,
        task: TaskId,
        actions: &BTreeSet<Action>,
        tool: &ToolUse,
    ) -> Option<GrantId> {
        let asked = asked(&self.matrix, actions);
        let plan = self.tasks[task].plan;
        let mut held = self.grants.values().filter(|it| reaches(it.reach, task, plan));
        held.find(|it| it.covers(&asked, tool)).map(|it| it.id)
    }

    /// Returns the rejection for a closed request. After an interruption the next worker repeats it
    /// under a new id.
    pub fn closed(&self, request: &Request) -> Rejection {
        let task_of = |it: &Request| Some(self.attempts[self.workers[it.worker?].attempt].task);
        let task = task_of(request);
        let same = |it: &&Request| {
            it.status.is_open() && it.kind.asks_the_same(&request.kind) && task_of(it) == task
        };
        let open = self.live_workers().flat_map(|it| &it.requests).map(|it| &self.requests[*it]);
        let successor = open.filter(|it| it.id != request.id).find(same).map(|it| it.id);
        Rejection::RequestClosed { request: request.id, status: request.status, successor }
    }

    /// Returns the undecided permission requests of live workers.
    pub fn open_tool_uses(&self) -> impl Iterator<Item = (&Request, TaskId, &ToolUse)> {
        let requests = self.live_workers().flat_map(move |it| {
            let task = self.attempts[it.attempt].task;
            it.requests.iter().map(move |it| (&self.requests[*it], task))
        });
        requests.filter_map(|(request, task)| match &request.kind {
            RequestKind::ToolUse { tool, .. } => Some((request, task, tool)),
            RequestKind::PlanExecution
            | RequestKind::BranchMerge
            | RequestKind::Budget(_)
            | RequestKind::Question { .. } => None,
        })
    }
}

/// Describes a command the way an agent would.
pub fn command(title: &str, command: &str) -> ToolUse {
    ToolUse {
        title: title.into(),
        kind: "execute".into(),
        paths: Vec::new(),
        outside: Vec::new(),
        command: Some(command.into()),
        partial: false,
    }
}

pub fn reaches(reach: GrantTarget, task: TaskId, plan: PlanId) -> bool {
    match reach {
        GrantTarget::Task(of) => of == task,
        GrantTarget::Plan(of) => of == plan,
        GrantTarget::Always => true,
    }
}

/// Returns the actions that need a person.
pub fn asked(matrix: &Matrix, actions: &BTreeSet<Action>) -> BTreeSet<Action> {
    actions.iter().filter(|it| matrix.rule(it) == Rule::AskUser).cloned().collect()
}

pub fn strictest(matrix: &Matrix, actions: &BTreeSet<Action>) -> (Rule, Option<Action>) {
    let mut found = (Rule::AutoApprove, None);
    for action in actions {
        let rule = matrix.rule(action);
        if found.1.is_none() || rule > found.0 {
            found = (rule, Some(action.clone()));
        }
    }
    found
}

fn is_change(tool: &ToolUse) -> bool {
    matches!(tool.kind.as_str(), "edit" | "create" | "delete" | "move")
}

/// In a borrowed checkout a sub-task may change only its target files, because no gate checks them
/// afterwards.
fn may_change(task: &Task, paths: &[String]) -> bool {
    match task.workspace() {
        None | Some(WorkspaceMode::Isolated) => true,
        Some(WorkspaceMode::ReadOnly) => paths.is_empty(),
        Some(WorkspaceMode::Shared) => {
            let region = &task.spec.region;
            paths.iter().all(|path| region.iter().any(|it| it.contains(path)))
        }
    }
}

/// Reading and thinking inside the checkout and calling our tools need no permission. An unknown
/// kind asks.
fn actions(tool: &ToolUse, main: Option<&str>) -> BTreeSet<Action> {
    let kind = tool.kind.as_str();
    let is_change = is_change(tool);
    let is_look = matches!(kind, "read" | "search" | "think");
    // Our tools touch no files, so a call that names some is something else.
    let is_talk = kind == ORCHESTRATOR_TOOL_KIND && tool.paths.is_empty();
    let is_outside = !tool.outside.is_empty();
    if is_talk && !is_outside {
        return BTreeSet::new();
    }
    let mut all = BTreeSet::new();
    if is_outside {
        let edits = Action::EditsOutsideWorktree;
        all.insert(if is_change { edits } else { Action::AccessOutsideWorktree });
    }
    if kind == "fetch" {
        all.insert(Action::NetworkAccess);
    }
    if is_change {
        all.extend(changes(kind, &tool.paths));
    }
    // A command may do more than its kind says.
    if let Some(command) = &tool.command {
        all.extend(shell::actions(command, main));
        if tool.partial {
            all.insert(Action::OpaqueCommand);
        }
    } else if !is_look && (all.is_empty() || !is_change && kind != "fetch") {
        all.insert(Action::OtherTool);
    }
    all
}

fn changes(kind: &str, paths: &[String]) -> Vec<Action> {
    match (kind, paths) {
        (_, []) => Vec::new(),
        ("create", [_]) => [Action::FileCreationInWorktree].into(),
        ("create", _) => [Action::FileCreationInWorktree, Action::FileEditsInWorktree].into(),
        ("delete", _) => [Action::FileDeletionInWorktree].into(),
        ("move", _) => [Action::FileCreationInWorktree, Action::FileDeletionInWorktree].into(),
        _ => [Action::FileEditsInWorktree].into(),
    }
}
