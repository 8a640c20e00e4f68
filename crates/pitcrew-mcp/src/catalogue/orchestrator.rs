//! Plans and tasks.

use super::{
    Audience, Changes, ToolInfo,
    schema::{accepted, choice, object, text, texts},
};
use serde_json::{Value, json};

/// Hands in a plan.
pub const SAVE_PLAN: &str = "orchestrator_save_plan";
/// Adds a task to a plan.
pub const ADD_PLAN_TASK: &str = "orchestrator_add_plan_task";
/// Shows plans, tasks and workers.
pub const LIST_WORKERS: &str = "orchestrator_list_workers";
/// Lets a task start that waits to be deployed.
pub const DEPLOY_TASK: &str = "orchestrator_deploy_task";
/// Ends a worker's task.
pub const COMPLETE_TASK: &str = "orchestrator_complete_task";
/// Ends a task of somebody else's.
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
            "description": "The plan as TOML text: `name = \"...\"`, then one `[[task]]` for each task with `id`, `prompt`, and as needed `region`, `depends_on`, `agent`, `checks`. Give either this or `name` with `tasks`.",
            "examples": ["name = \"tidy\"\n\n[[task]]\nid = \"docs\"\nprompt = \"Fix the typos in docs.\"\nregion = [\"docs\"]\n"]
        },
        "name": { "type": "string", "description": "What the plan is called, in a few words." },
        "description": { "type": "string", "description": "What it is for; workers are told." },
        "tasks": {
            "type": "array",
            "items": task_schema(),
            "description": "The tasks. Those that do not depend on each other run at the same time."
        }
    });
    let more = json!({
        "base": { "type": "string", "description": "Branch or commit to start from; the current branch where absent." },
        "deploy": choice(&["auto", "manual"], Some("auto"), "manual: each task also waits for orchestrator_deploy_task."),
        "setup": texts("Shell commands that make a fresh checkout usable.", json!(["npm ci"])),
        "shared": texts("Paths that every task may change, such as lock files.", json!(["Cargo.lock"])),
        "denied": texts("Paths that no task may change.", json!(["infra"])),
    });
    merge(&mut properties, more);
    ToolInfo {
        name: SAVE_PLAN,
        title: "Hand in a plan",
        description: "Create a plan: tasks with dependencies that agents work on in parallel, each \
            in its own checkout. The plan is checked first, and errors name the line. A person has \
            to approve it before anything runs; the answer says how.",
        changes: Changes::Adds,
        audience: Audience::Planners,
        input: object(properties, &[]),
        output: accepted(json!({
            "plan": { "type": "string", "description": "Its id, such as plan-3." },
            "tasks": { "type": "array", "items": { "type": "string" }, "description": "The ids of its tasks, none before those it depends on." },
            "request": { "type": "string", "description": "What a person has to approve." },
            "warnings": { "type": "array", "items": { "type": "string" } }
        })),
        example: r#"{"name": "tidy", "tasks": [{"id": "docs", "prompt": "Fix the typos in docs.", "region": ["docs"]}]}"#,
    }
}

/// A task of a plan, as an object.
fn task_schema() -> Value {
    object(
        json!({
            "id": { "type": "string", "minLength": 1, "description": "A short name that other tasks refer to: letters, digits, `-`, `_`.", "examples": ["login-form"] },
            "prompt": text("What to do, complete in itself: the agent sees nothing of your conversation."),
            "region": texts("Path prefixes that the task may change. Tasks whose regions overlap do not run at the same time. Absent: the whole repository.", json!(["src/login"])),
            "depends_on": texts("Ids of tasks whose work it needs. It starts when they are integrated.", json!(["database"])),
            "agent": { "type": "string", "description": "Who does it, by a name of a2a_list_agents; the usual one where absent." },
            "checks": texts("Shell commands that must succeed on the merged result.", json!(["cargo test"])),
            "expected_files": texts("Files that the work must touch.", json!(["src/login/form.rs"])),
            "criteria": texts("Acceptance criteria in words.", json!(["A wrong password is refused."])),
            "command": { "type": "string", "description": "Run this shell command instead of an agent." },
            "script": { "type": "string", "description": "Steps for the built-in agent." },
            "timeout": { "type": "string", "description": "At most so long for one attempt.", "examples": ["30m"] },
            "max_attempts": { "type": "integer", "minimum": 1, "description": "Attempts before it has failed." }
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
        description: "Add one task to a plan that has not ended. `depends_on` names tasks of that \
            plan by their ids. Where the plan runs already, a person has to deploy the new task \
            first; the answer says how.",
        changes: Changes::Adds,
        audience: Audience::Planners,
        input,
        output: accepted(json!({
            "task": { "type": "string", "description": "Its id, such as task-12." },
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
        description: "Show the plans, their tasks and the workers with their status: what runs, \
            what waits and for what, what has ended.",
        changes: Changes::Nothing,
        audience: Audience::Everybody,
        input: object(
            json!({
                "plan": { "type": "string", "description": "Only this plan, such as plan-3." },
                "all": { "type": "boolean", "default": false, "description": "Also plans that were landed or given up." }
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
        description: "Let a task of a plan that is deployed by hand start. It starts when what it \
            depends on is integrated and a slot is free.",
        changes: Changes::Adds,
        audience: Audience::Clients,
        input: one_task("The task's id, such as task-12; orchestrator_list_workers lists them."),
        output: accepted(json!({ "task": { "type": "string" } })),
        example: r#"{"task": "task-12"}"#,
    }
}

fn complete_task() -> ToolInfo {
    ToolInfo {
        name: COMPLETE_TASK,
        title: "Complete the task",
        description: "Report that your task has ended. Call this exactly once, when the work is \
            finished or when you are sure that it cannot be finished; a turn that ends without this \
            call does not count as completion. After the call make no further changes and end your \
            turn. Your work is then checked and integrated for you: you need not commit.",
        changes: Changes::Ends,
        audience: Audience::Workers,
        input: object(
            json!({
                "summary": text("What was done and what a reviewer should know, in a few sentences. It becomes the commit message: begin with one short line."),
                "outcome": outcome(),
            }),
            &["summary"],
        ),
        output: accepted(json!({})),
        example: r#"{"summary": "added the parser and its tests"}"#,
    }
}

/// How a worker says that it went.
pub fn outcome() -> Value {
    choice(
        &["success", "partial", "failed"],
        Some("success"),
        "success: everything that was asked is done. partial: some of it is done; say in the summary what is missing. failed: it cannot be done; say why.",
    )
}

fn cancel_task() -> ToolInfo {
    ToolInfo {
        name: CANCEL_TASK,
        title: "Cancel a task",
        description: "End a task or a sub-task, with everything below it. What its worker changed \
            is saved. A worker can cancel only sub-tasks of its own.",
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
        json!({ "fresh": { "type": "boolean", "default": false, "description": "Begin again instead of going on from where the last attempt stopped." } }),
    );
    ToolInfo {
        name: RETRY_TASK,
        title: "Retry a task",
        description: "Grant a task that has failed, was cancelled or is partly done one more \
            attempt. A worker can retry only sub-tasks of its own.",
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

/// Adds the entries of one object to another.
fn merge(into: &mut Value, more: Value) {
    if let (Value::Object(into), Value::Object(more)) = (into, more) {
        into.extend(more);
    }
}
