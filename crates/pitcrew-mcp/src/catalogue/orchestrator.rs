//! Plans and tasks.

use super::{
    Audience, Changes, ToolInfo,
    schema::{accepted, choice, object, text, texts},
};
use serde_json::{Value, json};

/// Submits a plan.
pub const SAVE_PLAN: &str = "orchestrator_save_plan";
/// Adds a task to a plan.
pub const ADD_PLAN_TASK: &str = "orchestrator_add_plan_task";
/// Shows plans, tasks and workers.
pub const LIST_WORKERS: &str = "orchestrator_list_workers";
/// Starts a task that waits for its deployment.
pub const DEPLOY_TASK: &str = "orchestrator_deploy_task";
/// Ends the caller's task.
pub const COMPLETE_TASK: &str = "orchestrator_complete_task";
/// Cancels a task or a sub-task.
pub const CANCEL_TASK: &str = "orchestrator_cancel_task";
/// Grants a task one more attempt.
pub const RETRY_TASK: &str = "orchestrator_retry_task";

pub const NAMES: &[&str] =
    &[SAVE_PLAN, ADD_PLAN_TASK, LIST_WORKERS, DEPLOY_TASK, COMPLETE_TASK, CANCEL_TASK, RETRY_TASK];

pub fn tools() -> Vec<ToolInfo> {
    vec![
        save_plan(),
        add_plan_task(),
        list_workers(),
        deploy_task(),
        complete_task(),
        cancel_task(),
        retry_task(),
    ]
}

fn save_plan() -> ToolInfo {
    let mut properties = json!({
        "plan": {
            "type": "string",
            "description": "The plan as TOML: `name = \"...\"`, then one `[[task]]` for each task with `id`, `prompt`, and optionally `region`, `depends_on`, `agent`, `checks`. Send either this, or `name` and `tasks`.",
            "examples": ["name = \"tidy\"\n\n[[task]]\nid = \"docs\"\nprompt = \"Fix the typos in docs.\"\nregion = [\"docs\"]\n"]
        },
        "name": { "type": "string", "description": "The name of the plan, in a few words." },
        "description": { "type": "string", "description": "The purpose of the plan. Workers see it." },
        "tasks": {
            "type": "array",
            "items": task_schema(),
            "description": "The tasks. Tasks that do not depend on each other run in parallel."
        }
    });
    let more = json!({
        "base": { "type": "string", "description": "The branch or commit to start from. Default: the current branch." },
        "deploy": choice(&["auto", "manual"], Some("auto"), "auto: tasks start by themselves. manual: each task waits for orchestrator_deploy_task."),
        "setup": texts("Shell commands that prepare a fresh checkout.", json!(["npm ci"])),
        "shared": texts("Paths that every task may change, such as lock files.", json!(["Cargo.lock"])),
        "denied": texts("Paths that no task may change.", json!(["infra"])),
    });
    merge(&mut properties, more);
    ToolInfo {
        name: SAVE_PLAN,
        title: "Create a plan",
        description: "Create a plan: tasks with dependencies. Agents work on them in parallel, each \
            in its own checkout.\n\
            Errors name the line to fix.\n\
            A person must approve the plan before it runs. The result says how.",
        changes: Changes::Adds,
        audience: Audience::Planners,
        input: object(properties, &[]),
        output: accepted(json!({
            "plan": { "type": "string", "description": "The id of the plan, such as plan-3." },
            "tasks": { "type": "array", "items": { "type": "string" }, "description": "The ids of the tasks; dependencies come first." },
            "request": { "type": "string", "description": "The request that a person must approve." },
            "warnings": { "type": "array", "items": { "type": "string" } }
        })),
        example: r#"{"name": "tidy", "tasks": [{"id": "docs", "prompt": "Fix the typos in docs.", "region": ["docs"]}]}"#,
    }
}

/// Returns the schema of a task of a plan.
fn task_schema() -> Value {
    object(
        json!({
            "id": { "type": "string", "minLength": 1, "description": "A short name that other tasks refer to: letters, digits, `-`, `_`.", "examples": ["login-form"] },
            "prompt": text("What to do. Include everything the agent needs: it does not see your conversation."),
            "region": texts("Path prefixes that the task may change. Tasks with overlapping regions do not run in parallel. Default: the whole repository.", json!(["src/login"])),
            "depends_on": texts("Ids of the tasks whose work it needs. It starts when they are integrated.", json!(["database"])),
            "agent": { "type": "string", "description": "The agent that does it: a name from a2a_list_agents. Default: the default agent." },
            "checks": texts("Shell commands that must succeed on the merged result.", json!(["cargo test"])),
            "expected_files": texts("Files that the task must change.", json!(["src/login/form.rs"])),
            "criteria": texts("Acceptance criteria in words.", json!(["A wrong password is refused."])),
            "command": { "type": "string", "description": "Run this shell command instead of an agent." },
            "script": { "type": "string", "description": "Steps for the built-in agent." },
            "timeout": { "type": "string", "description": "The longest time for one attempt.", "examples": ["30m"] },
            "max_attempts": { "type": "integer", "minimum": 1, "description": "The task fails after this many attempts." }
        }),
        &["id"],
    )
}

fn add_plan_task() -> ToolInfo {
    let mut input = task_schema();
    merge(
        &mut input["properties"],
        json!({ "plan": { "type": "string", "description": "The id of the plan, such as plan-3, or its name." } }),
    );
    input["required"] = json!(["plan", "id"]);
    ToolInfo {
        name: ADD_PLAN_TASK,
        title: "Add a task to a plan",
        description: "Add one task to a plan that has not ended.\n\
            Set `depends_on` to ids of tasks of that plan.\n\
            If the plan already runs, a person must deploy the new task. The result says how.",
        changes: Changes::Adds,
        audience: Audience::Planners,
        input,
        output: accepted(json!({
            "task": { "type": "string", "description": "The id of the task, such as task-12." },
            "waits_for_person": { "type": "boolean" }
        })),
        example: r#"{"plan": "plan-3", "id": "docs", "prompt": "Describe the new flag.", "region": ["docs"], "depends_on": ["flag"]}"#,
    }
}

fn list_workers() -> ToolInfo {
    let row = |properties: Value| json!({ "type": "array", "items": { "type": "object", "properties": properties } });
    let word = || json!({ "type": "string" });
    ToolInfo {
        name: LIST_WORKERS,
        title: "Show plans, tasks and workers",
        description: "Show the status of the plans, their tasks and the workers: what runs, what \
            waits and why, and what has ended.",
        changes: Changes::Nothing,
        audience: Audience::Everybody,
        input: object(
            json!({
                "plan": { "type": "string", "description": "Only this plan, such as plan-3." },
                "all": { "type": "boolean", "default": false, "description": "Include plans that were landed or abandoned." }
            }),
            &[],
        ),
        output: object(
            json!({
                "plans": row(json!({ "id": word(), "name": word(), "status": word() })),
                "tasks": row(json!({ "id": word(), "key": word(), "plan": word(), "status": word(), "agent": word(), "waits_for": word(), "worker": word() })),
                "workers": row(json!({ "id": word(), "task": word(), "status": word(), "activity": word() })),
                "slots": object(json!({ "taken": { "type": "integer" }, "max": { "type": "integer" } }), &["taken", "max"])
            }),
            &["plans", "tasks", "workers", "slots"],
        ),
        example: "{}",
    }
}

fn deploy_task() -> ToolInfo {
    ToolInfo {
        name: DEPLOY_TASK,
        title: "Deploy a task",
        description: "Start a task of a plan with `deploy` = `manual`.\n\
            The task starts when its dependencies are integrated and a slot is free.",
        changes: Changes::Adds,
        audience: Audience::Clients,
        input: one_task(
            "The id of the task, such as task-12. orchestrator_list_workers lists the ids.",
        ),
        output: accepted(json!({ "task": { "type": "string" } })),
        example: r#"{"task": "task-12"}"#,
    }
}

fn complete_task() -> ToolInfo {
    ToolInfo {
        name: COMPLETE_TASK,
        title: "Complete the task",
        description: "Report that your task has ended.\n\
            Call this exactly once, when the work is finished or you are sure that it cannot be \
            finished. Do not just end your turn: without this call the task is not done.\n\
            After the call, change nothing and end your turn.\n\
            Your work is then checked and integrated. You do not have to commit.",
        changes: Changes::Ends,
        audience: Audience::Workers,
        input: object(
            json!({
                "summary": text("What you did and what a reviewer should know, in a few sentences. It becomes the commit message: start with one short line."),
                "outcome": outcome(),
            }),
            &["summary"],
        ),
        output: accepted(json!({})),
        example: r#"{"summary": "added the parser and its tests"}"#,
    }
}

/// Returns the schema of the outcome that a worker reports.
pub fn outcome() -> Value {
    choice(
        &["success", "partial", "failed"],
        Some("success"),
        "success: everything is done. partial: some of it is done; say what is missing. failed: it cannot be done; say why.",
    )
}

fn cancel_task() -> ToolInfo {
    ToolInfo {
        name: CANCEL_TASK,
        title: "Cancel a task",
        description: "Cancel a task or a sub-task, with all of its sub-tasks. The changes of its \
            worker are saved.\n\
            A worker can cancel only its own sub-tasks.",
        changes: Changes::Ends,
        audience: Audience::Drivers,
        input: one_task("The id, such as task-12 or subtask-14."),
        output: accepted(json!({ "task": { "type": "string" } })),
        example: r#"{"task": "task-12"}"#,
    }
}

fn retry_task() -> ToolInfo {
    let mut input = one_task("The id, such as task-12 or subtask-14.");
    merge(
        &mut input["properties"],
        json!({ "fresh": { "type": "boolean", "default": false, "description": "Start over instead of continuing from the last attempt." } }),
    );
    ToolInfo {
        name: RETRY_TASK,
        title: "Retry a task",
        description: "Give a failed, cancelled or partly done task one more attempt.\n\
            A worker can retry only its own sub-tasks.",
        changes: Changes::Adds,
        audience: Audience::Drivers,
        input,
        output: accepted(json!({ "task": { "type": "string" } })),
        example: r#"{"task": "task-12"}"#,
    }
}

fn one_task(description: &str) -> Value {
    object(json!({ "task": text(description) }), &["task"])
}

/// Adds the entries of `more` to `into`.
fn merge(into: &mut Value, more: Value) {
    if let (Value::Object(into), Value::Object(more)) = (into, more) {
        into.extend(more);
    }
}
