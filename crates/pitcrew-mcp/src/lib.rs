//! The tools that agents get over MCP.
//!
//! `ToolCall` parses a call from any entry point: the MCP server here, `pitcrew tool`, or HTTP. The
//! server itself decides nothing: it passes every call to an `ToolHandler` and renders the answer.
//! It does not know which attempt is calling; that follows from the caller's token.

mod answer;
mod call;
mod catalogue;
mod server;

pub use answer::{ToolAnswer, ToolRefusal};
pub use call::{Names, Spawn, SubtaskRequest, TaskText, ToolCall, ToolCallError, WorkspaceChoice};
pub use catalogue::{
    ADD_PLAN_TASK, AWAIT_SUBTASKS, CANCEL_TASK, COMPLETE_TASK, Changes, DECIDE_PERMISSIONS,
    DEPLOY_TASK, GET_SUBTASK_RESULTS, LIST_AGENTS, LIST_WORKERS, NOTIFY_ORCHESTRATOR,
    PULL_SUBTASK_CHANGES, QUERY, RETRY_TASK, Role, SAVE_PLAN, SPAWN_PARALLEL_SUBTASKS,
    SPAWN_SUBTASK, SUBTASK_COMPLETE, Spawning, ToolInfo, canonical_name, tools, visible,
};
pub use server::{
    ClientKind, HttpOptions, ServeError, ToolHandler, serve, serve_http, serve_stdio,
};
