//! The tools by name: what a model reads before it calls one, and who is shown which.
//!
//! One file for each family. A tool has one name; every other spelling of it is taken silently.

mod orchestrator;
mod a2a;
mod schema;

pub use a2a::{
    AWAIT_SUBTASKS, DECIDE_PERMISSIONS, GET_SUBTASK_RESULTS, LIST_AGENTS, NOTIFY_ORCHESTRATOR,
    PULL_SUBTASK_CHANGES, QUERY, SPAWN_PARALLEL_SUBTASKS, SPAWN_SUBTASK, SUBTASK_COMPLETE,
};
pub use orchestrator::{
    ADD_PLAN_TASK, CANCEL_TASK, COMPLETE_TASK, DEPLOY_TASK, LIST_WORKERS, RETRY_TASK, SAVE_PLAN,
};

use serde_json::Value;
use std::sync::LazyLock;

/// A tool as it is offered.
#[derive(Clone, Debug)]
pub struct ToolInfo {
    pub name: &'static str,
    pub title: &'static str,
    pub description: &'static str,
    /// Whether a call changes anything.
    pub changes: Changes,
    pub audience: Audience,
    /// JSON schema of the arguments; always an object.
    pub input: Value,
    /// JSON schema of the structured result; always an object.
    pub output: Value,
    /// Arguments that can be sent as they are.
    pub example: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changes {
    Nothing,
    /// Adds to what is there.
    Adds,
    /// Ends or discards something.
    Ends,
}

/// Whom a tool is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    Everybody,
    /// Whoever works on a task or a sub-task.
    Workers,
    /// Whoever may hand in plans: workers of a plan, and outside clients.
    Planners,
    /// Those who may spawn sub-tasks.
    Parents,
    /// Those of them that work on a task themselves.
    WorkingParents,
    /// Parents, and outside clients.
    Drivers,
    Subtasks,
    Clients,
}

/// Who is calling, as far as it matters for what is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The worker of a plan's task.
    Worker { spawning: Spawning },
    /// The worker of a sub-task.
    Subtask { spawning: Spawning },
    /// A person's own agent, from outside.
    Client { spawning: Spawning },
}

/// Whether depth and permissions leave room for sub-tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spawning {
    Allowed,
    Refused,
}

static TOOLS: LazyLock<Vec<ToolInfo>> =
    LazyLock::new(|| [orchestrator::tools(), a2a::tools()].concat());

/// Every tool there is.
pub fn tools() -> &'static [ToolInfo] {
    &TOOLS
}

/// The tools that a caller is shown. The only place that says so.
pub fn visible(role: Role) -> Vec<&'static ToolInfo> {
    tools().iter().filter(|it| is_for(it.audience, role)).collect()
}

fn is_for(audience: Audience, role: Role) -> bool {
    let (Role::Worker { spawning } | Role::Subtask { spawning } | Role::Client { spawning }) = role;
    let (is_subtask, is_client) = match role {
        Role::Worker { .. } => (false, false),
        Role::Subtask { .. } => (true, false),
        Role::Client { .. } => (false, true),
    };
    let spawns = spawning == Spawning::Allowed;
    match audience {
        Audience::Everybody => true,
        Audience::Workers => !is_client,
        Audience::Planners => !is_subtask,
        Audience::Parents => spawns,
        Audience::WorkingParents => spawns && !is_client,
        Audience::Drivers => spawns || is_client,
        Audience::Subtasks => is_subtask,
        Audience::Clients => is_client,
    }
}

/// What agents put before the name of a tool: that of their own surface, or of our server.
const SURFACES: &[&str] = &["mcppitcrew", "copilot", "pitcrew"];
/// The families, which callers leave out.
const FAMILIES: &[&str] = &["orchestrator", "a2a"];

/// Names that others have for a tool, as letters.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("createplan", SAVE_PLAN),
    ("addtask", ADD_PLAN_TASK),
    ("listtasks", LIST_WORKERS),
    ("spawnsubtasks", SPAWN_PARALLEL_SUBTASKS),
    ("awaitsubtask", AWAIT_SUBTASKS),
    ("getsubtaskresult", GET_SUBTASK_RESULTS),
    ("completesubtask", SUBTASK_COMPLETE),
    ("pullsubtask", PULL_SUBTASK_CHANGES),
    ("decidepermission", DECIDE_PERMISSIONS),
    ("querysymbol", QUERY),
    ("lookupsymbol", QUERY),
];

/// The one name of a tool, however its call spells it: `orchestrator_completeTask`,
/// `copilot_orchestratorCompleteTask`, `mcp__pitcrew__orchestrator_complete_task` and the name
/// without its prefix mean the same tool.
pub fn canonical_name(spelling: &str) -> Option<&'static str> {
    let letters = letters(spelling);
    let surface = SURFACES.iter().find_map(|it| letters.strip_prefix(it));
    let rest = surface.unwrap_or(&letters);
    let rest = FAMILIES.iter().find_map(|it| rest.strip_prefix(it)).unwrap_or(rest);
    let short = |name: &str| {
        let name = self::letters(name);
        FAMILIES.iter().find_map(|it| name.strip_prefix(it)).map(str::to_owned)
    };
    let names = orchestrator::NAMES.iter().chain(a2a::NAMES);
    let known = names.copied().find(|it| short(it).as_deref() == Some(rest));
    known.or_else(|| OTHER_NAMES.iter().find(|it| it.0 == rest).map(|it| it.1))
}

/// Letters and digits in lower case: what all spellings of a name have in common.
pub(crate) fn letters(spelling: &str) -> String {
    spelling.chars().filter(char::is_ascii_alphanumeric).map(|it| it.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests;
