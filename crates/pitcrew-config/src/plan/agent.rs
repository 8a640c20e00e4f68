//! Chooses the agent of a task.

use super::{
    PlanDefaults,
    keys::{BACKEND_BUILTIN, BACKEND_COMMAND},
};
use crate::{
    diagnostic::Problems,
    document::{Section, Span, Spanned},
};
use pitcrew_model::{AgentRef, TaskWork};

/// The agent of a `[[task]]`, from its keys, its kind of work and the defaults.
///
/// `work` is absent if it was invalid; then only the keys themselves are checked.
pub(super) fn of_task(
    section: &Section,
    title: &str,
    work: Option<&TaskWork>,
    defaults: &PlanDefaults,
    problems: &mut Problems,
) -> Option<AgentRef> {
    let agent = parsed(section, "agent", problems);
    let backend = parsed(section, "backend", problems);
    let given = combine(agent?, backend?, problems)?;
    let place = |key: &str| section.item(key).map(|(span, _)| span);
    let span = place("agent").or_else(|| place("backend"));
    let span: Span = span.unwrap_or_else(|| section.span.clone());
    match resolve(title, work?, given, defaults) {
        Ok(agent) => {
            if let Some(problem) = missing(title, &agent, defaults) {
                problems.add(defaults.missing_is, &span, problem.message, Some(problem.help));
            }
            Some(agent)
        }
        Err(AgentProblem { message, help }) => {
            problems.error(&span, message, Some(help));
            None
        }
    }
}

/// The error for an agent whose program is not installed.
pub(super) fn missing(
    title: &str,
    agent: &AgentRef,
    defaults: &PlanDefaults,
) -> Option<AgentProblem> {
    let backend = agent.backend.as_deref()?;
    let missing = defaults.missing.get(backend)?;
    let message = format!("{title} needs `{backend}`, which is not installed: {}", missing.reason);
    Some(AgentProblem { message, help: missing.help.clone() })
}

/// Why no agent can do a task, and how to fix it.
#[derive(Debug)]
pub(super) struct AgentProblem {
    pub message: String,
    pub help: String,
}

/// The backend that a kind of work requires, and the key that causes it.
fn own_backend(work: &TaskWork) -> Option<(&'static str, &'static str)> {
    match work {
        TaskWork::Prompt { .. } => None,
        TaskWork::Script { .. } => Some((BACKEND_BUILTIN, "script")),
        TaskWork::Command { .. } => Some((BACKEND_COMMAND, "command")),
    }
}

pub(super) fn resolve(
    title: &str,
    work: &TaskWork,
    given: Option<AgentRef>,
    defaults: &PlanDefaults,
) -> Result<AgentRef, AgentProblem> {
    if let Some((backend, key)) = own_backend(work) {
        let own = AgentRef::backend(backend);
        return match given {
            Some(other) if other != own => Err(AgentProblem {
                message: format!("{title} has a `{key}`, but `{other}` cannot run it"),
                help: format!("remove the agent: a `{key}` runs on `{backend}`"),
            }),
            Some(_) | None => Ok(own),
        };
    }
    let agent =
        given.or_else(|| defaults.agent.clone()).ok_or_else(|| no_agent(title, defaults))?;
    let backend = agent.backend.or_else(|| defaults.agent.as_ref()?.backend.clone());
    match (backend, agent.agent) {
        (Some(backend), _) if backend == BACKEND_BUILTIN && defaults.model.is_none() => {
            Err(without_model(title))
        }
        (Some(backend), _) if backend == BACKEND_COMMAND => {
            Err(without(title, &backend, "command"))
        }
        (Some(backend), agent) => Ok(AgentRef { backend: Some(backend), agent }),
        (None, agent) => {
            let agent = agent.unwrap_or_default();
            Err(AgentProblem {
                message: format!("{title} names `@{agent}`, but no backend that runs it"),
                help: format!(
                    "write `agent = \"claude:{agent}\"` with a backend of yours, or set `agent` in the settings"
                ),
            })
        }
    }
}

fn no_agent(title: &str, defaults: &PlanDefaults) -> AgentProblem {
    let usual = "write `agent = \"claude\"` (or another backend) in the task, set `agent = \"claude\"` in the settings, or give the task a `command` or a `script`";
    AgentProblem {
        message: format!("{title} has a prompt but no agent"),
        help: defaults.no_agent_help.clone().unwrap_or_else(|| usual.into()),
    }
}

fn without_model(title: &str) -> AgentProblem {
    AgentProblem {
        message: format!("{title} has a prompt for `builtin`, but no model is set"),
        help: "set PITCREW_MODEL=provider/name or `[model]` in your settings, add `script = \"...\"`, or name another backend".into(),
    }
}

fn without(title: &str, backend: &str, key: &str) -> AgentProblem {
    AgentProblem {
        message: format!("{title} runs on `{backend}`, but has no `{key}`"),
        help: format!("add `{key} = \"...\"`, or name a backend that works from a prompt"),
    }
}

/// `Some(None)`: the key is absent. `None`: it is invalid, and the problem is recorded.
#[expect(clippy::option_option, reason = "absent and wrong are two things")]
fn parsed(
    section: &Section,
    key: &str,
    problems: &mut Problems,
) -> Option<Option<Spanned<AgentRef>>> {
    if section.item(key).is_none() {
        return Some(None);
    }
    let text = section.string(key, problems)?;
    let shape = text.value.parse::<AgentRef>();
    match shape {
        Ok(agent) if key == "backend" && agent.agent.is_some() => {
            let help = format!("write `agent = \"{agent}\"`");
            problems.error(&text.span, format!("`{agent}` is an agent, not a backend"), Some(help));
            None
        }
        Ok(value) => Some(Some(Spanned { value, span: text.span })),
        Err(shape) => {
            let message = format!("`{key}` cannot be `{}`", text.value);
            problems.error(&text.span, message, Some(shape.into()));
            None
        }
    }
}

/// `agent = "@architect"` with `backend = "claude"` means `agent = "claude:architect"`.
#[expect(clippy::option_option, reason = "absent and wrong are two things")]
fn combine(
    agent: Option<Spanned<AgentRef>>,
    backend: Option<Spanned<AgentRef>>,
    problems: &mut Problems,
) -> Option<Option<AgentRef>> {
    match (agent, backend) {
        (Some(agent), Some(backend)) => {
            let (named, wanted) = (agent.value.backend.as_ref(), backend.value.backend.as_ref());
            if let (Some(named), Some(wanted)) = (named, wanted)
                && named != wanted
            {
                let message = format!("the backend is `{wanted}` here, but `{named}` in `agent`");
                let help = match agent.value.agent {
                    None => {
                        format!("for an agent `{named}` on `{wanted}` write `{wanted}:{named}`")
                    }
                    Some(_) => "keep one of them".into(),
                };
                problems.error(&backend.span, message, Some(help));
                return None;
            }
            Some(Some(AgentRef { backend: backend.value.backend, agent: agent.value.agent }))
        }
        (Some(one), None) | (None, Some(one)) => Some(Some(one.value)),
        (None, None) => Some(None),
    }
}
