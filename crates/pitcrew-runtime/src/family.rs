//! Facts about a worker and its sub-tasks that the worker may know. They are read from the kernel's
//! state, which is their only source.

use crate::handle::{self, Handle};
use pitcrew_kernel::{Pull, State};
use pitcrew_model::{
    Action, AttemptId, Message, PlanId, Rejection, RequestId, RequestKind, SubtaskResult, TaskId,
    ToolUse,
};
use std::path::PathBuf;
use tokio::sync::oneshot;

/// The position of an attempt in its family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    pub plan: PlanId,
    pub is_subtask: bool,
    /// Whether the depth limit allows sub-tasks below it.
    pub may_spawn: bool,
}

/// The state of pulling a sub-task's changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pulled {
    NotYet,
    UnderWay,
    Done,
}

/// A request of a sub-task to its parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubtaskRequest {
    pub request: RequestId,
    pub task: TaskId,
    pub action: Action,
    pub tool: ToolUse,
}

/// The sub-tasks that a client spawned in one call.
pub struct StandalonePlan {
    pub id: PlanId,
    pub tasks: Vec<TaskId>,
    pub only_reads: bool,
}

impl Handle {
    /// `None` if there is no such attempt, or during shutdown.
    pub async fn standing(&self, attempt: AttemptId) -> Option<Standing> {
        let look = move |state: &State| {
            let task = &state.tasks[state.attempts.get(attempt)?.task];
            let may_spawn = state.may_spawn(task);
            let (plan, is_subtask) = (task.plan, task.delegation.is_some());
            Some(Standing { plan, is_subtask, may_spawn })
        };
        self.look(look).await.flatten()
    }

    /// The checkout of the attempt, or of its host if it works as a guest.
    pub async fn checkout(&self, attempt: AttemptId) -> Option<PathBuf> {
        let look = move |state: &State| {
            let owner = state.checkout_owner(state.attempts.get(attempt)?.id);
            state.attempts[owner].path.as_ref().map(PathBuf::from)
        };
        self.look(look).await.flatten()
    }

    /// Whether an agent outside a plan may spawn sub-tasks.
    pub async fn may_spawn_standalone(&self) -> bool {
        let look = |state: &State| state.matrix.limits.subtask_depth_standalone > 0;
        self.look(look).await.unwrap_or_default()
    }

    /// The sub-tasks that a client's call spawned, and their plan.
    pub async fn standalone_of(&self, call: String) -> Option<StandalonePlan> {
        let look = move |state: &State| {
            let of_call = |it: &&pitcrew_kernel::Plan| {
                let call_of = it.standalone.as_ref().and_then(|it| it.call.as_deref());
                call_of == Some(&*call)
            };
            let plan = state.plans.iter().rev().find(of_call)?;
            let (tasks, only_reads) = (plan.tasks.clone(), plan.is_answer());
            Some(StandalonePlan { id: plan.id, tasks, only_reads })
        };
        self.look(look).await.flatten()
    }

    /// The results of sub-tasks that clients spawned. Sub-tasks of other plans are refused.
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

    /// The sub-tasks that a worker's call spawned, in the order of the call.
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

    /// Whether a worker's call still waits for its sub-tasks. `None` during shutdown.
    pub async fn is_held(&self, attempt: AttemptId, call: String) -> Option<bool> {
        let look = move |state: &State| {
            let wait = |it: &pitcrew_kernel::Attempt| state.workers[it.worker].wait.clone();
            let wait = state.attempts.get(attempt).and_then(wait);
            wait.is_some_and(|it| it.call.as_deref() == Some(&*call))
        };
        self.look(look).await
    }

    /// The results of the attempt's sub-tasks; those that have not ended have no result. If `tasks`
    /// is empty, returns all. Sub-tasks of other workers are refused.
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

    /// The requests that the attempt has to decide.
    pub async fn requests_to_decide(&self, attempt: AttemptId) -> Vec<SubtaskRequest> {
        let look = move |state: &State| {
            let asked = |request: RequestId| {
                let row = &state.requests[request];
                let RequestKind::ToolUse { tool, action, .. } = &row.kind else { return None };
                let task = state.attempts[state.workers[row.worker?].attempt].task;
                let action = action.clone().unwrap_or(Action::OtherTool);
                Some(SubtaskRequest { request, task, action, tool: tool.clone() })
            };
            let known = state.attempts.get(attempt).map(|it| it.id);
            known.into_iter().flat_map(|it| state.asked_of(it)).filter_map(asked).collect()
        };
        self.look(look).await.unwrap_or_default()
    }

    /// The open questions of other workers to the attempt's worker.
    pub async fn questions_to(&self, attempt: AttemptId) -> Vec<Message> {
        let look = move |state: &State| {
            let worker = state.attempts.get(attempt).map(|it| it.worker);
            worker.into_iter().flat_map(|it| state.questions_to(it)).cloned().collect()
        };
        self.look(look).await.unwrap_or_default()
    }

    /// `None` during shutdown.
    pub async fn pulled(&self, task: TaskId) -> Option<Pulled> {
        let look = move |state: &State| match state.tasks.get(task).map(|it| it.pull) {
            Some(Pull::UnderWay(_)) => Pulled::UnderWay,
            Some(Pull::Done) => Pulled::Done,
            Some(Pull::None) | None => Pulled::NotYet,
        };
        self.look(look).await
    }

    /// Runs a closure on the state, in the writer's thread between two inputs.
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
