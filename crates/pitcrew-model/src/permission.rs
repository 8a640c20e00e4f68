//! Actors, requests, and tool uses as agents describe them.

use crate::{Action, Spending, WorkerId};
use alloc::{collections::BTreeSet, string::String, vec::Vec};
use core::fmt;
use serde::{Deserialize, Serialize};

/// The cause of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "id", rename_all = "snake_case")]
pub enum Actor {
    Person,
    Orchestrator,
    Worker(WorkerId),
    /// A person's own agent, from outside. It drives plans and cannot approve anything.
    Client,
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Person => f.write_str("person"),
            Self::Orchestrator => f.write_str("orchestrator"),
            Self::Worker(worker) => worker.fmt(f),
            Self::Client => f.write_str("client"),
        }
    }
}

/// What a request asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RequestKind {
    PlanExecution,
    BranchMerge,
    /// A worker's agent wants to use a tool.
    ToolUse {
        tool: ToolUse,
        call: String,
        options: Vec<PermissionOption>,
        /// The strictest action of the tool use.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        action: Option<Action>,
        /// All actions that a person has to approve.
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        actions: BTreeSet<Action>,
    },
    /// A cap is reached: raise it by as much again?
    Budget(Spending),
    /// A question of a worker.
    Question {
        question: String,
    },
}

impl RequestKind {
    /// Returns whether a new worker repeats the request of an earlier one.
    pub fn asks_the_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::ToolUse { tool, .. }, Self::ToolUse { tool: asked, .. }) => tool == asked,
            (Self::Question { question }, Self::Question { question: asked }) => question == asked,
            (
                Self::PlanExecution
                | Self::BranchMerge
                | Self::Budget(_)
                | Self::ToolUse { .. }
                | Self::Question { .. },
                _,
            ) => false,
        }
    }
}

/// The tools that the orchestrator offers to its workers.
pub const ORCHESTRATOR_TOOLS: &[&str] = &[
    "orchestrator_save_plan",
    "orchestrator_add_plan_task",
    "orchestrator_list_workers",
    "orchestrator_deploy_task",
    "orchestrator_complete_task",
    "orchestrator_cancel_task",
    "orchestrator_retry_task",
    "a2a_list_agents",
    "a2a_spawn_subtask",
    "a2a_spawn_parallel_subtasks",
    "a2a_await_subtasks",
    "a2a_get_subtask_results",
    "a2a_subtask_complete",
    "a2a_pull_subtask_changes",
    "a2a_decide_permissions",
    "a2a_notify_orchestrator",
    "a2a_query",
];
/// The `kind` of their calls, and of commands that only make such a call.
pub const ORCHESTRATOR_TOOL_KIND: &str = "orchestrator";

/// A tool call as the agent describes it. Untrusted text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolUse {
    pub title: String,
    /// The kind of the protocol: read, edit, delete, move, search, execute, think, fetch, other.
    /// Ours are `create` for an edit that makes files, and one for our own tools.
    pub kind: String,
    /// Paths inside the checkout, relative to its root.
    pub paths: Vec<String>,
    /// Paths outside the checkout.
    pub outside: Vec<String>,
    pub command: Option<String>,
    /// The description is incomplete.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub partial: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionOption {
    pub id: String,
    pub kind: PermissionOptionKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PermissionOptionKind {
    AllowOnce,
    AllowAlways,
    RejectOnce,
    RejectAlways,
}
