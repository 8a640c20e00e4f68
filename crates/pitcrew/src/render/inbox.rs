//! The requests that wait for a person, with details and the commands that decide them.

use super::{
    Style,
    words::{duration, joined, plural, region},
};
use pitcrew_model::{GrantScope, Priority, RequestId, TaskWork, Timestamp, ToolUse};
use pitcrew_views::{Ask, ClosedRequest, InboxView, OpenRequest, PlannedTask, plain};
use std::collections::BTreeMap;

/// Tasks of a plan that are listed before the rest is only counted. Code is never left out.
const TASKS_SHOWN_MAX: usize = 40;
/// Tasks with the same code that are named before the rest is only counted.
const KEYS_SHOWN_MAX: usize = 12;
const ROW_BYTES_MAX: usize = 74;
/// More about some requests, which the orchestrator does not know.
pub type Details = BTreeMap<RequestId, Vec<String>>;

/// The most open requests that are shown at once.
const LISTED_MAX: usize = 50;
/// The most lines of a prompt that are shown; `pitcrew inbox --json` has all.
const PROMPT_LINES_MAX: usize = 30;

/// Renders the open requests; with `closed`, also the decided ones.
pub fn inbox(
    inbox: &InboxView,
    more: &Details,
    now: Timestamp,
    closed: bool,
    style: Style,
) -> String {
    let mut blocks: Vec<String> = by_priority(inbox, style).into_iter().collect();
    let mut open: Vec<&OpenRequest> = inbox.open.iter().collect();
    // Among equally urgent requests, the oldest comes first.
    open.sort_by_key(|it| it.ask.priority());
    let rest = open.split_off(open.len().min(LISTED_MAX));
    blocks.extend(open.into_iter().map(|it| request(it, more.get(&it.id), now, style)));
    if !rest.is_empty() {
        blocks.push(format!(
            "{} more are waiting: decide some of these first, or deny all of a worker with `pitcrew deny --all worker-1`",
            rest.len()
        ));
    }
    if blocks.is_empty() {
        blocks.push("nothing is waiting for you".to_owned());
    }
    if closed && !inbox.closed.is_empty() {
        let lines: Vec<String> = inbox.closed.iter().map(decided).collect();
        blocks.push(lines.join("\n"));
    }
    blocks.join("\n\n") + "\n"
}

/// How many requests wait, by priority; omitted for a single one.
fn by_priority(inbox: &InboxView, style: Style) -> Option<String> {
    let mut counts: BTreeMap<Priority, usize> = BTreeMap::new();
    for request in &inbox.open {
        *counts.entry(request.ask.priority()).or_default() += 1;
    }
    let words: Vec<String> = counts.iter().map(|it| format!("{} {}", it.1, it.0)).collect();
    let count = inbox.open.len();
    (count > 1)
        .then(|| style.dim(&format!("{count} requests are waiting for you: {}", words.join(", "))))
}

/// Renders one request in full.
fn request(
    request: &OpenRequest,
    more: Option<&Vec<String>>,
    now: Timestamp,
    style: Style,
) -> String {
    let mut lines = Vec::new();
    let plan = format!("{} {}", request.plan, plain::line(&request.plan_name));
    let task = request.task_name.as_deref().map(plain::line);
    let whom = task.clone().unwrap_or_else(|| plan.clone());
    let age = duration(now.since(request.opened_at));
    lines.push(format!("{} {whom}, {age} ago", style.bold(&request.id.to_string())));
    lines.extend(title(request).iter().map(|it| format!("  {}", style.cyan(it))));
    if let Some(worker) = request.worker {
        let agent = request.agent.as_deref().map(|it| format!(" ({})", plain::line(it)));
        lines.push(format!("  asked by {worker}{}, for {plan}", agent.unwrap_or_default()));
    }
    if let Some((worker, task)) = request.saved_by {
        lines.push(format!("  saved by {worker}, which works on {task}"));
    }
    if let Some(before) = request.replaces {
        lines.push(format!("  replaces {before}, whose worker has ended"));
    }
    lines.extend(request.path.iter().map(|it| format!("  {}", plain::line(it))));
    lines.extend(details(&request.ask).into_iter().map(|it| format!("  {it}")));
    if let (Ask::PlanExecution { tasks, .. }, Some(_)) = (&request.ask, request.saved_by) {
        lines.extend(prompts(tasks).into_iter().map(|it| format!("  {it}")));
    }
    lines.extend(more.into_iter().flatten().map(|it| format!("  {it}")));
    lines.extend(ways(request.id, &request.ask).into_iter().map(|it| format!("  {it}")));
    lines.join("\n")
}

fn details(ask: &Ask) -> Vec<String> {
    match ask {
        Ask::PlanExecution { setup, tasks, tasks_asked, .. } => {
            let mut lines = execution(setup, tasks);
            let added = tasks.len().saturating_sub(*tasks_asked);
            if added > 0 {
                let what = plural(added as u64, "task");
                lines.push(format!("the last {what} came after the request"));
            }
            lines
        }
        Ask::BranchMerge {
            base, completed, missing, files_count, insertions, deletions, ..
        } => {
            let branch = base.as_ref().and_then(|it| it.branch.as_deref());
            let mut lines = vec![format!(
                "into {}: {}, +{insertions} -{deletions}",
                plain::line(branch.unwrap_or("a separate branch")),
                plural(*files_count, "file")
            )];
            lines.push(format!("completed: {}", joined(completed)));
            if !missing.is_empty() {
                lines.push(format!("not completed: {}", joined(missing)));
            }
            lines
        }
        Ask::ToolUse { tool, region: zone, action, actions, .. } => {
            let mut lines = tool_lines(tool);
            // Requests from older journals have only the strictest action.
            let actions = if actions.is_empty() {
                action.iter().collect()
            } else {
                actions.iter().collect::<Vec<_>>()
            };
            let names: Vec<String> = actions.iter().map(|it| plain::line(it.name())).collect();
            if !names.is_empty() {
                lines.push(format!("needs permission for: {}", names.join(", ")));
            }
            lines.push(format!("region of its task: {}", region(zone)));
            lines
        }
        Ask::Budget { .. } => {
            vec![
                "its work is saved and its agents wait for your decision; if you deny, they end"
                    .to_owned(),
            ]
        }
        Ask::Question { prompt, .. } => {
            let prompt = prompt.as_deref().map(plain::line).filter(|it| !it.is_empty());
            prompt.map(|it| format!("task: {it}")).into_iter().collect()
        }
    }
}

/// The title of a request; a question is shown in full.
fn title(request: &OpenRequest) -> Vec<String> {
    match &request.ask {
        Ask::Question { question, .. } => {
            plain::block(question.trim()).lines().map(str::to_owned).collect()
        }
        Ask::PlanExecution { .. }
        | Ask::BranchMerge { .. }
        | Ask::Budget { .. }
        | Ask::ToolUse { .. } => vec![plain::line(&request.title)],
    }
}

/// Everything that would be executed, verbatim: each different code once, with its tasks.
fn execution(setup: &[String], tasks: &[PlannedTask]) -> Vec<String> {
    let mut lines = Vec::new();
    for command in setup {
        code(&mut lines, "setup in every checkout", command);
    }
    for task in tasks.iter().take(TASKS_SHOWN_MAX) {
        let key = plain::line(&task.key);
        lines.push(format!("{} {key} in {} ({})", task.id, region(&task.region), task.agent));
    }
    if let Some(more) = tasks.len().checked_sub(TASKS_SHOWN_MAX + 1) {
        lines.push(format!("and {} more tasks", more + 1));
    }
    let mut groups: Vec<(&str, &str, Vec<&str>)> = Vec::new();
    let mut places: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for task in tasks {
        let work = match &task.work {
            TaskWork::Prompt { .. } => None,
            TaskWork::Script { script, .. } => Some(("script", script.as_str())),
            TaskWork::Command { command, .. } => Some(("command", command.as_str())),
        };
        let checks = task.checks.iter().map(|it| ("check", it.as_str()));
        for (what, code) in work.into_iter().chain(checks) {
            let place = *places.entry((what, code)).or_insert_with(|| {
                groups.push((what, code, Vec::new()));
                groups.len() - 1
            });
            groups[place].2.push(&task.key);
        }
    }
    groups.sort_by_key(|it| it.0 == "check");
    for (what, text, keys) in groups {
        grouped_code(&mut lines, &format!("{what} of {}", few(&keys)), text);
    }
    lines
}

/// The first keys, and the number of the others.
fn few(keys: &[&str]) -> String {
    let shown: Vec<String> = keys.iter().take(KEYS_SHOWN_MAX).map(|it| plain::line(it)).collect();
    match keys.len().saturating_sub(KEYS_SHOWN_MAX) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// A short code stands beside its tasks.
fn grouped_code(lines: &mut Vec<String>, what: &str, text: &str) {
    let text = text.trim_end();
    if text.contains('\n') || what.len() + text.len() > ROW_BYTES_MAX {
        code(lines, what, text);
    } else {
        lines.push(format!("{what} | {}", plain::block(text)));
    }
}

/// The prompts of a plan that you have not written.
fn prompts(tasks: &[PlannedTask]) -> Vec<String> {
    let mut lines = Vec::new();
    for task in tasks {
        let prompt = task.work.prompt().trim();
        if prompt.is_empty() {
            continue;
        }
        let count = prompt.lines().count();
        let shown: Vec<&str> = prompt.lines().take(PROMPT_LINES_MAX).collect();
        code(&mut lines, &format!("prompt of {}", task.id), &shown.join("\n"));
        if count > PROMPT_LINES_MAX {
            lines.push(format!(
                "  and {} more lines: pitcrew inbox --json",
                count - PROMPT_LINES_MAX
            ));
        }
    }
    lines
}

fn tool_lines(tool: &ToolUse) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(command) = &tool.command {
        code(&mut lines, "command", command);
    }
    if !tool.paths.is_empty() {
        lines.push(format!("paths: {}", plain::line(&tool.paths.join(", "))));
    }
    if !tool.outside.is_empty() {
        lines.push(format!("outside its checkout: {}", plain::line(&tool.outside.join(", "))));
    }
    lines
}

fn code(lines: &mut Vec<String>, what: &str, text: &str) {
    lines.push(format!("{what}:"));
    let indent = " ".repeat(what.len() - what.trim_start().len());
    let text = plain::block(text.trim_end());
    lines.extend(text.lines().map(|it| format!("{indent}  | {it}")));
}

fn ways(id: RequestId, ask: &Ask) -> Vec<String> {
    match ask {
        Ask::Question { .. } => vec![format!("pitcrew answer {id} \"...\"")],
        Ask::ToolUse { scopes, .. } => {
            let approve = match &scopes[..] {
                [] | [_] => format!("pitcrew approve {id}"),
                all => format!("pitcrew approve {id} [--scope {}]", joined_with(all, "|")),
            };
            vec![approve, format!("pitcrew deny {id} --reason \"...\"")]
        }
        Ask::PlanExecution { tasks, tasks_asked, .. } if *tasks_asked != tasks.len() => vec![
            format!("pitcrew approve {id} --tasks {}", tasks.len()),
            format!("pitcrew deny {id} --reason \"...\""),
        ],
        Ask::PlanExecution { .. } | Ask::BranchMerge { .. } | Ask::Budget { .. } => {
            vec![format!("pitcrew approve {id}"), format!("pitcrew deny {id} --reason \"...\"")]
        }
    }
}

fn joined_with(items: &[GrantScope], between: &str) -> String {
    let words: Vec<String> = items.iter().map(ToString::to_string).collect();
    words.join(between)
}

fn decided(request: &ClosedRequest) -> String {
    let (id, status, by) = (request.id, request.status, request.decided_by);
    let line = format!("{id} {status} by {by}: {}", plain::line(&request.title));
    match request.text.as_deref().filter(|it| !it.is_empty()) {
        Some(text) => format!("{line} ({})", plain::line(text)),
        None => line,
    }
}
