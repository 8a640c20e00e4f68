//! What a worker may know of itself and of its sub-tasks: asked of the kernel's state itself, which
//! nobody else keeps.

use crate::handle::{self, Handle};
use pitcrew_kernel::{Pull, State};
use pitcrew_model::{
    Action, AttemptId, Message, PlanId, Rejection, RequestId, RequestKind, SubtaskResult, TaskId,
    ToolUse,
};
use std::path::PathBuf;
use tokio::sync::oneshot;

/// Where an attempt stands in its family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    pub plan: PlanId,
    pub is_subtask: bool,
    /// Whether there is depth left below it.
    pub may_spawn: bool,
}

/// Where the pulling of a sub-task's changes stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pulled {
    NotYet,
    UnderWay,
    Done,
}

/// What a sub-task asks its parent for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    pub request: RequestId,
    pub task: TaskId,
    pub action: Action,
    pub tool: ToolUse,
}

impl Handle {
    /// Absent when there is no such attempt, or when we are shutting down.
    pub async fn standing(&self, attempt: AttemptId) -> Option<Standing> {
        let look = move |state: &State| {
            let task = &state.tasks[state.attempts.get(attempt)?.task];
            let may_spawn = state.may_spawn(task);
            let (plan, is_subtask) = (task.plan, task.delegation.is_some());
            Some(Standing { plan, is_subtask, may_spawn })
        };
        self.look(look).await.flatten()
    }

    /// Where the attempt works, or whoever it is a guest of.
    pub async fn checkout(&self, attempt: AttemptId) -> Option<PathBuf> {
        let look = move |state: &State| {
            let owner = state.checkout_owner(state.attempts.get(attempt)?.id);
            state.attempts[owner].path.as_ref().map(PathBuf::from)
        };
        self.look(look).await.flatten()
    }

    /// Whether an agent that works for no plan may hand out anything.
    pub async fn may_spawn_standalone(&self) -> bool {
        let look = |state: &State| state.matrix.limits.subtask_depth_standalone > 0;
        self.look(look).await.unwrap_or_default()
    }

    /// What a call of a client's handed out, and the plan that holds it.
    pub async fn standalone_of(&self, call: String) -> Option<(PlanId, Vec<TaskId>)> {
        let look = move |state: &State| {
            let of_call = |it: &&pitcrew_kernel::Plan| {
                let call_of = it.standalone.as_ref().and_then(|it| it.call.as_deref());
                call_of == Some(&*call)
            };
            state.plans.iter().rev().find(of_call).map(|it| (it.id, it.tasks.clone()))
        };
        self.look(look).await.flatten()
    }

    /// What clients have handed out came to. What belongs to a plan of somebody else is refused.
    pub async fn standalone_results(
        &self,
        tasks: Vec<TaskId>,
    ) -> Result<Vec<(TaskId, Option<SubtaskResult>)>, Rejection> {
        let look = move |state: &State| {
            let of_client = |it: &TaskId| {
                let task = state.tasks.get(*it)?;
                (task.delegation.is_none() && state.plans[task.plan].standalone.is_some())
                    .then_some(*it)
            };
            let result = |it: TaskId| match of_client(&it) {
                Some(task) => Ok((task, state.result_of(task))),
                None => Err(Rejection::NotYourSubtask { task: it }),
            };
            tasks.into_iter().map(result).collect()
        };
        self.look(look).await.unwrap_or(Err(Rejection::ShuttingDown))
    }

    /// The sub-tasks that a call of the worker's handed out, in the order in which it named them.
    pub async fn handed_out_by(&self, attempt: AttemptId, call: String) -> Vec<TaskId> {
        let look = move |state: &State| {
            let children = state.attempts.get(attempt).map(|it| it.family.children.clone());
            let of_call = |it: &TaskId| {
                let delegation = state.tasks[*it].delegation.as_ref();
                delegation.is_some_and(|it| it.call.as_deref() == Some(&*call))
            };
            children.unwrap_or_default().into_iter().filter(of_call).collect()
        };
        self.look(look).await.unwrap_or_default()
    }

    /// Whether a call of the worker's still waits for its sub-tasks. Absent when we are shutting down.
    pub async fn is_held(&self, attempt: AttemptId, call: String) -> Option<bool> {
        let look = move |state: &State| {
            let wait = |it: &pitcrew_kernel::Attempt| state.workers[it.worker].wait.clone();
            let wait = state.attempts.get(attempt).and_then(wait);
            wait.is_some_and(|it| it.call.as_deref() == Some(&*call))
        };
        self.look(look).await
    }

    /// What sub-tasks of the attempt came to; those that have not ended have no result. Without
    /// names: all of them. Those of others are refused.
    pub async fn results(
        &self,
        attempt: AttemptId,
        tasks: Vec<TaskId>,
    ) -> Result<Vec<(TaskId, Option<SubtaskResult>)>, Rejection> {
        let look = move |state: &State| {
            let own = &state.attempt(attempt)?.family.children;
            if let Some(task) = tasks.iter().find(|it| !own.contains(it)) {
                return Err(Rejection::NotYourSubtask { task: *task });
            }
            let wanted = if tasks.is_empty() { own.clone() } else { tasks };
            Ok(wanted.into_iter().map(|it| (it, state.result_of(it))).collect())
        };
        self.look(look).await.unwrap_or(Err(Rejection::ShuttingDown))
    }

    /// What stands at the attempt for it to decide.
    pub async fn asked_of(&self, attempt: AttemptId) -> Vec<Asked> {
        let look = move |state: &State| {
            let asked = |request: RequestId| {
                let row = &state.requests[request];
                let RequestKind::ToolUse { tool, action, .. } = &row.kind else { return None };
                let task = state.attempts[state.workers[row.worker?].attempt].task;
                let action = action.clone().unwrap_or(Action::OtherTool);
                Some(Asked { request, task, action, tool: tool.clone() })
            };
            let known = state.attempts.get(attempt).map(|it| it.id);
            known.into_iter().flat_map(|it| state.asked_of(it)).filter_map(asked).collect()
        };
        self.look(look).await.unwrap_or_default()
    }

    /// What other workers ask the attempt's, and wait for.
    pub async fn questions_to(&self, attempt: AttemptId) -> Vec<Message> {
        let look = move |state: &State| {
            let worker = state.attempts.get(attempt).map(|it| it.worker);
            worker.into_iter().flat_map(|it| state.questions_to(it)).cloned().collect()
        };
        self.look(look).await.unwrap_or_default()
    }

    /// Absent when we are shutting down.
    pub async fn pulled(&self, task: TaskId) -> Option<Pulled> {
        let look = move |state: &State| match state.tasks.get(task).map(|it| it.pull) {
            Some(Pull::UnderWay(_)) => Pulled::UnderWay,
            Some(Pull::Done) => Pulled::Done,
            Some(Pull::None) | None => Pulled::NotYet,
        };
        self.look(look).await
    }

    /// Asks the writer, between two inputs.
    pub(crate) async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&State) -> T + Send + 'static,
    ) -> Option<T> {
        let (sender, answer) = oneshot::channel();
        let look = move |state: &State| {
            sender.send(look(state)).ok();
        };
        self.inputs.send(handle::Message::Look(Box::new(look))).await.ok()?;
        answer.await.ok()
    }
}
