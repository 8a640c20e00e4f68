//! The paths of the API. The constants are route patterns; the functions fill them in.

use pitcrew_model::{MessageStatus, PlanId, Seq, TaskId, WorkerId};
use serde::{Deserialize, Serialize};

pub const HEALTH: &str = "/v1/health";
pub const BOARD: &str = "/v1/board";
pub const INBOX: &str = "/v1/inbox";
pub const MESSAGES: &str = "/v1/messages";
pub const PERMISSIONS: &str = "/v1/permissions";
pub const COMMANDS: &str = "/v1/commands";
pub const EVENTS: &str = "/v1/events";
pub const TASK_LOG: &str = "/v1/tasks/{id}/log";
pub const TASK_DIFF: &str = "/v1/tasks/{id}/diff";
pub const TASK_PATH: &str = "/v1/tasks/{id}/path";
pub const TASK_SNAPSHOTS: &str = "/v1/tasks/{id}/snapshots";
pub const PLAN_REVIEW: &str = "/v1/plans/{id}/review";
pub const TOOLS: &str = "/v1/tools";
pub const TOOL: &str = "/v1/tools/{name}";
pub const MCP_OPEN: &str = "/v1/mcp";
/// The only path of the loopback port.
pub const MCP: &str = "/mcp";
pub const SHUTDOWN: &str = "/v1/shutdown";
pub const GARBAGE: &str = "/v1/gc";

/// The query of `GET /v1/board`. Empty: the current plans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BoardQuery {
    /// Include settled plans.
    pub all: bool,
    /// Only this plan.
    pub plan: Option<PlanId>,
}

/// The query of `GET /v1/messages`. Empty: all messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MessagesQuery {
    pub plan: Option<PlanId>,
    /// Sent by it, addressed to it, or read by it.
    pub worker: Option<WorkerId>,
    pub status: Option<MessageStatus>,
}

/// The query of `GET /v1/events`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EventsQuery {
    /// The last entry of the client; 0 for all entries.
    pub after: Seq,
    /// Keep the stream open and send new entries.
    pub follow: bool,
}

/// The query of `GET /v1/tasks/{id}/log`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LogQuery {
    /// The number of lines to skip: the `number` of the client's last line.
    pub from: u64,
    /// Keep the stream open until the task has ended.
    pub follow: bool,
}

/// The query of `POST /v1/tools/{name}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolQuery {
    /// The idempotency key of the call. A repeated call is answered like the first, and carried out
    /// once.
    pub nonce: Option<String>,
}

pub fn board(query: BoardQuery) -> String {
    let plan = query.plan.map(|it| format!("&plan={it}")).unwrap_or_default();
    format!("{BOARD}?all={}{plan}", query.all)
}

pub fn messages(query: MessagesQuery) -> String {
    let plan = query.plan.map(|it| format!("plan={it}&")).unwrap_or_default();
    let worker = query.worker.map(|it| format!("worker={it}&")).unwrap_or_default();
    let status = query.status.map(|it| format!("status={it}")).unwrap_or_default();
    format!("{MESSAGES}?{plan}{worker}{status}")
}

pub fn events(query: EventsQuery) -> String {
    format!("{EVENTS}?after={}&follow={}", query.after, query.follow)
}

pub fn task_log(task: TaskId, query: LogQuery) -> String {
    let path = TASK_LOG.replace("{id}", &task.to_string());
    format!("{path}?from={}&follow={}", query.from, query.follow)
}

pub fn task_diff(task: TaskId) -> String {
    TASK_DIFF.replace("{id}", &task.to_string())
}

pub fn task_path(task: TaskId) -> String {
    TASK_PATH.replace("{id}", &task.to_string())
}

pub fn task_snapshots(task: TaskId) -> String {
    TASK_SNAPSHOTS.replace("{id}", &task.to_string())
}

pub fn plan_review(plan: PlanId) -> String {
    PLAN_REVIEW.replace("{id}", &plan.to_string())
}

/// Returns the path; none if `name` or `nonce` contains characters that must not be in a path.
pub fn tool(name: &str, nonce: &str) -> Option<String> {
    let plain = |it: u8| it.is_ascii_alphanumeric() || it == b'_';
    let is_plain = |it: &str| !it.is_empty() && it.bytes().all(plain);
    let named = is_plain(name) && is_plain(nonce);
    named.then(|| format!("{}?nonce={nonce}", TOOL.replace("{name}", name)))
}
