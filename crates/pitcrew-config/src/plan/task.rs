//! One `[[task]]` of a plan file.

use super::{
    PlanDefaults, agent, head,
    keys::{TASK_ALIASES, TASK_KEYS},
};
use crate::{
    diagnostic::Problems,
    document::{Section, Span, Spanned},
    suggest::did_you_mean,
};
use pitcrew_model::{AgentRef, RepoPath, TaskSpec, TaskWork, limits};

/// A task with the locations that later checks refer to.
pub(super) struct ReadTask {
    /// Absent if the id is missing or invalid; then no task can refer to it.
    pub key: Option<Spanned<String>>,
    pub span: Span,
    pub depends_on: Vec<Spanned<String>>,
    pub region: Vec<RepoPath>,
    pub region_span: Span,
    pub checks_count: usize,
    /// Absent if something in the task is invalid; that problem is recorded.
    spec: Option<TaskSpec>,
}

impl ReadTask {
    pub fn into_spec(self) -> Option<TaskSpec> {
        self.spec
    }

    pub fn name(&self) -> Option<&str> {
        self.key.as_ref().map(|it| it.value.as_str())
    }

    /// The task's name in messages.
    pub fn title(&self) -> String {
        title(self.name())
    }
}

fn title(name: Option<&str>) -> String {
    name.map_or_else(|| "the task".to_owned(), |it| format!("task `{it}`"))
}

pub(super) fn read(
    mut section: Section,
    defaults: &PlanDefaults,
    problems: &mut Problems,
) -> ReadTask {
    section.check_keys("a task", TASK_KEYS, TASK_ALIASES, problems);
    let section = &section;
    let key = key(section, problems);
    let title = title(key.as_ref().map(|it| it.value.as_str()));
    let work = work(section, &title, problems);
    let depends_on = depends_on(section, problems);
    let region = head::paths(section, "region", problems, RepoPath::parse_prefix);
    let region = region.unwrap_or_default();
    let agent = agent::of_task(section, &title, work.as_ref(), defaults, problems);
    let checks = head::commands(section, "checks", problems);
    let expected_files = head::paths(section, "expected_files", problems, head::parse_file);
    let criteria = head::commands(section, "criteria", problems);
    let attempts_max = head::attempts(section, problems);
    let timeout = section.duration("timeout", limits::TASK_TIMEOUT_MS_MAX, problems);
    let caps = section.caps(problems);
    let model = model(section, &title, work.as_ref(), problems);
    let checks_count = checks.len();
    let spec = |key: &Spanned<String>, work: TaskWork, agent: AgentRef| TaskSpec {
        key: key.value.clone(),
        work,
        region: region.clone(),
        depends_on: depends_on.iter().map(|it| it.value.clone()).collect(),
        agent,
        checks,
        expected_files: expected_files.unwrap_or_default(),
        criteria,
        attempts_max: attempts_max.unwrap_or(defaults.attempts_max),
        timeout_ms: timeout.map_or(defaults.timeout_ms, |it| it.value),
        caps,
        model,
    };
    let spec = match (&key, work, agent) {
        (Some(key), Some(work), Some(agent)) => Some(spec(key, work, agent)),
        (None, _, _) | (_, None, _) | (_, _, None) => None,
    };
    let (span, region_span) = (section.span.clone(), section.key_span("region"));
    ReadTask { key, span, depends_on, region, region_span, checks_count, spec }
}

fn key(section: &Section, problems: &mut Problems) -> Option<Spanned<String>> {
    if section.lacks("id") {
        let help = Some("every task needs one, for example: id = \"login-form\"".into());
        problems.error(&section.span, "the task has no `id`", help);
        return None;
    }
    let key = section.string("id", problems)?;
    match check_key(&key.value) {
        Ok(()) => Some(key),
        Err(reason) => {
            let guess = pitcrew_model::text::slug(&key.value);
            let help = (guess != "x").then(|| did_you_mean(&guess));
            problems.error(&key.span, format!("`id` cannot be `{}`: {reason}", key.value), help);
            None
        }
    }
}

pub(super) fn check_key(key: &str) -> Result<(), String> {
    let plain = |it: char| it.is_ascii_alphanumeric() || "-_.".contains(it);
    if key.is_empty() {
        Err("it is empty".into())
    } else if key.len() > limits::NAME_BYTES_MAX {
        Err(format!("it has more than {} bytes", limits::NAME_BYTES_MAX))
    } else if !key.chars().all(plain) {
        Err("only letters, digits, `-`, `_` and `.` are allowed".into())
    } else if !key.starts_with(|it: char| it.is_ascii_alphanumeric()) {
        Err("it must begin with a letter or a digit".into())
    } else {
        Ok(())
    }
}

/// The work of the task. The prompt is optional with a script or a command.
fn work(section: &Section, title: &str, problems: &mut Problems) -> Option<TaskWork> {
    let prompt = head::text(section, "prompt", problems).map(|it| it.value);
    let command = head::text(section, "command", problems).map(|it| it.value);
    let script = head::text(section, "script", problems).map(|it| it.value);
    let has = |key: &str| section.item(key).is_some();
    if has("command") && has("script") {
        let message = format!("{title} has both a `command` and a `script`");
        problems.error(&section.key_span("script"), message, Some("keep one of them".into()));
        return None;
    }
    if !has("command") && !has("script") && !has("prompt") {
        if ["prompt", "command", "script"].iter().all(|it| section.lacks(it)) {
            let help =
                "say what to do with `prompt = \"...\"`, or give it a `command` or a `script`";
            problems.error(&section.span, format!("{title} has no `prompt`"), Some(help.into()));
        }
        return None;
    }
    if has("command") {
        let command = command?;
        let first = command.trim().lines().next().unwrap_or_default();
        let prompt = prompt.unwrap_or_else(|| format!("run `{first}`"));
        return Some(TaskWork::Command { prompt, command });
    }
    if has("script") {
        let prompt = prompt.unwrap_or_else(|| format!("run the script of {title}"));
        return Some(TaskWork::Script { prompt, script: script? });
    }
    Some(TaskWork::Prompt { prompt: prompt? })
}

/// The model name, as the agent's backend knows it.
fn model(
    section: &Section,
    title: &str,
    work: Option<&TaskWork>,
    problems: &mut Problems,
) -> Option<String> {
    let model = section.string("model", problems)?;
    if let Err(reason) = check_model(&model.value) {
        problems.error(&model.span, format!("`model` {reason}"), None);
        return None;
    }
    if let Some(TaskWork::Command { .. } | TaskWork::Script { .. }) = work {
        let message = format!("{title} has a `model`, but no `prompt`");
        let help = "remove it, or give the task a `prompt` instead of its `command` or `script`";
        problems.error(&model.span, message, Some(help.into()));
        return None;
    }
    Some(model.value)
}

pub(super) fn check_model(model: &str) -> Result<(), String> {
    if model.trim().is_empty() || model.chars().any(char::is_control) {
        Err("is empty or contains a control character".into())
    } else if model.len() > limits::NAME_BYTES_MAX {
        Err(format!("has more than {} bytes", limits::NAME_BYTES_MAX))
    } else {
        Ok(())
    }
}

fn depends_on(section: &Section, problems: &mut Problems) -> Vec<Spanned<String>> {
    let list = section.strings("depends_on", problems).unwrap_or_default();
    if list.len() > limits::DEPENDENCIES_PER_TASK_MAX {
        let max = limits::DEPENDENCIES_PER_TASK_MAX;
        let message =
            format!("`depends_on` has {} elements; at most {max} are allowed", list.len());
        problems.error(&section.key_span("depends_on"), message, None);
        return Vec::new();
    }
    let mut seen = std::collections::BTreeSet::new();
    list.into_iter().filter(|it| seen.insert(it.value.clone())).collect()
}
