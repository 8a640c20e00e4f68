//! Finds tasks that can only fail: scripts with errors and unknown backends.
//!
//! The rest of a plan is validated when it is parsed.

use super::PlanProblem;
use pitcrew_agent::script::Script;
use pitcrew_config::{BACKEND_BUILTIN, BACKEND_COMMAND, PlanDefaults, suggestion};
use pitcrew_model::{PlanSpec, TaskSpec, TaskWork};

/// Returns every task that can only fail, in plan order.
pub fn impossible(spec: &PlanSpec, defaults: &PlanDefaults) -> Vec<PlanProblem> {
    let of_task = |task| [script(task), backend(task, defaults)];
    spec.tasks.iter().flat_map(of_task).flatten().collect()
}

fn script(task: &TaskSpec) -> Option<PlanProblem> {
    let TaskWork::Script { script, .. } = &task.work else { return None };
    let error = Script::parse(script).err()?;
    let message = format!("task `{}`: script line {}: {}", task.key, error.line, error.reason);
    Some(PlanProblem { message, help: error.remedy })
}

fn backend(task: &TaskSpec, defaults: &PlanDefaults) -> Option<PlanProblem> {
    let name = task.agent.backend.as_deref()?;
    let is_ours = [BACKEND_BUILTIN, BACKEND_COMMAND].contains(&name);
    if is_ours || defaults.backends.contains(name) {
        return None;
    }
    let ours = [BACKEND_BUILTIN, BACKEND_COMMAND];
    let known: Vec<&str> = defaults.backends.iter().map(String::as_str).chain(ours).collect();
    let suggestion = suggestion(name, &known);
    Some(PlanProblem {
        message: format!("task `{}`: there is no backend `{name}`", task.key),
        help: format!(
            "{suggestion}; to add another program, configure `[backends.{name}]` in your settings"
        ),
    })
}
