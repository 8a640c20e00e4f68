//! Delegation: sub-tasks, words to the orchestrator, and questions about code of others.

use super::{
    Audience, Changes, ToolInfo,
    orchestrator::outcome,
    schema::{accepted, choice, object, text, texts},
};
use serde_json::{Value, json};

/// Shows who could do a sub-task.
pub const LIST_AGENTS: &str = "a2a_list_agents";
/// Delegates one unit of work.
pub const SPAWN_SUBTASK: &str = "a2a_spawn_subtask";
/// Delegates several at once: all or none.
pub const SPAWN_PARALLEL_SUBTASKS: &str = "a2a_spawn_parallel_subtasks";
/// Waits for sub-tasks.
pub const AWAIT_SUBTASKS: &str = "a2a_await_subtasks";
/// Reads what sub-tasks came to, as often as wanted.
pub const GET_SUBTASK_RESULTS: &str = "a2a_get_subtask_results";
/// Ends a sub-task, said by its worker.
pub const SUBTASK_COMPLETE: &str = "a2a_subtask_complete";
/// Brings the changes of a sub-task into the parent's checkout.
pub const PULL_SUBTASK_CHANGES: &str = "a2a_pull_subtask_changes";
/// Decides what sub-tasks ask for.
pub const DECIDE_PERMISSIONS: &str = "a2a_decide_permissions";
/// Tells or asks something.
pub const NOTIFY_ORCHESTRATOR: &str = "a2a_notify_orchestrator";
/// Asks what something in code of others is.
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
            "name": { "type": "string", "description": "What to give as `agent`." },
            "kind": { "type": "string", "description": "backend: a program. role: how one is told to behave; written `role`, `@role` or `backend:role`." },
            "status": { "type": "string", "description": "ready, or what is missing." },
            "description": { "type": "string" },
            "backend": { "type": ["string", "null"], "description": "Who plays the role, unless you say." },
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
        title: "List the agents",
        description: "List the agents that can be given tasks and sub-tasks, and whether each is \
            ready on this machine.",
        changes: Changes::Nothing,
        audience: Audience::Drivers,
        input: object(json!({}), &[]),
        output: object(json!({ "agents": { "type": "array", "items": agent } }), &["agents"]),
        example: "{}",
    }
}

/// One sub-task, as an object.
fn subtask_schema() -> Value {
    object(
        json!({
            "agent": text("Who does it, by a name of a2a_list_agents."),
            "prompt": text("What to do, complete in itself: the agent sees nothing of your conversation."),
            "expected_output": { "type": "string", "description": "What the result has to hold, so that you can go on with it.", "examples": ["a list of files with one line on each"] },
            "workspace": choice(&["read_only", "isolated", "shared"], None, "read_only: it reads a copy of your checkout as it is now (usual for advice, research and review). isolated: it changes a copy of its own; you fetch its work with a2a_pull_subtask_changes. shared: it works in your checkout, on target_files only. Absent: isolated where target_files are named or a script or command is given, else read_only."),
            "target_files": texts("Files or folders that it may change.", json!(["src/parser.rs"])),
            "model": { "type": "string", "description": "A model of the agent; its usual one where absent." },
            "timeout": { "type": "string", "description": "At most so long, then what there is counts.", "examples": ["10m"] },
            "script": { "type": "string", "description": "Steps for the agent `builtin` in place of a model." },
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
        "description": "true: the call returns when the sub-task has ended, with its result. false: it returns at once with the id; go on working, and call a2a_await_subtasks when you need the result."
    });
    ToolInfo {
        name: SPAWN_SUBTASK,
        title: "Spawn a sub-task",
        description: "Give another agent a part of your task. You keep your context and get the \
            result back. Spawn only what is worth a session of its own.",
        changes: Changes::Adds,
        audience: Audience::Parents,
        input,
        output: spawned(),
        example: r#"{"agent": "claude", "prompt": "Review src/parser.rs for panics on bad input.", "expected_output": "a list of places", "blocking": true}"#,
    }
}

fn spawn_parallel_subtasks() -> ToolInfo {
    let input = object(
        json!({
            "subtasks": { "type": "array", "minItems": 1, "items": subtask_schema(), "description": "The sub-tasks. All are taken, or none." },
            "blocking": { "type": "boolean", "default": false, "description": "true: the call returns when all have ended." }
        }),
        &["subtasks"],
    );
    ToolInfo {
        name: SPAWN_PARALLEL_SUBTASKS,
        title: "Spawn several sub-tasks",
        description: "Give several parts of your task to other agents at once. They run at the \
            same time, as far as there are slots.",
        changes: Changes::Adds,
        audience: Audience::Parents,
        input,
        output: spawned(),
        example: r#"{"subtasks": [{"agent": "claude", "prompt": "Review src/a.rs."}, {"agent": "codex", "prompt": "Review src/b.rs."}], "blocking": true}"#,
    }
}

fn spawned() -> Value {
    accepted(json!({
        "id": { "type": "string", "description": "The first of them, such as subtask-14." },
        "subtasks": { "type": "array", "items": { "type": "string" }, "description": "Their ids, in the order in which they were given." },
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
    json!({ "type": "array", "items": question, "description": "What others ask you: answer with a2a_notify_orchestrator." })
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
    json!({ "type": "array", "items": request, "description": "What sub-tasks ask you for: decide with a2a_decide_permissions." })
}

fn results() -> Value {
    let result = object(
        json!({
            "subtask": { "type": "string" },
            "status": { "type": "string", "description": "success, partial, failed, timeout or cancelled; pending while it runs." },
            "output": { "type": "string" },
            "output_file": { "type": "string" },
            "error": { "type": "string" },
            "files_changed": { "type": "integer", "description": "In a checkout of its own: a2a_pull_subtask_changes brings them into yours." }
        }),
        &["subtask", "status", "output"],
    );
    json!({ "type": "array", "items": result, "description": "One for each sub-task that was asked for, finished or not." })
}

fn ids(description: &str) -> Value {
    texts(description, json!(["subtask-14", "subtask-15"]))
}

fn await_subtasks() -> ToolInfo {
    ToolInfo {
        name: AWAIT_SUBTASKS,
        title: "Wait for sub-tasks",
        description: "Wait until sub-tasks of yours have ended, and get their results. The call \
            stays open meanwhile. It also returns when the time is over, or when a sub-task needs \
            you; what has not ended is named as pending then. Do what it asks of you, and wait again.",
        changes: Changes::Nothing,
        audience: Audience::Parents,
        input: object(
            json!({
                "ids": ids("Which ones; all of yours where absent (a worker's: whoever works for no plan names them)."),
                "timeout": { "type": "string", "description": "Wait no longer than this.", "examples": ["10m", "90s"] }
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
        title: "Read results of sub-tasks",
        description: "Read what sub-tasks of yours came to so far, without waiting. Results can be \
            read as often as you like.",
        changes: Changes::Nothing,
        audience: Audience::Parents,
        input: object(
            json!({ "ids": ids("Which ones; all of yours where absent (a worker's: whoever works for no plan names them).") }),
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
        description: "Report that your sub-task has ended. Call this exactly once; a turn that \
            ends without this call does not count as completion. Your parent gets `output` as the \
            result. After the call make no further changes and end your turn.",
        changes: Changes::Ends,
        audience: Audience::Subtasks,
        input: object(
            json!({
                "output": text("The result for your parent, complete in itself: what it asked for, in the form in which it asked for it."),
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
        title: "Pull changes of a sub-task",
        description: "Bring what an isolated sub-task of yours changed into your checkout. Nothing \
            of it is there before. Conflicts are named, and your checkout stays as it was then.",
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
        title: "Decide what sub-tasks ask for",
        description: "Approve or deny what sub-tasks of yours ask you for. You can grant only what \
            you may do yourself; anything else goes on to the orchestrator and to a person.",
        changes: Changes::Adds,
        audience: Audience::WorkingParents,
        input: object(
            json!({
                "requests": texts("The ids of the requests, as they were told to you.", json!(["request-5"])),
                "verdict": choice(&["approve", "deny"], None, "The same for all of them."),
                "reason": { "type": "string", "description": "Why, for the sub-task and for the record." }
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
        title: "Tell or ask the orchestrator",
        description: "Send a note, ask a question, or answer one. A note needs no answer: go on \
            working. After a question end your turn: the answer arrives as your next prompt. Ask \
            only what you cannot find out yourself. Without `to` it goes to the orchestrator, and \
            a question to a person.",
        changes: Changes::Adds,
        audience: Audience::Workers,
        input: object(
            json!({
                "kind": choice(&["status", "question", "answer", "completion", "error"], None, "status: for information. question: you need an answer before you can go on. answer: to a message that you were given. completion: a part is done (this does not end your task). error: something goes wrong."),
                "message": text("The note or the question, complete in itself: the reader does not see your conversation."),
                "to": text("orchestrator (the default), parent (the worker that delegated your task), or a worker such as worker-3."),
                "reply_to": text("With kind answer: the id of the message that you answer, such as message-4."),
            }),
            &["kind", "message"],
        ),
        output: accepted(json!({})),
        example: r#"{"kind": "question", "message": "which port should it use?"}"#,
    }
}

fn query() -> ToolInfo {
    ToolInfo {
        name: QUERY,
        title: "Ask about code of others",
        description: "Ask for the signature, fields and place of something that is defined outside \
            your region. The answer comes from an index and costs nothing; where that does not know \
            it, the agent that works there is asked between two of its turns, which may take a \
            minute. Use it instead of reading files outside your region.",
        changes: Changes::Nothing,
        audience: Audience::Workers,
        input: object(
            json!({
                "symbol": { "type": "string", "description": "The name: AuthValidator, auth::check, core/auth.rs AuthValidator.", "examples": ["AuthValidator"] },
                "question": { "type": "string", "description": "In words instead, with the name in it.", "examples": ["what are the fields of `AuthValidator`?"] },
                "context": { "type": "string", "description": "Where you need it: an import line, or the path that you expect it in. It tells names apart that occur twice, and who is asked.", "examples": ["use core::auth::AuthValidator;"] }
            }),
            &[],
        ),
        output: object(
            json!({
                "found": { "type": "boolean" },
                "query": { "type": "string" },
                "answer": { "type": "string" },
                "outcome": { "type": "string", "description": "indexed, cached, answered or overheard; else why there is no answer." },
                "owner": { "type": "string", "description": "Whose code it is, where somebody was asked." },
                "tokens_spent": { "type": "integer" },
                "tokens_saved": { "type": "integer" }
            }),
            &["found", "answer"],
        ),
        example: r#"{"symbol": "AuthValidator", "context": "use core::auth::AuthValidator;"}"#,
    }
}
