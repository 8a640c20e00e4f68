//! Parses tool calls: a name and JSON become a typed command.
//!
//! One file for each family of tools, as in the catalogue. Other spellings of names, keys and
//! values are accepted silently: a model that has learned `orchestrator_completeTask` should not
//! fail because of an underscore.

mod arguments;
mod names;
mod orchestrator;
mod plan_text;
mod a2a;
mod query;
mod acknowledgement;

pub use a2a::{Spawn, SubtaskRequest, WorkspaceChoice};
pub use names::Names;
pub use orchestrator::TaskText;

use crate::catalogue::{
    ADD_PLAN_TASK, AWAIT_SUBTASKS, CANCEL_TASK, COMPLETE_TASK, DECIDE_PERMISSIONS, DEPLOY_TASK,
    GET_SUBTASK_RESULTS, LIST_AGENTS, LIST_WORKERS, NOTIFY_ORCHESTRATOR, PULL_SUBTASK_CHANGES,
    QUERY, RETRY_TASK, SAVE_PLAN, SPAWN_PARALLEL_SUBTASKS, SPAWN_SUBTASK, SUBTASK_COMPLETE,
    canonical_name, tools,
};
use arguments::Arguments;
use pitcrew_model::{
    Addressee, Claim, Freshness, MessageId, NoteKind, PlanId, RequestId, TaskId, Verdict, limits,
    text,
};
use serde_json::Value;

/// A tool call that can be carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolCall {
    /// The text of a plan file.
    SavePlan {
        text: String,
    },
    AddPlanTask {
        plan: PlanId,
        task: TaskText,
    },
    ListWorkers {
        plan: Option<PlanId>,
        all: bool,
    },
    DeployTask {
        task: TaskId,
    },
    /// Ends the caller's task or sub-task.
    Complete {
        claim: Claim,
        summary: String,
    },
    CancelTask {
        task: TaskId,
    },
    RetryTask {
        task: TaskId,
        freshness: Freshness,
    },
    ListAgents,
    Spawn(Spawn),
    /// Without ids: all open ones.
    AwaitSubtasks {
        tasks: Vec<TaskId>,
        timeout_ms: Option<u64>,
    },
    /// Without ids: all.
    SubtaskResults {
        tasks: Vec<TaskId>,
    },
    PullSubtask {
        task: TaskId,
    },
    DecidePermissions {
        requests: Vec<RequestId>,
        verdict: Verdict,
        reason: Option<String>,
    },
    Notify {
        kind: NoteKind,
        message: String,
        to: Addressee,
        reply_to: Option<MessageId>,
    },
    /// Looks up a symbol outside the caller's region.
    Query {
        symbol: String,
        context: String,
    },
}

/// Why a tool call cannot be parsed. The caller is a model: every text says what to send instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ToolCallError {
    /// Does not list the tools: they depend on the caller, which is unknown here.
    #[error("there is no tool `{name}`")]
    UnknownTool { name: String },
    #[error("the arguments of `{tool}` must be a JSON object, such as {example}")]
    NoObject { tool: &'static str, example: &'static str },
    #[error("`{tool}` needs `{key}`: {what}, such as {example}")]
    Missing { tool: &'static str, key: &'static str, what: &'static str, example: &'static str },
    #[error("`{tool}` has no argument `{key}`; did you mean `{near}`?")]
    Misspelt { tool: &'static str, key: String, near: String },
    #[error("there is no {kind} `{name}`; call `orchestrator_list_workers` for the ids")]
    Unnamed { kind: &'static str, name: String },
    #[error("`{name}` is the name of more than one {kind}: {ids}; send the id of one of them")]
    Ambiguous { kind: &'static str, name: String, ids: String },
    #[error("`{key}` of `{tool}` is {found}; it must be {allowed}")]
    Wrong { tool: &'static str, key: String, found: String, allowed: &'static str },
}

impl ToolCall {
    /// Parses a call that names plans and tasks by their ids.
    pub fn parse(name: &str, arguments: &Value) -> Result<Self, ToolCallError> {
        Self::parse_named(name, arguments, &())
    }

    pub fn parse_named(
        name: &str,
        arguments: &Value,
        names: &dyn Names,
    ) -> Result<Self, ToolCallError> {
        let known = canonical_name(name);
        let Some(tool) = known.and_then(|name| tools().iter().find(|it| it.name == name)) else {
            let name = text::cut(name, limits::NAME_BYTES_MAX).to_owned();
            return Err(ToolCallError::UnknownTool { name });
        };
        let arguments = &Arguments::of(tool, arguments, names)?;
        let call = match tool.name {
            SAVE_PLAN => orchestrator::save_plan(arguments),
            ADD_PLAN_TASK => orchestrator::add_plan_task(arguments),
            LIST_WORKERS => orchestrator::list_workers(arguments),
            DEPLOY_TASK => Ok(Self::DeployTask { task: arguments.task(TASK)? }),
            COMPLETE_TASK => orchestrator::complete(arguments, "summary"),
            CANCEL_TASK => Ok(Self::CancelTask { task: arguments.task(TASK)? }),
            RETRY_TASK => orchestrator::retry_task(arguments),
            LIST_AGENTS => Ok(Self::ListAgents),
            SPAWN_SUBTASK => a2a::spawn_one(arguments),
            SPAWN_PARALLEL_SUBTASKS => a2a::spawn_several(arguments),
            AWAIT_SUBTASKS => a2a::await_subtasks(arguments),
            GET_SUBTASK_RESULTS => Ok(Self::SubtaskResults { tasks: a2a::ids(arguments)? }),
            SUBTASK_COMPLETE => orchestrator::complete(arguments, "output"),
            PULL_SUBTASK_CHANGES => a2a::pull(arguments),
            DECIDE_PERMISSIONS => a2a::decide_permissions(arguments),
            NOTIFY_ORCHESTRATOR => a2a::notify(arguments),
            QUERY => query::query(arguments),
            other => unreachable!("the catalogue lists {other}, which has no parser"),
        }?;
        arguments.check_spelling()?;
        Ok(call)
    }
}

/// The keys under which callers send the id of a task.
const TASK: &[&str] = &["task", "taskid", "id", "subtask", "subtaskid", "name"];

#[cfg(test)]
mod tests;
