//! Calls of a parent about its sub-tasks. Those that wait are held until the kernel says that the
//! wait is over.

use super::{Caller, Calling, Refused, asked, quoted::Tag};
use pitcrew_mcp::{Spawn, SubtaskAsked, ToolAnswer, WorkspaceAsked};
use pitcrew_model::{
    AttemptId, Command, EffectResult, Event, Rejection, Seq, SubtaskKind, SubtaskName,
    SubtaskResult, SubtaskSpec, TaskId, TaskWork, Workspace, limits,
};
use pitcrew_runtime::Pulled;
use serde_json::{Map, Value, json};
use std::{fmt::Write as _, fs::File, io::Read};
use tokio::{sync::watch, time::timeout_at};

/// Entries that are read at once while a pull is looked for.
const READ_BATCH: usize = 1_000;

pub async fn spawn(calling: &Calling<'_>, spawn: &Spawn) -> Result<ToolAnswer, Refused> {
    let attempt = attempt(calling)?;
    known_agents(calling, spawn).await?;
    let wait_ms = spawn.blocking.then(|| {
        let timeouts = spawn.subtasks.iter().map(|it| it.timeout_ms);
        timeouts.max().flatten().unwrap_or(limits::TASK_TIMEOUT_MS_DEFAULT)
    });
    let subtasks = spawn.subtasks.iter().map(spec).collect();
    let nonce = secret()?;
    calling.order(Command::SpawnSubtasks { attempt, subtasks, wait_ms, nonce }).await?;
    let call = call(calling)?;
    let handle = calling.doors.orchestrator.handle();
    let tasks = handle.handed_out_by(attempt, call).await;
    let names: Vec<String> = tasks.iter().map(|it| SubtaskName(*it).to_string()).collect();
    if !spawn.blocking {
        let text = format!(
            "Spawned {}. Go on working; call a2a_await_subtasks when you need the results.",
            names.join(", ")
        );
        let more = json!({ "id": names.first(), "subtasks": names, "results": [] });
        return Ok(ToolAnswer::accepted(text, more));
    }
    wait_over(calling, attempt).await?;
    let results = handle.results(attempt, tasks).await?;
    let tag = Tag::new()?;
    let wanted = asked::look(calling, attempt, &tag).await;
    let more = json!({
        "id": names.first(),
        "subtasks": names,
        "results": rows(&results),
        "requests": wanted.requests,
        "questions": wanted.questions,
    });
    Ok(ToolAnswer::accepted(tag.notice() + &text(&tag, &results) + &wanted.text, more))
}

pub async fn await_all(
    calling: &Calling<'_>,
    tasks: &[TaskId],
    timeout_ms: Option<u64>,
) -> Result<ToolAnswer, Refused> {
    let attempt = attempt(calling)?;
    let timeout_ms = timeout_ms.unwrap_or(limits::TASK_TIMEOUT_MS_DEFAULT);
    let tasks = tasks.to_vec();
    calling.order(Command::AwaitSubtasks { attempt, tasks: tasks.clone(), timeout_ms }).await?;
    wait_over(calling, attempt).await?;
    let tag = Tag::new()?;
    let results = calling.doors.orchestrator.handle().results(attempt, tasks).await?;
    let wanted = asked::look(calling, attempt, &tag).await;
    let structured = Map::from_iter([
        ("results".to_owned(), rows(&results)),
        ("requests".to_owned(), wanted.requests),
        ("questions".to_owned(), wanted.questions),
    ]);
    Ok(ToolAnswer::new(tag.notice() + &text(&tag, &results) + &wanted.text, structured))
}

pub async fn results(calling: &Calling<'_>, tasks: &[TaskId]) -> Result<ToolAnswer, Refused> {
    let attempt = attempt(calling)?;
    let handle = calling.doors.orchestrator.handle();
    let results = handle.results(attempt, tasks.to_vec()).await?;
    let structured = Map::from_iter([("results".to_owned(), rows(&results))]);
    let tag = Tag::new()?;
    Ok(ToolAnswer::new(tag.notice() + &text(&tag, &results), structured))
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
            let text = format!("Your checkout has the changes of {name}: {}.", files.join(", "));
            Ok(ToolAnswer::accepted(text, json!({ "subtask": name.to_string(), "files": files })))
        }
        Some(Err(failure)) => Err(Refused::Told(format!("{name} could not be pulled: {failure}"))),
        // It failed before this call was made again.
        None if !is_done => {
            Err(Refused::Told(format!("{name} was not pulled; `pitcrew logs` says why. Try again")))
        }
        None => {
            let text = format!("Your checkout has the changes of {name} already.");
            Ok(ToolAnswer::accepted(text, json!({ "subtask": name.to_string(), "files": [] })))
        }
    }
}

/// How the pull ended that began after `seq`; nothing where none did.
async fn outcome(
    calling: &Calling<'_>,
    task: TaskId,
    seq: Seq,
) -> Result<Option<Result<Vec<String>, String>>, Refused> {
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
                    return Ok(Some(Err(failure.to_string())));
                }
            }
            if entries.len() < READ_BATCH {
                return Ok::<_, pitcrew_runtime::ReadError>(None);
            }
        }
    };
    let told = |error: &dyn std::error::Error| Refused::Told(pitcrew_model::text::chain(error));
    match tokio::task::spawn_blocking(read).await {
        Ok(read) => read.map_err(|error| told(&error)),
        Err(panic) => Err(told(&panic)),
    }
}

/// Returns when the call's own wait is over; says that it is held where that takes too long.
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

/// Waits for the journal to grow, as long as the call may be held.
async fn changed(calling: &Calling<'_>, changes: &mut watch::Receiver<Seq>) -> Result<(), Refused> {
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

fn attempt(calling: &Calling<'_>) -> Result<AttemptId, Refused> {
    match calling.caller {
        Caller::Worker { attempt, .. } => Ok(attempt),
        Caller::Client => Err(Refused::Told("only workers have sub-tasks".into())),
    }
}

/// What the call is found again by.
fn call(calling: &Calling<'_>) -> Result<String, Refused> {
    let missing = || Refused::Told("a call that waits needs a nonce".into());
    calling.nonce.clone().ok_or_else(missing)
}

/// A mark that nobody can guess.
pub fn secret() -> Result<String, Refused> {
    let mut bytes = [0; 16];
    match File::open("/dev/urandom").and_then(|mut it| it.read_exact(&mut bytes)) {
        Ok(()) => Ok(format!("{:032x}", u128::from_ne_bytes(bytes))),
        Err(error) => Err(Refused::Told(format!("no random number: {error}"))),
    }
}

async fn known_agents(calling: &Calling<'_>, spawn: &Spawn) -> Result<(), Refused> {
    let desk = calling.doors.desk.clone();
    let agents = tokio::task::spawn_blocking(move || desk.agents()).await.unwrap_or_default();
    for subtask in &spawn.subtasks {
        let known = |it: &String| agents.iter().any(|agent| agent.name == *it);
        if !subtask.agent.backend.as_ref().is_some_and(known) {
            let names: Vec<&str> = agents.iter().map(|it| it.name.as_str()).collect();
            let (agent, names) = (&subtask.agent, names.join(", "));
            return Err(Refused::Told(format!("there is no agent `{agent}`; there are: {names}")));
        }
    }
    Ok(())
}

fn spec(asked: &SubtaskAsked) -> SubtaskSpec {
    let prompt = asked.prompt.clone();
    let work = match (&asked.script, &asked.command) {
        (Some(script), _) => TaskWork::Script { prompt, script: script.clone() },
        (None, Some(command)) => TaskWork::Command { prompt, command: command.clone() },
        (None, None) => TaskWork::Prompt { prompt },
    };
    let workspace = match asked.workspace {
        Some(WorkspaceAsked::ReadOnly) => Workspace::ReadOnly,
        Some(WorkspaceAsked::Shared) => Workspace::Shared,
        // Words may be a question; a program is there to change something.
        None if asked.target_files.is_empty() && matches!(work, TaskWork::Prompt { .. }) => {
            Workspace::ReadOnly
        }
        Some(WorkspaceAsked::Isolated) | None => Workspace::Isolated,
    };
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

type Results = [(TaskId, Option<SubtaskResult>)];

/// Every one that was asked for, ended or not.
fn text(tag: &Tag, results: &Results) -> String {
    let mut text = String::new();
    for (task, result) in results {
        let name = SubtaskName(*task);
        let Some(it) = result else {
            writeln!(text, "{name}: pending").expect("a string takes everything");
            continue;
        };
        writeln!(text, "{name}: {}", it.status).expect("a string takes everything");
        let error = it.error.as_ref().map(|it| format!("{it}\n")).unwrap_or_default();
        let words = error + &it.output;
        if !words.is_empty() {
            text.push_str(&tag.block(&format!("subtask=\"{name}\""), &words));
        }
    }
    text
}

fn rows(results: &Results) -> Value {
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
            }),
        }
    };
    results.iter().map(row).collect()
}
