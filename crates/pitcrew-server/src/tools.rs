//! Tool calls, carried out for whoever makes them, through whatever door they came.
//!
//! Orders go to the kernel, which decides. What is only looked at is answered from the views.

mod caller;
mod desk;
mod order;
mod look;

pub use caller::Caller;
pub use desk::{AgentRow, Desk, ReadPlan};

use crate::serve::Doors;
use pitcrew_mcp::{COMPLETE_TASK, SUBTASK_COMPLETE, ToolAnswer, ToolCall, canonical_name, visible};
use pitcrew_model::{Command, Rejection};
use serde_json::Value;
use std::sync::Arc;

/// Why a call was not carried out.
pub enum Refused {
    /// The caller is told, and can do better.
    Told(String),
    /// Not for the caller to know: whoever carries its calls asks the next orchestrator.
    ShuttingDown(String),
}

impl From<Rejection> for Refused {
    fn from(rejection: Rejection) -> Self {
        match rejection {
            Rejection::ShuttingDown => Self::ShuttingDown(rejection.to_string()),
            rejection => Self::Told(rejection.to_string()),
        }
    }
}

/// One call on its way.
pub struct Calling<'a> {
    pub doors: &'a Arc<Doors>,
    pub caller: Caller,
    /// The caller's own name for the call. One that comes again is carried out once.
    pub nonce: Option<String>,
}

impl Calling<'_> {
    pub async fn call(&self, name: &str, arguments: &Value) -> Result<ToolAnswer, Refused> {
        let call = ToolCall::parse(name, arguments).map_err(|it| Refused::Told(it.to_string()))?;
        self.check_visible(name)?;
        match &call {
            ToolCall::ListWorkers { plan, all } => Ok(look::workers(self.doors, *plan, *all)),
            ToolCall::ListAgents => Ok(look::agents(self.doors).await),
            ToolCall::SavePlan { text } => order::save_plan(self, text).await,
            ToolCall::AddPlanTask { plan, task } => order::add_task(self, *plan, task).await,
            ToolCall::DeployTask { .. }
            | ToolCall::Complete { .. }
            | ToolCall::CancelTask { .. }
            | ToolCall::RetryTask { .. }
            | ToolCall::Notify { .. } => order::plain(self, call).await,
            ToolCall::Spawn(_)
            | ToolCall::AwaitSubtasks { .. }
            | ToolCall::SubtaskResults { .. }
            | ToolCall::PullSubtask { .. }
            | ToolCall::DecidePermissions { .. } => {
                unreachable!("nobody is shown them, and what is not shown is refused")
            }
        }
    }

    /// What is not shown is not carried out either.
    fn check_visible(&self, name: &str) -> Result<(), Refused> {
        let visible = visible(self.caller.role(self.doors));
        // A worker that ends its work by the other name has said what it means.
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
        let name = wanted.unwrap_or(name);
        Err(Refused::Told(format!("`{name}` is not for you; there are: {}", known.join(", "))))
    }

    /// Gives the order on the caller's behalf.
    async fn order(&self, order: Command) -> Result<pitcrew_runtime::Accepted, Refused> {
        let order = match &self.nonce {
            Some(nonce) => Command::Once { nonce: nonce.clone(), order: Box::new(order) },
            None => order,
        };
        let handle = self.doors.orchestrator.handle();
        Ok(handle.command(self.caller.actor(), order).await?)
    }
}
