//! Reads the agent of a task, and checks that the crew has it.

use super::{
    PlanDefaults,
    keys::{BACKEND_BUILTIN, BACKEND_COMMAND},
};
use crate::{
    diagnostic::{Problems, Severity},
    document::{Section, Span, Spanned},
    suggest,
};
use pitcrew_model::{AgentProblem, AgentRef, TaskWork};

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
    match choose(title, work?, given, defaults) {
        Ok(agent) => {
            if let Some(refused) = refused(title, &agent, work?, defaults) {
                let severity = refused.severity(defaults);
                problems.add(severity, &span, refused.message, Some(refused.help));
            }
            Some(agent)
        }
        Err(AgentRefused { message, help, .. }) => {
            problems.error(&span, message, Some(help));
            None
        }
    }
}

/// Why no agent can do a task, and how to fix it.
#[derive(Debug)]
pub(super) struct AgentRefused {
    pub message: String,
    pub help: String,
    /// What the crew lacks, if the names themselves are valid.
    pub problem: Option<AgentProblem>,
}

impl AgentRefused {
    pub fn severity(&self, defaults: &PlanDefaults) -> Severity {
        match &self.problem {
            Some(AgentProblem::Missing { .. }) => defaults.missing_is,
            Some(
                AgentProblem::NoneNamed
                | AgentProblem::Unknown { .. }
                | AgentProblem::Untrusted { .. }
                | AgentProblem::NoBackend { .. }
                | AgentProblem::NoModel { .. }
                | AgentProblem::NoCommand { .. },
            )
            | None => Severity::Error,
        }
    }
}

/// The agent that a task of a plan names; no names if it leaves the choice to the crew.
pub(super) fn choose(
    title: &str,
    work: &TaskWork,
    given: Option<AgentRef>,
    defaults: &PlanDefaults,
) -> Result<AgentRef, AgentRefused> {
    let (backend, key) = match work {
        TaskWork::Prompt { .. } => {
            let named = given.or_else(|| defaults.agent.clone());
            let mut agent = named.unwrap_or(AgentRef { backend: None, agent: None });
            let of_plan = || defaults.agent.as_ref()?.backend.clone();
            agent.backend = agent.backend.or_else(of_plan);
            return Ok(agent);
        }
        TaskWork::Script { .. } => (BACKEND_BUILTIN, "script"),
        TaskWork::Command { .. } => (BACKEND_COMMAND, "command"),
    };
    let own = AgentRef::backend(backend);
    match given {
        Some(other) if other != own => Err(AgentRefused {
            message: format!("{title} has a `{key}`, but `{other}` cannot run it"),
            help: format!("remove the agent: a `{key}` runs on `{backend}`"),
            problem: None,
        }),
        Some(_) | None => Ok(own),
    }
}

/// Why the crew cannot do the task, if it cannot.
pub(super) fn refused(
    title: &str,
    agent: &AgentRef,
    work: &TaskWork,
    defaults: &PlanDefaults,
) -> Option<AgentRefused> {
    let problem = defaults.crew.as_ref()?.resolve(agent, work, None, None).err()?;
    // Not a problem of the plan: the caller asks the person.
    if let AgentProblem::Untrusted { .. } = problem {
        return None;
    }
    let message = format!("{title} {problem}");
    Some(AgentRefused { message, help: help(&problem, defaults), problem: Some(problem) })
}

fn help(problem: &AgentProblem, defaults: &PlanDefaults) -> String {
    match problem {
        AgentProblem::NoneNamed => defaults.no_agent_help.clone().unwrap_or_else(|| {
            "write `agent = \"claude\"` (or another backend) in the task, set `agent = \"claude\"` in the settings, or give the task a `command` or a `script`".into()
        }),
        AgentProblem::Unknown { name, known } => {
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            format!(
                "{}; to add another program, configure `[backends.{name}]` in your settings",
                suggest::help(name, &known)
            )
        }
        AgentProblem::Untrusted { .. } => "read the file, then run `pitcrew trust`".into(),
        AgentProblem::NoBackend { agent } => format!(
            "write `agent = \"claude:{agent}\"` with a backend of yours, or set `agent` in the settings"
        ),
        AgentProblem::Missing { help, .. } => help.clone(),
        AgentProblem::NoModel { .. } => "set PITCREW_MODEL=provider/name or `[model]` in your settings, add `script = \"...\"`, or name another backend".into(),
        AgentProblem::NoCommand { .. } => {
            "add `command = \"...\"`, or name a backend that works from a prompt".into()
        }
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
