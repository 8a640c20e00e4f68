//! Builds the prompt of a worker's turn. Pure text, built from the state when a turn begins.

mod quote;
mod mail;
mod results;
mod zone;

use self::quote::Tag;
use crate::{
    State, react,
    state::{Attempt, Plan, Task, Worker},
};
use alloc::{
    format,
    string::{String, ToString},
};
use core::fmt::Write;
use pitcrew_model::{
    Action, Backend, Effort, Failure, RepoPath, RequestKind, Rule, SubtaskName, TaskWork,
    TurnCause, WorkerId, WorkspaceMode, limits, text,
};

pub fn build(state: &State, worker: WorkerId, cause: &TurnCause) -> String {
    // The tag must not occur in the text that the prompt quotes, so the text comes first.
    let draft = compose(state, worker, cause, &Tag::draft());
    let tag = Tag::absent_from(&draft, &salt(state, worker));
    let mut out = compose(state, worker, cause, &tag);
    if matches!(cause, TurnCause::Start) {
        tag.cut(&mut out, limits::PROMPT_BYTES_MAX);
    }
    out
}

/// Makes the tags of two equal prompts differ. Contains nonces that only Pitcrew knows.
fn salt(state: &State, worker: WorkerId) -> String {
    let mut out = state.seq.to_string();
    out.extend(results::nonces(state, &state.workers[worker]));
    out
}

fn asks_a_person(state: &State, worker: &Worker) -> bool {
    let kinds = worker.requests.iter().map(|it| &state.requests[*it].kind);
    kinds.into_iter().any(|it| matches!(it, RequestKind::Question { .. }))
}

fn compose(state: &State, worker: WorkerId, cause: &TurnCause, tag: &Tag) -> String {
    let it = &state.workers[worker];
    let attempt = &state.attempts[it.attempt];
    let mail = mail::blocks(state, worker, tag);
    let how_to_finish = how_to_finish(&state.tasks[attempt.task]);
    let mut out = match cause {
        TurnCause::Start => return start(state, attempt, &mail, tag),
        TurnCause::Reminder => format!(
            "Your turn ended, but you have not reported the task as done.\n\
             If something is missing, do it now.\n\
             This is the only reminder.\n\n{how_to_finish}"
        ),
        TurnCause::Answer { question, answer } => format!(
            "Your question was answered.\n\
             The question and the answer are in the <{}> blocks.\n\n\
             {}\n{}\nContinue your task.\n",
            tag.as_str(),
            tag.block(&[("kind", &"question")], question),
            tag.block(&[("kind", &"answer")], answer)
        ),
        TurnCause::Resumed => {
            "You were paused in the middle of your task.\nContinue where you stopped.\n".into()
        }
        TurnCause::QuotaOver => {
            "The provider that stopped you is available again.\nContinue your task where you stopped.\n".into()
        }
        TurnCause::Results => {
            "Your sub-tasks have ended.\nContinue your task where you stopped.\n".into()
        }
        // It waits for a person: the end of this turn must not look like the end of its task.
        TurnCause::Messages if asks_a_person(state, it) => format!(
            "You have new messages.\n\
             Your question is still open.\n\
             If a message answers it, continue your task.\n\
             Otherwise end your turn and wait for the answer.\n\n{how_to_finish}"
        ),
        TurnCause::Messages => format!(
            "You have new messages.\nRead them, then continue your task.\n\n{how_to_finish}"
        ),
    };
    out.push_str(&results::blocks(state, it, tag));
    section(&mut out, "", &mail);
    out
}

const HOW_TO_FINISH: &str = "\
When the task is done, call `orchestrator_complete_task` with a `summary` of what you changed.
If you finished only part of it, add `\"outcome\": \"partial\"` and say what is missing.
If it cannot be done, add `\"outcome\": \"failed\"` and say why.
If you do not have this tool, run: pitcrew tool orchestrator_complete_task --json '{\"summary\": \"...\"}'
Do not just end your turn: without this call the task is not done.
";

const HOW_TO_HAND_IN: &str = "\
When the sub-task is done, call `a2a_subtask_complete` with the result as `output`. Your parent reads nothing else.
If you finished only part of it, add `\"outcome\": \"partial\"` and say what is missing.
If it cannot be done, add `\"outcome\": \"failed\"` and say why.
If you do not have this tool, run: pitcrew tool a2a_subtask_complete --json '{\"output\": \"...\"}'
Do not just end your turn: without this call the sub-task is not done.
";

fn how_to_finish(task: &Task) -> &'static str {
    if task.delegation.is_some() { HOW_TO_HAND_IN } else { HOW_TO_FINISH }
}

fn start(state: &State, attempt: &Attempt, mail: &str, tag: &Tag) -> String {
    let task = &state.tasks[attempt.task];
    let plan = &state.plans[task.plan];
    let mut out = String::new();
    let number = attempt.number;
    match &task.delegation {
        None => {
            line(&mut out, &format!("# Task {} ({}, attempt {number})", task.spec.key, task.id));
        }
        Some(_) => line(&mut out, &format!("# {} (attempt {number})", SubtaskName(task.id))),
    }
    section(&mut out, "", role(task));
    section(&mut out, "", task.spec.work.prompt().trim());
    section(&mut out, "", steps(task).trim_start());
    let expected = task.delegation.as_ref().map_or("", |it| it.expected_output.trim());
    section(&mut out, "Expected output", expected);
    list(&mut out, "Acceptance criteria", &task.spec.criteria);
    section(&mut out, "Where you work", &place(attempt, task, plan));
    section(&mut out, "Code outside your region", zone::how_to_ask(&react::zone(task, plan)));
    list(&mut out, "Checks that run on the merged result", &task.spec.checks);
    section(&mut out, "How to finish", how_to_finish(task).trim());
    section(&mut out, "", QUESTIONS);
    if may_delegate(state, task) {
        section(&mut out, "", DELEGATION);
    }
    section(
        &mut out,
        "Earlier messages from a person",
        &mail::said_before(state, attempt.worker, tag),
    );
    section(&mut out, "Messages", mail);
    previous_failure(state, &mut out, attempt, task, tag);
    match plan.head.effort {
        // The built-in agent has no use for it, and the conditions of its scripts match all of the prompt.
        _ if task.spec.program() == Some(Backend::Builtin) => {}
        Effort::Low => {}
        Effort::Medium => context(state, &mut out, task, plan, Depth::Summaries, tag),
        Effort::High => context(state, &mut out, task, plan, Depth::Files, tag),
    }
    out
}

/// The role prompt of the agent. A script or a command needs none.
fn role(task: &Task) -> &str {
    let profile = task.profile.as_ref();
    let profile = profile.filter(|_| matches!(task.spec.work, TaskWork::Prompt { .. }));
    profile.map_or("", |it| it.role.trim())
}

/// The script or command of the task, for agents that read it in the prompt. The built-in agent gets
/// it as a separate value and never takes orders from the text.
fn steps(task: &Task) -> String {
    let mut out = String::new();
    match &task.spec.work {
        _ if task.spec.program() == Some(Backend::Builtin) => {}
        TaskWork::Prompt { .. } => {}
        TaskWork::Script { script, .. } => fenced(&mut out, "", script),
        TaskWork::Command { command, .. } => fenced(&mut out, "sh", command),
    }
    out
}

const QUESTIONS: &str = "\
If you need a person to decide something, call `a2a_notify_orchestrator` with kind `question`, then end your turn.
The answer is in your next prompt.";

const DELEGATION: &str = "\
You may delegate parts of your work.
Call `a2a_list_agents` to see the agents and their strengths.
Call `a2a_spawn_subtask` to give one of them a sub-task. You keep your context and get the result.";

/// Only an agent with a model can use the advice.
fn may_delegate(state: &State, task: &Task) -> bool {
    let has_model = matches!(task.spec.work, TaskWork::Prompt { .. });
    has_model && state.may_spawn(task) && state.rule(&Action::SubtaskSpawning) == Rule::AutoApprove
}

fn place(attempt: &Attempt, task: &Task, plan: &Plan) -> String {
    let path = attempt.path.as_deref().unwrap_or("the current folder");
    let zone = react::zone(task, plan);
    let mut out = match task.workspace() {
        Some(WorkspaceMode::ReadOnly) => {
            return format!(
                "You are in {path}. Other workers read it too.\n\
                 Do not change files: nothing that you write there is kept.\n\
                 Report what you find in your summary.\n"
            );
        }
        Some(WorkspaceMode::Shared) => {
            return format!(
                "You are in {path}, your parent's checkout. Other workers use it too.\n\
                 You may change: {}, and nothing else.\n\
                 Write these files in place. They cannot be replaced, renamed or removed.\n\
                 Do not commit.\n",
                zone.describe()
            );
        }
        Some(WorkspaceMode::Isolated) => format!(
            "Your checkout is {path}. It is yours alone: work nowhere else.\n\
             It starts as a copy of your parent's checkout. Your parent pulls your changes.\n"
        ),
        None if plan.only_reads(task) => {
            return format!(
                "You are in {path}.\n\
                 Do not change files: if you leave a change, it is refused and the attempt fails.\n\
                 Report what you find in your summary.\n"
            );
        }
        None => format!("Your checkout is {path}. It is yours alone: work nowhere else.\n"),
    };
    out.push_str(&zone::rules(&zone));
    out.push_str(
        "You do not have to commit: your changes are committed when you finish.\n\
         If you commit, stay on the current branch.\n",
    );
    if !task.spec.expected_files.is_empty() {
        let files = join(task.spec.expected_files.iter().map(RepoPath::as_str));
        line(&mut out, &format!("You must change these files: {files}."));
    }
    out
}

fn previous_failure(state: &State, out: &mut String, attempt: &Attempt, task: &Task, tag: &Tag) {
    let before = task.attempts.iter().rev().find(|it| **it != attempt.id);
    let Some(before) = before.map(|it| &state.attempts[*it]) else { return };
    let Some(failure) = &before.failure else { return };
    let kept = attempt.base == before.base && attempt.start != attempt.base;
    let start = if kept {
        "Your checkout contains the changes of that attempt: fix them."
    } else {
        "Your checkout is fresh: start over."
    };
    let mut body = format!("Attempt {} did not succeed.\n{start}\n", before.number);
    if matches!(failure, Failure::Gate { .. }) {
        line(&mut body, GATE_REMEDY);
    }
    let detail = failure.detail();
    let detail = text::tail(&detail, 2 * limits::OUTPUT_TAIL_BYTES);
    body.push_str(&tag.is_data());
    body.push_str(
        &tag.block(&[("kind", &"failure")], &format!("{failure}\n{}", detail.trim_end())),
    );
    section(out, "The previous attempt", body.trim_end());
}

const GATE_REMEDY: &str = "\
Do the task without changing these paths.
If you cannot, report the task as failed and name the paths: only a person can extend your region.";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    Summaries,
    Files,
}

fn context(state: &State, out: &mut String, task: &Task, plan: &Plan, depth: Depth, tag: &Tag) {
    let mut body = format!("Your task is part of the plan \"{}\".", plan.head.name);
    if !plan.head.description.is_empty() {
        let _ = write!(body, " {}", plan.head.description.trim());
    }
    section(out, "The plan", &body);
    if depth == Depth::Files {
        let others = plan.tasks.iter().map(|it| &state.tasks[*it]).filter(|it| it.id != task.id);
        let mut body = String::new();
        for other in others.take(OTHERS_MAX) {
            let zone = react::zone(other, plan).describe();
            line(&mut body, &format!("- {} ({}, in {zone})", other.spec.key, other.status));
        }
        if !body.is_empty() {
            body = tag.block(&[("kind", &"tasks")], &body);
        }
        section(out, "Other tasks of the plan", &body);
    }
    if task.depends_on.is_empty() {
        return;
    }
    let mut body = tag.is_data();
    for dependency in &task.depends_on {
        body.push_str(&done_before(state, &state.tasks[*dependency], depth, tag));
    }
    section(out, "Results of your dependencies", body.trim_end());
}

const OTHERS_MAX: usize = 100;

fn done_before(state: &State, task: &Task, depth: Depth, tag: &Tag) -> String {
    let Some(attempt) = task.last_attempt().map(|it| &state.attempts[it]) else {
        return String::new();
    };
    let summary = attempt.claim.as_ref().map_or("", |it| it.1.trim());
    let summary = text::cut(summary, limits::OUTPUT_TAIL_BYTES);
    let mut body = format!("{}: {summary}\n", task.spec.key);
    if depth == Depth::Files
        && let Some(work) = &attempt.work
    {
        for file in &work.files {
            line(&mut body, &format!("{} {}", file.change, file.path));
        }
    }
    tag.block(&[("task", &task.id)], &body)
}

fn list(out: &mut String, title: &str, items: &[String]) {
    let mut body = String::new();
    for item in items {
        line(&mut body, &format!("- {item}"));
    }
    section(out, title, body.trim_end());
}

/// Appends a titled paragraph, or nothing if `body` is empty.
fn section(out: &mut String, title: &str, body: &str) {
    if body.is_empty() {
        return;
    }
    out.push('\n');
    if !title.is_empty() {
        line(out, &format!("## {title}"));
    }
    line(out, body.trim_end());
}

/// Appends a fenced block whose fence is longer than any in the body.
fn fenced(out: &mut String, language: &str, body: &str) {
    let longest = body.split(|it| it != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    line(out, &format!("\n{fence}{language}\n{}\n{fence}", body.trim_end()));
}

fn line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

fn join<'a>(items: impl Iterator<Item = &'a str>) -> String {
    let mut out = String::new();
    for (index, item) in items.enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        out.push_str(item);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use pitcrew_model::ORCHESTRATOR_TOOLS;

    /// S1-030, S1-068: no instruction names a tool that is not offered.
    #[test]
    fn instructions_name_only_tools_that_exist() {
        for text in [
            HOW_TO_FINISH,
            HOW_TO_HAND_IN,
            QUESTIONS,
            DELEGATION,
            mail::HOW_TO_ANSWER,
            zone::HOW_TO_ASK,
        ] {
            let words = text.split(|it: char| !it.is_ascii_alphanumeric() && it != '_');
            let tools =
                words.filter(|it| it.starts_with("orchestrator_") || it.starts_with("a2a_"));
            let mut count = 0;
            for tool in tools {
                assert!(ORCHESTRATOR_TOOLS.contains(&tool), "{tool}");
                count += 1;
            }
            assert!(count > 0, "{text}");
        }
    }
}
