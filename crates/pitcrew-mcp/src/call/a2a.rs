//! Calls about sub-tasks, messages and permissions.

use super::{
    ToolCall, ToolCallError,
    arguments::{Arguments, TASK_ID, task_id},
};
use crate::catalogue::letters;
use pitcrew_model::{
    Addressee, AgentRef, MessageId, NoteKind, RepoPath, RequestId, TaskId, Verdict, limits,
};
use serde_json::Value;

/// Sub-tasks to spawn: all of them or none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spawn {
    pub subtasks: Vec<SubtaskRequest>,
    pub blocking: bool,
}

/// One sub-task as its parent describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubtaskRequest {
    pub agent: AgentRef,
    pub prompt: String,
    pub expected_output: String,
    pub model: Option<String>,
    /// Absent: derived from `target_files` and the kind of work.
    pub workspace: Option<WorkspaceChoice>,
    pub target_files: Vec<RepoPath>,
    pub timeout_ms: Option<u64>,
    pub script: Option<String>,
    pub command: Option<String>,
}

/// The workspace mode of a sub-task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkspaceChoice {
    ReadOnly,
    Isolated,
    Shared,
}

pub fn spawn_one(arguments: &Arguments) -> Result<ToolCall, ToolCallError> {
    let subtasks = vec![subtask(arguments)?];
    Ok(ToolCall::Spawn(Spawn { subtasks, blocking: blocking(arguments)? }))
}

pub fn spawn_several(arguments: &Arguments) -> Result<ToolCall, ToolCallError> {
    let needed = "a list of objects";
    let missing = || arguments.missing("subtasks", needed);
    let list = arguments.find(&["subtasks", "tasks", "items"]).ok_or_else(missing)?;
    let items = list.as_array().ok_or_else(|| arguments.wrong("subtasks", list, needed))?;
    if items.is_empty() {
        return Err(missing());
    }
    let read = |it: &Value| {
        let inner = arguments.inner("subtasks", it)?;
        let subtask = subtask(&inner)?;
        inner.check_spelling().map(|()| subtask)
    };
    let subtasks = items.iter().map(read).collect::<Result<_, _>>()?;
    Ok(ToolCall::Spawn(Spawn { subtasks, blocking: blocking(arguments)? }))
}

fn blocking(arguments: &Arguments) -> Result<bool, ToolCallError> {
    let flag = arguments.flag("blocking", &["blocking", "wait", "block"])?;
    Ok(flag.unwrap_or(false))
}

fn subtask(arguments: &Arguments) -> Result<SubtaskRequest, ToolCallError> {
    let (script, command) =
        (arguments.text("script", &["script"])?, arguments.text("command", &["command", "cmd"])?);
    let prompt = arguments.text("prompt", &["prompt", "task", "instructions", "description"])?;
    let prompt = prompt.or_else(|| command.clone().or_else(|| script.clone()));
    let missing = || arguments.missing("prompt", "a non-empty string");
    Ok(SubtaskRequest {
        agent: agent(arguments)?,
        prompt: prompt.ok_or_else(missing)?,
        expected_output: arguments
            .text("expected_output", &["expectedoutput", "expected", "output"])?
            .unwrap_or_default(),
        model: arguments.text("model", &["model"])?,
        workspace: workspace(arguments)?,
        target_files: target_files(arguments)?,
        timeout_ms: arguments.milliseconds("timeout", &["timeout"])?,
        script,
        command,
    })
}

fn agent(arguments: &Arguments) -> Result<AgentRef, ToolCallError> {
    let value = arguments.find(&["agent", "agenttype", "agentname", "backend"]);
    let value = value.ok_or_else(|| arguments.missing("agent", "a name from `a2a_list_agents`"))?;
    let agent = value.as_str().and_then(|it| it.trim().parse().ok());
    agent.ok_or_else(|| arguments.wrong("agent", value, "a name from `a2a_list_agents`"))
}

fn workspace(arguments: &Arguments) -> Result<Option<WorkspaceChoice>, ToolCallError> {
    let Some(value) = arguments.find(&["workspace", "workspacemode", "mode"]) else {
        return Ok(None);
    };
    match letters(value.as_str().unwrap_or_default()).as_str() {
        "readonly" | "read" => Ok(Some(WorkspaceChoice::ReadOnly)),
        "isolated" | "isolate" | "worktree" => Ok(Some(WorkspaceChoice::Isolated)),
        "shared" | "share" => Ok(Some(WorkspaceChoice::Shared)),
        _ => {
            let allowed = "one of `read_only`, `isolated`, `shared`";
            Err(arguments.wrong("workspace", value, allowed))
        }
    }
}

fn target_files(arguments: &Arguments) -> Result<Vec<RepoPath>, ToolCallError> {
    let keys = &["targetfiles", "targets", "files", "region"];
    let paths = arguments.texts("target_files", keys)?;
    let parse = |it: &String| {
        RepoPath::parse_prefix(it).map_err(|_| {
            arguments.wrong("target_files", &it.as_str().into(), "paths inside the repository")
        })
    };
    paths.iter().map(parse).collect()
}

/// The keys under which callers send the ids of sub-tasks.
const IDS: &[&str] = &[
    "ids",
    "id",
    "taskids",
    "taskid",
    "subtasks",
    "subtaskids",
    "subtaskid",
    "subtask",
    "tasks",
    "task",
];

pub fn ids(arguments: &Arguments) -> Result<Vec<TaskId>, ToolCallError> {
    let Some(value) = arguments.find(IDS) else { return Ok(Vec::new()) };
    let wrong = |it: &Value| arguments.wrong("ids", it, TASK_ID);
    let several = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    several.iter().map(|it| task_id(it).ok_or_else(|| wrong(it))).collect()
}

pub fn pull(arguments: &Arguments) -> Result<ToolCall, ToolCallError> {
    match ids(arguments)?[..] {
        [task] => Ok(ToolCall::PullSubtask { task }),
        [] => Err(arguments.missing("id", "an id")),
        [..] => {
            let given = arguments.find(IDS).unwrap_or(&Value::Null);
            Err(arguments.wrong("id", given, "one sub-task: call once for each"))
        }
    }
}

pub fn await_subtasks(arguments: &Arguments) -> Result<ToolCall, ToolCallError> {
    let timeout_ms = arguments.milliseconds("timeout", &["timeout", "timeoutseconds"])?;
    Ok(ToolCall::AwaitSubtasks { tasks: ids(arguments)?, timeout_ms })
}

pub fn decide_permissions(arguments: &Arguments) -> Result<ToolCall, ToolCallError> {
    let keys = &["requests", "request", "requestids", "requestid", "ids", "id"];
    let named = arguments.texts("requests", keys)?;
    if named.is_empty() {
        return Err(arguments.missing("requests", "a list of ids"));
    }
    let parse = |it: &String| -> Result<RequestId, ToolCallError> {
        let wrong = |_| arguments.wrong("requests", &it.as_str().into(), "ids such as `request-5`");
        it.trim().parse().map_err(wrong)
    };
    let requests = named.iter().map(parse).collect::<Result<_, _>>()?;
    let value = arguments.find(&["verdict", "decision", "approved", "approve"]);
    let value = value.ok_or_else(|| arguments.missing("verdict", "`approve` or `deny`"))?;
    let word = value.as_str().map(letters);
    let verdict = match (value, word.as_deref()) {
        (Value::Bool(true), _) | (_, Some("approve" | "approved" | "allow" | "yes")) => {
            Verdict::Approve
        }
        (Value::Bool(false), _) | (_, Some("deny" | "denied" | "reject" | "no")) => Verdict::Deny,
        (_, Some(_) | None) => {
            return Err(arguments.wrong("verdict", value, "one of `approve`, `deny`"));
        }
    };
    let reason = arguments.words(&["reason", "message", "why"], limits::SUMMARY_BYTES_MAX);
    Ok(ToolCall::DecidePermissions { requests, verdict, reason })
}

pub fn notify(arguments: &Arguments) -> Result<ToolCall, ToolCallError> {
    let words = "a non-empty string";
    let keys = &["message", "text", "content", "question", "status"];
    let message = arguments.words(keys, limits::SUMMARY_BYTES_MAX);
    let message = message.ok_or_else(|| arguments.missing("message", words))?;
    // A `question` without a kind is a question.
    let kind = match arguments.find(&["kind", "type"]) {
        None if arguments.find(&["question"]).is_some() => "question".to_owned(),
        None => return Err(arguments.missing("kind", words)),
        Some(value) => letters(value.as_str().unwrap_or_default()),
    };
    let kind = match kind.as_str() {
        "status" | "statusupdate" | "info" | "progress" => NoteKind::Status,
        "question" | "clarification" | "ask" => NoteKind::Question,
        "completion" | "completed" | "complete" | "done" => NoteKind::Completion,
        "error" | "failure" | "problem" | "warning" => NoteKind::Error,
        "answer" | "reply" | "response" => NoteKind::Answer,
        _ => {
            let value = arguments.find(&["kind", "type"]).unwrap_or(&Value::Null);
            let allowed = "one of `status`, `question`, `answer`, `completion`, `error`";
            return Err(arguments.wrong("kind", value, allowed));
        }
    };
    let (to, reply_to) = (addressee(arguments)?, reply_to(arguments)?);
    Ok(ToolCall::Notify { kind, message, to, reply_to })
}

/// Returns the addressee, by default the orchestrator.
fn addressee(arguments: &Arguments) -> Result<Addressee, ToolCallError> {
    let Some(value) = arguments.find(&["to", "recipient", "worker"]) else {
        return Ok(Addressee::Orchestrator);
    };
    let name = value.as_str().unwrap_or_default().trim();
    match letters(name).as_str() {
        "orchestrator" | "person" | "user" => Ok(Addressee::Orchestrator),
        "parent" => Ok(Addressee::Parent),
        _ => name.parse().map(Addressee::Worker).map_err(|_| {
            let allowed = "`orchestrator`, `parent`, or a worker such as `worker-3`";
            arguments.wrong("to", value, allowed)
        }),
    }
}

fn reply_to(arguments: &Arguments) -> Result<Option<MessageId>, ToolCallError> {
    let keys = &["replyto", "inreplyto", "messageid"];
    let Some(value) = arguments.find(keys) else { return Ok(None) };
    let id = value.as_str().and_then(|it| it.trim().parse().ok());
    let allowed = "the id of a message that you received, such as `message-4`";
    id.map(Some).ok_or_else(|| arguments.wrong("reply_to", value, allowed))
}
