//! Delegation: sub-tasks, messages, and queries about code outside the region.

use super::{
    Audience, Changes, ToolInfo,
    orchestrator::outcome,
    schema::{accepted, choice, object, text, texts},
};
use serde_json::{Value, json};

/// Lists the agents that can do a sub-task.
pub const LIST_AGENTS: &str = "a2a_list_agents";
/// Delegates one sub-task.
pub const SPAWN_SUBTASK: &str = "a2a_spawn_subtask";
/// Delegates several at once: all or none.
pub const SPAWN_PARALLEL_SUBTASKS: &str = "a2a_spawn_parallel_subtasks";
/// Waits for sub-tasks.
pub const AWAIT_SUBTASKS: &str = "a2a_await_subtasks";
/// Returns the current results of sub-tasks, without waiting.
pub const GET_SUBTASK_RESULTS: &str = "a2a_get_subtask_results";
/// Ends a sub-task. Called by its worker.
pub const SUBTASK_COMPLETE: &str = "a2a_subtask_complete";
/// Brings the changes of a sub-task into the parent's checkout.
pub const PULL_SUBTASK_CHANGES: &str = "a2a_pull_subtask_changes";
/// Approves or denies requests of sub-tasks.
pub const DECIDE_PERMISSIONS: &str = "a2a_decide_permissions";
/// Sends a message.
pub const NOTIFY_ORCHESTRATOR: &str = "a2a_notify_orchestrator";
/// Looks up a symbol outside the caller's region.
pub const QUERY: &str = "a2a_query";

pub const NAMES: &[&str] = &[
    LIST_AGENTS,
    SPAWN_SUBTASK,
    SPAWN_PARALLEL_SUBTASKS,
    AWAIT_SUBTASKS,
    GET_SUBTASK_RESULTS,
    SUBTASK_COMPLETE,
    PULL_SUBTASK_CHANGES,
    DECIDE_PERMISSIONS,
    NOTIFY_ORCHESTRATOR,
    QUERY,
];

pub fn tools() -> Vec<ToolInfo> {
    vec![
        list_agents(),
        spawn_subtask(),
        spawn_parallel_subtasks(),
        await_subtasks(),
        get_subtask_results(),
        subtask_complete(),
        pull_subtask_changes(),
        decide_permissions(),
        notify_orchestrator(),
        query(),
    ]
}

fn list_agents() -> ToolInfo {
    let agent = object(
        json!({
            "name": { "type": "string", "description": "The value for `agent`." },
            "kind": { "type": "string", "description": "backend: a program. role: instructions for a backend; write it as `role`, `@role` or `backend:role`." },
            "status": { "type": "string", "description": "ready, or what is missing." },
            "description": { "type": "string" },
            "backend": { "type": ["string", "null"], "description": "The default backend of the role." },
            "strengths": { "type": "array", "items": { "type": "string" } },
            "weaknesses": { "type": "array", "items": { "type": "string" } },
            "models": { "type": "array", "items": { "type": "string" } },
            "tools": { "type": "array", "items": { "type": "string" } },
            "source": { "type": "string", "description": "The file that defines the role." }
        }),
        &["name", "status"],
    );
    ToolInfo {
        name: LIST_AGENTS,
        title: "List agents",
        description: "List the agents that can do tasks and sub-tasks.\n\
            Use only agents whose status is `ready`.",
        changes: Changes::Nothing,
        audience: Audience::Drivers,
        input: object(json!({}), &[]),
        output: object(json!({ "agents": { "type": "array", "items": agent } }), &["agents"]),
        example: "{}",
    }
}

/// Returns the schema of one sub-task.
fn subtask_schema() -> Value {
    object(
        json!({
            "agent": text("The agent that does it: a name from a2a_list_agents."),
            "prompt": text("What to do. Include everything the agent needs: it does not see your conversation."),
            "expected_output": { "type": "string", "description": "What the result must contain.", "examples": ["a list of files with one line on each"] },
            "workspace": choice(&["read_only", "isolated", "shared"], None, "read_only: it reads a copy of your checkout; use this for advice, research and review. isolated: it changes its own copy; call a2a_pull_subtask_changes to get the changes. shared: it changes target_files in your checkout. Default: isolated if you set target_files, script or command; otherwise read_only."),
            "target_files": texts("Files or folders that it may change.", json!(["src/parser.rs"])),
            "model": { "type": "string", "description": "The model. Default: the agent's default model." },
            "timeout": { "type": "string", "description": "Stop the sub-task after this time. What it did so far is the result.", "examples": ["10m"] },
            "script": { "type": "string", "description": "Steps for the agent `builtin` instead of a model." },
            "command": { "type": "string", "description": "A shell command for the agent `command`." }
        }),
        &["agent", "prompt"],
    )
}

fn spawn_subtask() -> ToolInfo {
    let mut input = subtask_schema();
    input["properties"]["blocking"] = json!({
        "type": "boolean",
        "default": false,
        "description": "true: wait for the result. false: return the id at once; continue working, and call a2a_await_subtasks when you need the result."
    });
    ToolInfo {
        name: SPAWN_SUBTASK,
        title: "Spawn a sub-task",
        description: "Delegate a part of your task to another agent and get its result.\n\
            Delegate only work that is worth a session of its own.",
        changes: Changes::Adds,
        audience: Audience::Parents,
        input,
        output: spawned(),
        example: r#"{"agent": "claude", "prompt": "Review src/parser.rs for panics on bad input.", "expected_output": "a list of file:line with the reason", "blocking": true}"#,
    }
}

fn spawn_parallel_subtasks() -> ToolInfo {
    let input = object(
        json!({
            "subtasks": { "type": "array", "minItems": 1, "items": subtask_schema(), "description": "The sub-tasks. Either all are accepted or none." },
            "blocking": { "type": "boolean", "default": false, "description": "true: wait for all results. false: return the ids at once." }
        }),
        &["subtasks"],
    );
    ToolInfo {
        name: SPAWN_PARALLEL_SUBTASKS,
        title: "Spawn several sub-tasks",
        description: "Delegate several parts of your task at once.\n\
            The sub-tasks run in parallel if enough slots are free.",
        changes: Changes::Adds,
        audience: Audience::Parents,
        input,
        output: spawned(),
        example: r#"{"subtasks": [{"agent": "claude", "prompt": "Review src/a.rs."}, {"agent": "codex", "prompt": "Review src/b.rs."}], "blocking": true}"#,
    }
}

fn spawned() -> Value {
    accepted(json!({
        "id": { "type": "string", "description": "The id of the first sub-task, such as subtask-14." },
        "subtasks": { "type": "array", "items": { "type": "string" }, "description": "The ids of all sub-tasks, in the order of the call." },
        "results": results(),
        "requests": asked(),
        "questions": questions()
    }))
}

fn questions() -> Value {
    let question = object(
        json!({
            "message": { "type": "string" },
            "from": { "type": "string" },
            "content": { "type": "string" }
        }),
        &["message", "from", "content"],
    );
    json!({ "type": "array", "items": question, "description": "Questions to you. Answer each with a2a_notify_orchestrator." })
}

fn asked() -> Value {
    let request = object(
        json!({
            "request": { "type": "string" },
            "subtask": { "type": "string" },
            "action": { "type": "string" },
            "title": { "type": "string" },
            "command": { "type": "string" }
        }),
        &["request", "subtask", "title"],
    );
    json!({ "type": "array", "items": request, "description": "Permissions that your sub-tasks request. Decide each with a2a_decide_permissions." })
}

fn results() -> Value {
    let result = object(
        json!({
            "subtask": { "type": "string" },
            "status": { "type": "string", "description": "success, partial, failed, timeout or cancelled; pending while it runs." },
            "output": { "type": "string" },
            "output_file": { "type": "string" },
            "error": { "type": "string" },
            "files_changed": { "type": "integer", "description": "The number of files changed in its own checkout. Call a2a_pull_subtask_changes to get them." }
        }),
        &["subtask", "status", "output"],
    );
    json!({ "type": "array", "items": result, "description": "One entry for each sub-task of the call, finished or not." })
}

fn ids(description: &str) -> Value {
    texts(description, json!(["subtask-14", "subtask-15"]))
}

fn await_subtasks() -> ToolInfo {
    ToolInfo {
        name: AWAIT_SUBTASKS,
        title: "Wait for sub-tasks",
        description: "Wait until your sub-tasks have ended, and return their results.\n\
            The call also returns on timeout, or when a sub-task needs you; sub-tasks that still \
            run are `pending` then.\n\
            Answer what it asks, then call this again.",
        changes: Changes::Nothing,
        audience: Audience::Parents,
        input: object(
            json!({
                "ids": ids("The sub-tasks. Default: all of yours. Required for outside clients."),
                "timeout": { "type": "string", "description": "The longest time to wait.", "examples": ["10m", "90s"] }
            }),
            &[],
        ),
        output: object(
            json!({ "results": results(), "requests": asked(), "questions": questions() }),
            &["results"],
        ),
        example: r#"{"ids": ["subtask-14", "subtask-15"], "timeout": "10m"}"#,
    }
}

fn get_subtask_results() -> ToolInfo {
    ToolInfo {
        name: GET_SUBTASK_RESULTS,
        title: "Read sub-task results",
        description: "Return the results of your sub-tasks so far, without waiting.\n\
            You can call this as often as you like.",
        changes: Changes::Nothing,
        audience: Audience::Parents,
        input: object(
            json!({ "ids": ids("The sub-tasks. Default: all of yours. Required for outside clients.") }),
            &[],
        ),
        output: object(json!({ "results": results() }), &["results"]),
        example: r#"{"ids": ["subtask-14"]}"#,
    }
}

fn subtask_complete() -> ToolInfo {
    ToolInfo {
        name: SUBTASK_COMPLETE,
        title: "Complete the sub-task",
        description: "Report that your sub-task has ended.\n\
            Call this exactly once. Do not just end your turn: without this call the sub-task is \
            not done.\n\
            Your parent gets `output` as the result.\n\
            After the call, change nothing and end your turn.",
        changes: Changes::Ends,
        audience: Audience::Subtasks,
        input: object(
            json!({
                "output": text("The result for your parent, in the form it asked for. Your parent sees nothing else."),
                "outcome": outcome(),
            }),
            &["output"],
        ),
        output: accepted(json!({})),
        example: r#"{"output": "src/parser.rs:40 panics on an empty line; nothing else does"}"#,
    }
}

fn pull_subtask_changes() -> ToolInfo {
    ToolInfo {
        name: PULL_SUBTASK_CHANGES,
        title: "Pull sub-task changes",
        description: "Bring the changes of an isolated sub-task into your checkout.\n\
            On a conflict the call lists the files and changes nothing.",
        changes: Changes::Adds,
        audience: Audience::WorkingParents,
        input: object(
            json!({ "id": text("The sub-task, such as subtask-14. It must have ended.") }),
            &["id"],
        ),
        output: accepted(json!({
            "subtask": { "type": "string" },
            "files": { "type": "array", "items": { "type": "string" } }
        })),
        example: r#"{"id": "subtask-14"}"#,
    }
}

fn decide_permissions() -> ToolInfo {
    ToolInfo {
        name: DECIDE_PERMISSIONS,
        title: "Decide requests of sub-tasks",
        description: "Approve or deny requests of your sub-tasks.\n\
            You can approve only what you may do yourself. Other requests go to a person.",
        changes: Changes::Adds,
        audience: Audience::WorkingParents,
        input: object(
            json!({
                "requests": texts("The ids of the requests that you received.", json!(["request-5"])),
                "verdict": choice(&["approve", "deny"], None, "The decision for all of them."),
                "reason": { "type": "string", "description": "The reason. The sub-task sees it." }
            }),
            &["requests", "verdict"],
        ),
        output: accepted(json!({ "requests": { "type": "array", "items": { "type": "string" } } })),
        example: r#"{"requests": ["request-5"], "verdict": "deny", "reason": "it needs no network"}"#,
    }
}

fn notify_orchestrator() -> ToolInfo {
    ToolInfo {
        name: NOTIFY_ORCHESTRATOR,
        title: "Send a message",
        description: "Send a note, ask a question, or answer one.\n\
            After a note, continue working.\n\
            After a question, end your turn. The answer is in your next prompt.\n\
            Ask only what you cannot find out yourself.\n\
            Without `to`, a note goes to the orchestrator and a question to a person.",
        changes: Changes::Adds,
        audience: Audience::Workers,
        input: object(
            json!({
                "kind": choice(&["status", "question", "answer", "completion", "error"], None, "status: for information. question: you need an answer to continue. answer: the answer to a message you received. completion: a part is done (this does not end your task). error: something is wrong."),
                "message": text("The text. Include everything the reader needs: it does not see your conversation."),
                "to": text("orchestrator (the default), parent (the worker that delegated your task), or a worker such as worker-3."),
                "reply_to": text("For kind answer: the id of the message you answer, such as message-4."),
            }),
            &["kind", "message"],
        ),
        output: accepted(json!({})),
        example: r#"{"kind": "question", "message": "Which port should the server use?"}"#,
    }
}

fn query() -> ToolInfo {
    ToolInfo {
        name: QUERY,
        title: "Look up a symbol",
        description: "Look up the signature, fields and location of a symbol outside your region.\n\
            Use this instead of reading files outside your region.\n\
            An index answers at once, for free. If the index lacks the symbol, the agent that works \
            on that code is asked between two of its turns, which may take a minute.",
        changes: Changes::Nothing,
        audience: Audience::Workers,
        input: object(
            json!({
                "symbol": { "type": "string", "description": "The name, such as AuthValidator, auth::check, or core/auth.rs AuthValidator.", "examples": ["AuthValidator"] },
                "question": { "type": "string", "description": "Instead of `symbol`: a question that contains the name.", "examples": ["What are the fields of `AuthValidator`?"] },
                "context": { "type": "string", "description": "An import line, or the path where you expect the symbol. It resolves names that occur more than once.", "examples": ["use core::auth::AuthValidator;"] }
            }),
            &[],
        ),
        output: object(
            json!({
                "found": { "type": "boolean" },
                "query": { "type": "string" },
                "answer": { "type": "string" },
                "outcome": { "type": "string", "description": "indexed, cached, answered or overheard; otherwise the reason why there is no answer." },
                "owner": { "type": "string", "description": "The worker that was asked." },
                "tokens_spent": { "type": "integer" },
                "tokens_saved": { "type": "integer" }
            }),
            &["found", "answer"],
        ),
        example: r#"{"symbol": "AuthValidator", "context": "use core::auth::AuthValidator;"}"#,
    }
}
