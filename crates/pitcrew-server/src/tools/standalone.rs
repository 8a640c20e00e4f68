//! Sub-tasks of the user's own agent. It belongs to no plan and holds no slot, so its calls are
//! answered by polling the state.

use super::{
    Calling, Refused,
    quoted::Tag,
    subtask::{Takes, call, changed, rows, spec, text},
};
use pitcrew_mcp::{Spawn, ToolAnswer};
use pitcrew_model::{Command, Rejection, SubtaskName, SubtaskResult, SubtaskSpec, TaskId, limits};
use pitcrew_runtime::StandalonePlan;
use serde_json::{Map, json};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

pub async fn spawn(calling: &Calling<'_>, spawn: &Spawn) -> Result<ToolAnswer, Refused> {
    let subtasks: Vec<SubtaskSpec> = spawn.subtasks.iter().map(spec).collect();
    let rules = calling.doors.desk.rules();
    calling.order(Command::SpawnStandalone { subtasks, rules }).await?;
    let handle = calling.doors.orchestrator.handle();
    let found = handle.standalone_of(call(calling)?).await;
    let StandalonePlan { id: plan, tasks, only_reads } = found.ok_or(Rejection::ShuttingDown)?;
    let names: Vec<String> = tasks.iter().map(|it| SubtaskName(*it).to_string()).collect();
    let mut changes_something = !only_reads;
    let (more, words) = if spawn.blocking {
        let timeouts = spawn.subtasks.iter().map(|it| it.timeout_ms);
        let results = wait(calling, tasks, timeouts.max().flatten()).await?;
        let has_changed = |it: &SubtaskResult| it.files_count > 0;
        changes_something &= results.iter().any(|it| it.1.as_ref().is_none_or(has_changed));
        let tag = Tag::new()?;
        (rows(&results), tag.notice() + &text(&tag, &results, Takes::Words))
    } else {
        let words = format!(
            "Spawned {}. Call a2a_await_subtasks with these ids when you need the results.\n",
            names.join(", ")
        );
        (json!([]), words)
    };
    let words = if changes_something {
        format!(
            "{words}Their changes are on the branch of {plan}. To merge them, the person runs `pitcrew land {plan}`."
        )
    } else {
        words
    };
    let more = json!({ "id": names.first(), "subtasks": names, "results": more, "plan": plan });
    Ok(ToolAnswer::accepted(words, more))
}

pub async fn await_all(
    calling: &Calling<'_>,
    tasks: &[TaskId],
    timeout_ms: Option<u64>,
) -> Result<ToolAnswer, Refused> {
    told(&wait(calling, named(tasks)?, timeout_ms).await?)
}

pub async fn results(calling: &Calling<'_>, tasks: &[TaskId]) -> Result<ToolAnswer, Refused> {
    let handle = calling.doors.orchestrator.handle();
    told(&handle.standalone_results(named(tasks)?).await?)
}

fn told(results: &[(TaskId, Option<SubtaskResult>)]) -> Result<ToolAnswer, Refused> {
    let tag = Tag::new()?;
    let structured = Map::from_iter([("results".to_owned(), rows(results))]);
    Ok(ToolAnswer::new(tag.notice() + &text(&tag, results, Takes::Words), structured))
}

/// The sub-tasks must be named: there is no record of which client spawned which.
fn named(tasks: &[TaskId]) -> Result<Vec<TaskId>, Refused> {
    if tasks.is_empty() {
        return Err(Refused::Rejected("`ids` is missing; send the ids of the sub-tasks".into()));
    }
    Ok(tasks.to_vec())
}

/// The results when all have ended, or at the deadline.
async fn wait(
    calling: &Calling<'_>,
    tasks: Vec<TaskId>,
    timeout_ms: Option<u64>,
) -> Result<Vec<(TaskId, Option<SubtaskResult>)>, Refused> {
    let timeout_ms = timeout_ms.unwrap_or(limits::TASK_TIMEOUT_MS_DEFAULT);
    let until = Instant::now() + Duration::from_millis(timeout_ms.min(limits::TASK_TIMEOUT_MS_MAX));
    let handle = calling.doors.orchestrator.handle();
    let mut changes = handle.changes();
    loop {
        changes.borrow_and_update();
        let results = handle.standalone_results(tasks.clone()).await?;
        if results.iter().all(|it| it.1.is_some()) {
            return Ok(results);
        }
        match timeout_at(until, changed(calling, &mut changes)).await {
            Ok(Ok(())) => {}
            // The time limit of this call is over. The client repeats it for the rest.
            Ok(Err(Refused::Held)) | Err(_) => return Ok(results),
            Ok(Err(refused)) => return Err(refused),
        }
    }
}
