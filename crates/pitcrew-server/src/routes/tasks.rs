//! One task: what its agent said and did, what it changed, where it works.

mod log;

use crate::{
    answer::Failed,
    auth::Person,
    extract::{Asked, Named},
    serve::{Doors, now},
    streams::stream,
};
use axum::{Json, extract::State, response::Response};
use pitcrew_api::{ProblemCode, SnapshotRow, TaskDiff, TaskPath, TaskSnapshots, paths::LogQuery};
use pitcrew_model::{Kept, TaskId};
use pitcrew_views::TaskView;
use std::sync::Arc;

pub async fn path(
    _: Person,
    State(doors): State<Arc<Doors>>,
    Named(id): Named<TaskId>,
) -> Result<Json<TaskPath>, Failed> {
    let task = find(&doors, id)?;
    let there = task.attempts.iter().rev().find(|it| it.removed_at.is_none() && it.path.is_some());
    let Some((attempt, path)) = there.and_then(|it| Some((it.id, it.path.clone()?))) else {
        return Err(Failed::new(ProblemCode::NotFound, format!("{} has no checkout", task.id))
            .help("a task gets its checkout when it starts; after landing it is removed"));
    };
    Ok(Json(TaskPath { task: task.id, attempt, path }))
}

pub async fn diff(
    _: Person,
    State(doors): State<Arc<Doors>>,
    Named(id): Named<TaskId>,
) -> Result<Json<TaskDiff>, Failed> {
    let task = find(&doors, id)?;
    let Some(attempt) = task.newest_attempt().map(|it| it.id) else {
        return Err(Failed::new(ProblemCode::NotFound, format!("{} has not started", task.id)));
    };
    let changed = super::look(move || doors.orchestrator.attempt_changes(attempt)).await?;
    Ok(Json(TaskDiff { task: task.id, attempt, diff: super::diff(changed) }))
}

pub async fn snapshots(
    _: Person,
    State(doors): State<Arc<Doors>>,
    Named(id): Named<TaskId>,
) -> Result<Json<TaskSnapshots>, Failed> {
    let task = find(&doors, id)?.id;
    let kept = super::look(move || doors.orchestrator.kept_states(task)).await?;
    let snapshots = kept.into_iter().filter(|it| !it.dropped).map(|it| {
        let (files_count, insertions, deletions) = it.size.unwrap_or_default();
        let Kept { number, attempt, at, kind, commit, .. } = it;
        SnapshotRow { number, attempt, at, kind, commit, files_count, insertions, deletions }
    });
    Ok(Json(TaskSnapshots { task, snapshots: snapshots.collect() }))
}

pub async fn log(
    _: Person,
    State(doors): State<Arc<Doors>>,
    Named(id): Named<TaskId>,
    Asked(query): Asked<LogQuery>,
) -> Result<Response, Failed> {
    let task = find(&doors, id)?;
    let writing = doors.clone();
    Ok(stream(&doors, move |lines| log::write(writing, task.id, query, lines)))
}

fn find(doors: &Doors, task: TaskId) -> Result<TaskView, Failed> {
    let view = doors.orchestrator.handle().views().board.task_view(task, now());
    view.ok_or_else(|| {
        Failed::new(ProblemCode::NotFound, format!("there is no {task}"))
            .help("`pitcrew status --all` lists the tasks")
    })
}
