//! A parent's calls about its sub-tasks. Calls that wait are answered when the kernel ends the
//! wait.

use super::{Caller, Calling, Refused, pending, quoted::Tag, standalone};
use pitcrew_mcp::{Spawn, SubtaskRequest, ToolAnswer, WorkspaceChoice};
use pitcrew_model::{
    AttemptId, Command, EffectResult, Event, Failure, Rejection, RepoPath, Seq, SubtaskKind,
    SubtaskName, SubtaskResult, SubtaskSpec, TaskId, TaskWork, WorkspaceMode, limits,
};
use pitcrew_runtime::{Pulled, nonce};
use serde_json::{Map, Value, json};
use std::{fmt::Write as _, path::Path};
use tokio::{sync::watch, time::timeout_at};

/// How much longer a call waits than its sub-tasks may take: their deadline comes first.
const END_MS: u64 = 10_000;

/// Journal entries that are read at a time while waiting for a pull.
const READ_BATCH: usize = 1_000;

pub async fn spawn(calling: &Calling<'_>, spawn: &Spawn) -> Result<ToolAnswer, Refused> {
    if calling.caller == Caller::Client {
        return standalone::spawn(calling, spawn).await;
    }
    let attempt = attempt(calling)?;
    let handle = calling.doors.orchestrator.handle();
    let call = call(calling)?;
    // Sub-tasks of a repeated call are not validated again.
    let is_new = handle.handed_out_by(attempt, call.clone()).await.is_empty();
    let wait_ms = spawn.blocking.then(|| {
        let timeouts = spawn.subtasks.iter().map(|it| it.timeout_ms);
        let longest = timeouts.max().flatten().unwrap_or(limits::TASK_TIMEOUT_MS_DEFAULT);
        longest.saturating_add(END_MS)
    });
    let subtasks: Vec<SubtaskSpec> = spawn.subtasks.iter().map(spec).collect();
    if is_new {
        require_there(calling, attempt, &subtasks).await?;
    }
    let nonce = secret()?;
    calling.order(Command::SpawnSubtasks { attempt, subtasks, wait_ms, nonce }).await?;
    let tasks = handle.handed_out_by(attempt, call).await;
    let names: Vec<String> = tasks.iter().map(|it| SubtaskName(*it).to_string()).collect();
    if !spawn.blocking {
        let text = format!(
            "Spawned {}. Continue working. Call a2a_await_subtasks when you need the results.",
            names.join(", ")
        );
        let more = json!({ "id": names.first(), "subtasks": names, "results": [] });
        return Ok(ToolAnswer::accepted(text, more));
    }
    wait_over(calling, attempt).await?;
    let results = handle.results(attempt, tasks).await?;
    let tag = Tag::new()?;
    let wanted = pending::collect(calling, attempt, &tag).await;
    let more = json!({
        "id": names.first(),
        "subtasks": names,
        "results": rows(&results),
        "requests": wanted.requests,
        "questions": wanted.questions,
    });
    Ok(ToolAnswer::accepted(
        tag.notice() + &text(&tag, &results, Takes::Changes) + &wanted.text,
        more,
    ))
}

pub async fn await_all(
    calling: &Calling<'_>,
    tasks: &[TaskId],
    timeout_ms: Option<u64>,
) -> Result<ToolAnswer, Refused> {
    if calling.caller == Caller::Client {
        return standalone::await_all(calling, tasks, timeout_ms).await;
    }
    let attempt = attempt(calling)?;
    let timeout_ms = timeout_ms.unwrap_or(limits::TASK_TIMEOUT_MS_DEFAULT);
    let tasks = tasks.to_vec();
    calling.order(Command::AwaitSubtasks { attempt, tasks: tasks.clone(), timeout_ms }).await?;
    wait_over(calling, attempt).await?;
    let tag = Tag::new()?;
    let results = calling.doors.orchestrator.handle().results(attempt, tasks).await?;
    let wanted = pending::collect(calling, attempt, &tag).await;
    let structured = Map::from_iter([
        ("results".to_owned(), rows(&results)),
        ("requests".to_owned(), wanted.requests),
        ("questions".to_owned(), wanted.questions),
    ]);
    Ok(ToolAnswer::new(
        tag.notice() + &text(&tag, &results, Takes::Changes) + &wanted.text,
        structured,
    ))
}

pub async fn results(calling: &Calling<'_>, tasks: &[TaskId]) -> Result<ToolAnswer, Refused> {
    if calling.caller == Caller::Client {
        return standalone::results(calling, tasks).await;
    }
    let attempt = attempt(calling)?;
    let handle = calling.doors.orchestrator.handle();
    let results = handle.results(attempt, tasks.to_vec()).await?;
    let structured = Map::from_iter([("results".to_owned(), rows(&results))]);
    let tag = Tag::new()?;
    Ok(ToolAnswer::new(tag.notice() + &text(&tag, &results, Takes::Changes), structured))
}

pub async fn pull(calling: &Calling<'_>, task: TaskId) -> Result<ToolAnswer, Refused> {
    let attempt = attempt(calling)?;
    let accepted = calling.order(Command::PullSubtask { attempt, task }).await?;
    let handle = calling.doors.orchestrator.handle();
    let mut changes = handle.changes();
    let is_done = loop {
        changes.borrow_and_update();
        match handle.pulled(task).await {
            Some(Pulled::UnderWay) => changed(calling, &mut changes).await?,
            Some(Pulled::NotYet) => break false,
            Some(Pulled::Done) => break true,
            None => return Err(Rejection::ShuttingDown.into()),
        }
    };
    let name = SubtaskName(task);
    match outcome(calling, task, accepted.seq).await? {
        Some(Ok(files)) => {
            let text =
                format!("Pulled the changes of {name} into your checkout: {}.", files.join(", "));
            Ok(ToolAnswer::accepted(text, json!({ "subtask": name.to_string(), "files": files })))
        }
        Some(Err(failure)) => Err(Refused::Rejected(not_pulled(task, &failure))),
        // The pull failed before this call was repeated.
        None if !is_done => Err(Refused::Rejected(format!(
            "{name} was not pulled (see `pitcrew logs`); call again"
        ))),
        None => {
            let text = format!("Your checkout already has the changes of {name}.");
            Ok(ToolAnswer::accepted(text, json!({ "subtask": name.to_string(), "files": [] })))
        }
    }
}

/// The reason, and what the parent can do. Its checkout is unchanged.
fn not_pulled(task: TaskId, failure: &Failure) -> String {
    let name = SubtaskName(task);
    let Failure::Conflict { paths, .. } = failure else {
        return format!("{name} was not pulled: {failure}. Call again, or continue without it.");
    };
    format!(
        "{name} was not pulled: your changes conflict with its changes in {}. Your checkout is \
         unchanged.\n\
         To resolve this, save your version of these files elsewhere, restore the originals, call \
         a2a_pull_subtask_changes again, and redo your changes. Or continue without the changes of \
         {name}.",
        paths.join(", ")
    )
}

/// The result of the pull that started after `seq`, if any.
async fn outcome(
    calling: &Calling<'_>,
    task: TaskId,
    seq: Seq,
) -> Result<Option<Result<Vec<String>, Failure>>, Refused> {
    let doors = calling.doors.clone();
    let read = move || {
        let mut after = seq;
        loop {
            let entries = doors.orchestrator.entries(after, READ_BATCH)?;
            for entry in &entries {
                after = entry.seq;
                let Event::EffectEnded { result, .. } = &entry.event else { continue };
                if let EffectResult::WorkPulled { task: of, work, .. } = result
                    && *of == task
                {
                    return Ok(Some(Ok(work.files.iter().map(|it| it.path.clone()).collect())));
                } else if let EffectResult::WorkNotPulled { task: of, failure, .. } = result
                    && *of == task
                {
                    return Ok(Some(Err(failure.clone())));
                }
            }
            if entries.len() < READ_BATCH {
                return Ok::<_, pitcrew_runtime::ReadError>(None);
            }
        }
    };
    let told = |error: &dyn std::error::Error| Refused::Rejected(pitcrew_model::text::chain(error));
    match tokio::task::spawn_blocking(read).await {
        Ok(read) => read.map_err(|error| told(&error)),
        Err(panic) => Err(told(&panic)),
    }
}

/// Returns when the kernel has ended the wait; reports `Held` if that takes too long.
async fn wait_over(calling: &Calling<'_>, attempt: AttemptId) -> Result<(), Refused> {
    let call = call(calling)?;
    let handle = calling.doors.orchestrator.handle();
    let mut changes = handle.changes();
    loop {
        changes.borrow_and_update();
        match handle.is_held(attempt, call.clone()).await {
            Some(true) => changed(calling, &mut changes).await?,
            Some(false) => return Ok(()),
            None => return Err(Rejection::ShuttingDown.into()),
        }
    }
}

/// Waits for the journal to grow, within the time limit of the call.
pub async fn changed(
    calling: &Calling<'_>,
    changes: &mut watch::Receiver<Seq>,
) -> Result<(), Refused> {
    let grown = async {
        tokio::select! {
            grown = changes.changed() => grown.map_err(|_| Rejection::ShuttingDown.into()),
            () = calling.doors.closed() => Err(Rejection::ShuttingDown.into()),
        }
    };
    match calling.held_until {
        Some(deadline) => timeout_at(deadline, grown).await.unwrap_or(Err(Refused::Held)),
        None => grown.await,
    }
}

pub fn attempt(calling: &Calling<'_>) -> Result<AttemptId, Refused> {
    match calling.caller {
        Caller::Worker { attempt, .. } => Ok(attempt),
        Caller::Client => Err(Refused::Rejected("only a worker can call this".into())),
    }
}

/// The key that identifies a repeated call.
pub fn call(calling: &Calling<'_>) -> Result<String, Refused> {
    let missing = || Refused::Rejected("a blocking call needs a nonce".into());
    calling.nonce.clone().ok_or_else(missing)
}

/// A random value that cannot be guessed.
pub fn secret() -> Result<String, Refused> {
    nonce().map_err(|error| Refused::Rejected(format!("cannot read random bytes: {error}")))
}

/// A guest can only be restricted to existing files: creating a file needs write access to its
/// folder, which others use too.
async fn require_there(
    calling: &Calling<'_>,
    attempt: AttemptId,
    subtasks: &[SubtaskSpec],
) -> Result<(), Refused> {
    let checkout = calling.doors.orchestrator.handle().checkout(attempt).await;
    let missing = checkout.and_then(|it| missing(&it, subtasks));
    let Some((number, path)) = missing else { return Ok(()) };
    Err(Refused::Rejected(format!(
        "sub-task {number} names {path}, which does not exist in your checkout, and a `shared` sub-task cannot create it; \
         create an empty file or folder first, or use `isolated`"
    )))
}

/// The first file that does not exist for a guest.
fn missing(checkout: &Path, subtasks: &[SubtaskSpec]) -> Option<(usize, RepoPath)> {
    let shared =
        subtasks.iter().zip(1..).filter(|it| it.0.workspace == Some(WorkspaceMode::Shared));
    let mut files =
        shared.flat_map(|(it, number)| it.target_files.iter().map(move |it| (number, it)));
    let is_missing = |path: &RepoPath| checkout.join(path.as_str()).symlink_metadata().is_err();
    files.find(|it| is_missing(it.1)).map(|(number, path)| (number, path.clone()))
}

pub fn spec(asked: &SubtaskRequest) -> SubtaskSpec {
    let prompt = asked.prompt.clone();
    let work = match (&asked.script, &asked.command) {
        (Some(script), _) => TaskWork::Script { prompt, script: script.clone() },
        (None, Some(command)) => TaskWork::Command { prompt, command: command.clone() },
        (None, None) => TaskWork::Prompt { prompt },
    };
    let workspace = asked.workspace.map(|it| match it {
        WorkspaceChoice::ReadOnly => WorkspaceMode::ReadOnly,
        WorkspaceChoice::Isolated => WorkspaceMode::Isolated,
        WorkspaceChoice::Shared => WorkspaceMode::Shared,
    });
    SubtaskSpec {
        kind: SubtaskKind::Delegate,
        agent: asked.agent.clone(),
        work,
        expected_output: asked.expected_output.clone(),
        model: asked.model.clone(),
        workspace,
        target_files: asked.target_files.clone(),
        attempts_max: limits::ATTEMPTS_PER_SUBTASK_DEFAULT,
        timeout_ms: asked.timeout_ms.unwrap_or(limits::TASK_TIMEOUT_MS_DEFAULT),
    }
}

pub type Results = [(TaskId, Option<SubtaskResult>)];

/// Whether the reader of the results has a checkout to pull changes into.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    Changes,
    Words,
}

/// Every requested sub-task, ended or not.
pub fn text(tag: &Tag, results: &Results, takes: Takes) -> String {
    let mut text = String::new();
    for (task, result) in results {
        let name = SubtaskName(*task);
        let Some(it) = result else {
            writeln!(text, "{name}: pending").expect("a string takes everything");
            continue;
        };
        let changed = match (it.changed(), takes) {
            (None, _) => String::new(),
            (Some(changed), Takes::Words) => format!(", {changed}"),
            (Some(changed), Takes::Changes) => format!(
                ", {changed}: call a2a_pull_subtask_changes {{\"id\": \"{name}\"}} to get the changes"
            ),
        };
        writeln!(text, "{name}: {}{changed}", it.status).expect("a string takes everything");
        let error = it.error.as_ref().map(|it| format!("{it}\n")).unwrap_or_default();
        let words = if it.error_has_output() { error } else { error + &it.output };
        if !words.is_empty() {
            text.push_str(&tag.block(&format!("subtask=\"{name}\""), &words));
        }
    }
    text
}

pub fn rows(results: &Results) -> Value {
    let row = |(task, result): &(TaskId, Option<SubtaskResult>)| {
        let subtask = SubtaskName(*task).to_string();
        match result {
            None => json!({ "subtask": subtask, "status": "pending", "output": "" }),
            Some(it) => json!({
                "subtask": subtask,
                "status": it.status,
                "output": it.output,
                "output_file": it.output_file,
                "metadata": it.metadata,
                "permissions_requested": it.permissions_requested,
                "error": it.error,
                "files_changed": (it.files_count > 0).then_some(it.files_count),
            }),
        }
    };
    results.iter().map(row).collect()
}
