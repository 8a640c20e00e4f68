//! A task: its log, its changes and its checkout.

mod log;

use crate::{
    answer::Failed,
    auth::Person,
    extract::{PathParam, QueryParams},
    serve::{Doors, now},
    streams::stream,
};
use axum::{Json, extract::State, response::Response};
use pitcrew_api::{ProblemCode, SnapshotRow, TaskDiff, TaskPath, TaskSnapshots, paths::LogQuery};
use pitcrew_model::{Kept, TaskId, text};
use pitcrew_views::{Attempt, TaskView};
use std::sync::Arc;

pub async fn path(
    _: Person,
    State(doors): State<Arc<Doors>>,
    PathParam(id): PathParam<TaskId>,
) -> Result<Json<TaskPath>, Failed> {
    let task = find(&doors, id)?;
    let has_work =
        |it: &&Attempt| it.commit.is_some() || it.removed_at.is_none() && it.path.is_some();
    let Some(attempt) = task.attempts.iter().rev().find(has_work).map(|it| it.id) else {
        return Err(Failed::new(ProblemCode::NotFound, format!("{} has no work yet", task.id))
            .help("its work is available once it has started"));
    };
    let (task, slug) = (task.id, text::slug(&task.key));
    let copied = super::look(move || doors.orchestrator.clean_copy(task, slug, attempt)).await?;
    let path = copied.path.display().to_string();
    let kept = copied.kept.map(|it| it.display().to_string());
    Ok(Json(TaskPath { task, attempt, path, kept }))
}

pub async fn diff(
    _: Person,
    State(doors): State<Arc<Doors>>,
    PathParam(id): PathParam<TaskId>,
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
    PathParam(id): PathParam<TaskId>,
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
    PathParam(id): PathParam<TaskId>,
    QueryParams(query): QueryParams<LogQuery>,
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
