//! Calls about plans and tasks.

use super::{TASK, ToolCall, ToolCallError, arguments::Arguments, plan_text};
use crate::catalogue::letters;
use pitcrew_model::{Claim, Freshness, limits};
use serde_json::Value;

/// One task as the text of a plan file. Its dependencies are in another plan, so they are separate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskText {
    pub text: String,
    pub depends_on: Vec<String>,
}

pub fn save_plan(arguments: &Arguments) -> Result<ToolCall, ToolCallError> {
    let tasks = arguments.find(&["tasks", "task", "subtasks"]);
    let Some(tasks) = tasks else {
        let text = arguments.find(&["plan", "toml", "text", "content"]).and_then(Value::as_str);
        let text = text.filter(|it| !it.trim().is_empty());
        let needed = "the plan as TOML, or `name` and `tasks`";
        let text = text.ok_or_else(|| arguments.missing("plan", needed))?;
        return Ok(ToolCall::SavePlan { text: text.to_owned() });
    };
    let wrong = || arguments.wrong("tasks", tasks, "a list of objects");
    let mut text = String::new();
    let is_tasks =
        |it: &str| matches!(letters(it).as_str(), "tasks" | "task" | "subtasks" | "plan");
    plan_text::lines(arguments.entries().filter(|it| !is_tasks(it.0)), &mut text);
    if arguments.find(&["name", "title"]).is_none() {
        text.insert_str(0, "name = \"plan\"\n");
    }
    for task in tasks.as_array().ok_or_else(wrong)? {
        text.push_str("\n[[task]]\n");
        plan_text::lines(task.as_object().ok_or_else(wrong)?.iter(), &mut text);
    }
    Ok(ToolCall::SavePlan { text })
}

pub fn add_plan_task(arguments: &Arguments) -> Result<ToolCall, ToolCallError> {
    let plan = arguments.plan()?.ok_or_else(|| arguments.missing("plan", "the id of a plan"))?;
    let inner = match arguments.find(&["task"]) {
        Some(task @ Value::Object(_)) => &arguments.inner("task", task)?,
        Some(_) | None => arguments,
    };
    let depends_on = inner.texts("depends_on", &["dependson", "dependencies", "after"])?;
    let mut text = "name = \"plan\"\n\n[[task]]\n".to_owned();
    let apart = |it: &str| {
        matches!(letters(it).as_str(), "plan" | "planid" | "dependson" | "dependencies" | "after")
    };
    plan_text::lines(inner.entries().filter(|it| !apart(it.0)), &mut text);
    Ok(ToolCall::AddPlanTask { plan, task: TaskText { text, depends_on } })
}

pub fn list_workers(arguments: &Arguments) -> Result<ToolCall, ToolCallError> {
    let all = arguments.flag("all", &["all"])?.unwrap_or(false);
    Ok(ToolCall::ListWorkers { plan: arguments.plan()?, all })
}

/// `key` is the argument of the tool that contains the summary.
pub fn complete(arguments: &Arguments, key: &'static str) -> Result<ToolCall, ToolCallError> {
    let keys = &[key, "summary", "output", "result", "message"];
    let summary = arguments.words(keys, limits::SUMMARY_BYTES_MAX);
    let summary = summary.ok_or_else(|| arguments.missing(key, "a non-empty string"))?;
    let claim = match arguments.find(&["outcome", "status"]) {
        None => Claim::Success,
        Some(value) => match letters(value.as_str().unwrap_or_default()).as_str() {
            "success" | "succeeded" | "completed" | "complete" | "done" => Claim::Success,
            "partial" | "partially" => Claim::Partial,
            "failed" | "failure" | "fail" | "error" => Claim::Failed,
            _ => {
                let allowed = "one of `success`, `partial`, `failed`";
                return Err(arguments.wrong("outcome", value, allowed));
            }
        },
    };
    Ok(ToolCall::Complete { claim, summary })
}

pub fn retry_task(arguments: &Arguments) -> Result<ToolCall, ToolCallError> {
    let fresh = arguments.flag("fresh", &["fresh"])?.unwrap_or(false);
    let freshness = if fresh { Freshness::Fresh } else { Freshness::Continue };
    Ok(ToolCall::RetryTask { task: arguments.task(TASK)?, freshness })
}
