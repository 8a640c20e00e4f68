//! Executes tool calls of all callers, on all endpoints.
//!
//! Commands go to the kernel, which decides. Reads are answered from the views.

mod caller;
mod desk;
mod order;
mod subtask;
mod standalone;
mod pending;
mod quoted;
mod query;
mod look;
mod names;

pub use caller::Caller;
pub use desk::{Desk, ReadPlan};
pub use subtask::secret;

use crate::serve::Doors;
use pitcrew_mcp::{
    COMPLETE_TASK, Role, SPAWN_PARALLEL_SUBTASKS, SPAWN_SUBTASK, SUBTASK_COMPLETE, Spawning,
    ToolAnswer, ToolCall, ToolCallError, canonical_name, visible,
};
use pitcrew_model::{Command, Rejection, limits, text};
use serde_json::Value;
use std::sync::Arc;
use tokio::time::Instant;

/// Why a call was not executed.
pub enum Refused {
    /// The caller gets the message and can correct the call.
    Rejected(String),
    /// Not visible to the caller: the bridge repeats the call with the next orchestrator.
    ShuttingDown(String),
    /// Still in progress; repeating the call with the same nonce finds it.
    Held,
}

impl From<Rejection> for Refused {
    fn from(rejection: Rejection) -> Self {
        let words = rejection.to_string();
        if rejection == Rejection::ShuttingDown {
            Self::ShuttingDown(words)
        } else {
            Self::Rejected(words)
        }
    }
}

/// One call in progress.
pub struct Calling<'a> {
    pub doors: &'a Arc<Doors>,
    pub caller: Caller,
    /// The caller's id of the call. A repeated call is executed once.
    pub nonce: Option<String>,
    /// How long the answer may be delayed; `None`: no limit.
    pub held_until: Option<Instant>,
}

impl Calling<'_> {
    pub async fn call(&self, name: &str, arguments: &Value) -> Result<ToolAnswer, Refused> {
        self.check_visible(name).await?;
        let call = match ToolCall::parse(name, arguments) {
            Err(ToolCallError::Unnamed { .. }) => {
                ToolCall::parse_named(name, arguments, &names::VisibleNames::by(self).await?)
            }
            call => call,
        };
        let call = call.map_err(|it| Refused::Rejected(it.to_string()))?;
        match &call {
            ToolCall::ListWorkers { plan, all } => look::workers(self, *plan, *all).await,
            ToolCall::ListAgents => look::agents(self.doors).await,
            ToolCall::SavePlan { text } => order::save_plan(self, text).await,
            ToolCall::AddPlanTask { plan, task } => order::add_task(self, *plan, task).await,
            ToolCall::DeployTask { .. }
            | ToolCall::Complete { .. }
            | ToolCall::CancelTask { .. }
            | ToolCall::RetryTask { .. }
            | ToolCall::DecidePermissions { .. }
            | ToolCall::Notify { .. } => order::plain(self, call).await,
            ToolCall::Spawn(spawn) => subtask::spawn(self, spawn).await,
            ToolCall::AwaitSubtasks { tasks, timeout_ms } => {
                subtask::await_all(self, tasks, *timeout_ms).await
            }
            ToolCall::SubtaskResults { tasks } => subtask::results(self, tasks).await,
            ToolCall::PullSubtask { task } => subtask::pull(self, *task).await,
            ToolCall::Query { symbol, context } => query::ask(self, symbol, context).await,
        }
    }

    /// A tool that is not visible cannot be called either.
    async fn check_visible(&self, name: &str) -> Result<(), Refused> {
        let visible = visible(self.caller.role(self.doors).await);
        // A worker may use the alternative name of the tool that ends its work.
        let wanted = match canonical_name(name) {
            Some(COMPLETE_TASK | SUBTASK_COMPLETE) if self.caller != Caller::Client => {
                return Ok(());
            }
            wanted => wanted,
        };
        if visible.iter().any(|it| Some(it.name) == wanted) {
            return Ok(());
        }
        let known: Vec<&str> = visible.iter().map(|it| it.name).collect();
        let known = known.join(", ");
        let Some(name) = wanted else {
            let name = text::cut(name, limits::NAME_BYTES_MAX);
            return Err(Refused::Rejected(format!(
                "there is no tool `{name}`; your tools are: {known}"
            )));
        };
        let why = match self.caller.role(self.doors).await {
            Role::Subtask { spawning: Spawning::Refused }
                if matches!(name, SPAWN_SUBTASK | SPAWN_PARALLEL_SUBTASKS) =>
            {
                ": the permissions do not allow more sub-tasks at this depth (`subtask_depth`); do this part yourself"
            }
            Role::Worker { .. } | Role::Subtask { .. } | Role::Client { .. } => "",
        };
        Err(Refused::Rejected(format!("you cannot use `{name}`{why}; your tools are: {known}")))
    }

    /// Sends a command on behalf of the caller.
    async fn order(&self, order: Command) -> Result<pitcrew_runtime::Accepted, Refused> {
        Ok(self.try_order(order).await?)
    }

    /// Like `order`, for callers that handle a rejection.
    async fn try_order(&self, order: Command) -> Result<pitcrew_runtime::Accepted, Rejection> {
        let order = match &self.nonce {
            Some(nonce) => Command::Once { nonce: nonce.clone(), order: Box::new(order) },
            None => order,
        };
        self.doors.command(self.caller.actor(), order).await
    }
}
