//! The catalogue of tools: names, descriptions, schemas, and which caller sees which tool.
//!
//! One file for each family. A tool has one canonical name; other spellings are accepted silently.

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

/// A tool as clients list it.
#[derive(Clone, Debug)]
pub struct ToolInfo {
    pub name: &'static str,
    pub title: &'static str,
    pub description: &'static str,
    pub changes: Changes,
    pub audience: Audience,
    /// JSON schema of the arguments; always an object.
    pub input: Value,
    /// JSON schema of the structured result; always an object.
    pub output: Value,
    /// Arguments of a valid call.
    pub example: &'static str,
}

/// What a call changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changes {
    Nothing,
    /// Only adds something.
    Adds,
    /// Ends or discards something.
    Ends,
}

/// The callers that may use a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    Everybody,
    /// Workers on a task or a sub-task.
    Workers,
    /// Callers that may submit plans: workers of a plan, and outside clients.
    Planners,
    /// Callers that may spawn sub-tasks.
    Parents,
    /// Workers that may spawn sub-tasks.
    WorkingParents,
    /// Parents, and outside clients.
    Drivers,
    Subtasks,
    Clients,
}

/// The role of a caller. Decides which tools it sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The worker of a plan's task.
    Worker { spawning: Spawning },
    /// The worker of a sub-task.
    Subtask { spawning: Spawning },
    /// A person's own agent, from outside.
    Client { spawning: Spawning },
}

/// Whether the depth and the permissions of a caller allow sub-tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spawning {
    Allowed,
    Refused,
}

static TOOLS: LazyLock<Vec<ToolInfo>> =
    LazyLock::new(|| [orchestrator::tools(), a2a::tools()].concat());

/// Returns every tool.
pub fn tools() -> &'static [ToolInfo] {
    &TOOLS
}

/// Returns the tools that a caller sees. A tool that it does not see cannot be called either.
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

/// Prefixes that agents add to the names of tools: their own, or that of our server.
const SURFACES: &[&str] = &["mcppitcrew", "copilot", "pitcrew"];
/// The families of tools. Callers may omit them.
const FAMILIES: &[&str] = &["orchestrator", "a2a"];

/// Aliases of tools, reduced to letters.
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

/// Returns the canonical name of a tool. `orchestrator_completeTask`,
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

/// Returns the letters and digits in lower case, which all spellings of a name share.
pub(crate) fn letters(spelling: &str) -> String {
    spelling.chars().filter(char::is_ascii_alphanumeric).map(|it| it.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests;
