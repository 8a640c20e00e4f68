//! Finds tasks that cannot start: scripts with errors, and agents that are not trusted.
//!
//! The rest of a plan is validated when it is parsed.

use super::PlanProblem;
use crate::exit::Exit;
use pitcrew_agent::script::Script;
use pitcrew_config::PlanDefaults;
use pitcrew_model::{AgentProblem, PlanSpec, TaskSpec, TaskWork};

/// A problem that prevents a run.
pub struct Impossible {
    pub problem: PlanProblem,
    pub exit: Exit,
}

/// Returns every task that can only fail, in plan order.
pub fn impossible(spec: &PlanSpec, defaults: &PlanDefaults) -> Vec<Impossible> {
    let of_task = |task| [script(task), untrusted(task, defaults)];
    spec.tasks.iter().flat_map(of_task).flatten().collect()
}

fn untrusted(task: &TaskSpec, defaults: &PlanDefaults) -> Option<Impossible> {
    let problem = defaults.crew.as_ref()?.resolve(&task.agent, &task.work, None, None).err()?;
    matches!(problem, AgentProblem::Untrusted { .. }).then(|| {
        let message = format!("task `{}` {problem}", task.key);
        let help = "read what it adds with `pitcrew trust`, and trust it there".into();
        Impossible { problem: PlanProblem { message, help }, exit: Exit::Untrusted }
    })
}

fn script(task: &TaskSpec) -> Option<Impossible> {
    let TaskWork::Script { script, .. } = &task.work else { return None };
    let error = Script::parse(script).err()?;
    let message = format!("task `{}`: script line {}: {}", task.key, error.line, error.reason);
    let problem = PlanProblem { message, help: error.remedy };
    Some(Impossible { problem, exit: Exit::Usage })
}
