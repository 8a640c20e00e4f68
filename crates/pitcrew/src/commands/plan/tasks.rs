//! What a plan asks of its tasks that only the agents know: scripts that can be run, backends that
//! there are. Never looks at the rest of the plan; that is checked when it is read.

use pitcrew_agent::script::Script;
use pitcrew_config::{BACKEND_BUILTIN, BACKEND_COMMAND, PlanDefaults, suggestion};
use pitcrew_model::{PlanSpec, TaskSpec, TaskWork};

/// A task that could only fail.
pub struct Impossible {
    pub message: String,
    /// What to do about it.
    pub help: String,
}

/// Every task that could only fail, in the order of the plan.
pub fn impossible(spec: &PlanSpec, defaults: &PlanDefaults) -> Vec<Impossible> {
    let of_task = |task| [script(task), backend(task, defaults)];
    spec.tasks.iter().flat_map(of_task).flatten().collect()
}

fn script(task: &TaskSpec) -> Option<Impossible> {
    let TaskWork::Script { script, .. } = &task.work else { return None };
    let error = Script::parse(script).err()?;
    let message = format!("task `{}`: script line {}: {}", task.key, error.line, error.reason);
    Some(Impossible { message, help: error.remedy })
}

fn backend(task: &TaskSpec, defaults: &PlanDefaults) -> Option<Impossible> {
    let name = task.agent.backend.as_deref()?;
    let is_ours = [BACKEND_BUILTIN, BACKEND_COMMAND].contains(&name);
    if is_ours || defaults.backends.contains(name) {
        return None;
    }
    let ours = [BACKEND_BUILTIN, BACKEND_COMMAND];
    let known: Vec<&str> = defaults.backends.iter().map(String::as_str).chain(ours).collect();
    let suggestion = suggestion(name, &known);
    Some(Impossible {
        message: format!("task `{}`: there is no backend `{name}`", task.key),
        help: format!(
            "{suggestion}; another program is added as `[backends.{name}]` of your settings"
        ),
    })
}
