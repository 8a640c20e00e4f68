//! A preview of what `gc` would remove.

use crate::{
    auth::Person,
    serve::{Doors, now},
};
use axum::{Json, extract::State};
use pitcrew_api::{DroppableSnapshots, GarbagePreview, KeptCheckout, RemovableCheckout};
use pitcrew_model::AttemptId;
use pitcrew_runtime::Garbage;
use pitcrew_views::{Attempt, Scope, TaskView};
use std::sync::Arc;

pub async fn preview(_: Person, State(doors): State<Arc<Doors>>) -> Json<GarbagePreview> {
    let handle = doors.orchestrator.handle();
    let Garbage { removable, droppable } = handle.garbage().await;
    let board = handle.views().board.view(now(), Scope::All);
    let mut preview =
        GarbagePreview { removable: Vec::new(), kept: Vec::new(), droppable: Vec::new() };
    for task in board.units() {
        let of_task = |it: &&(AttemptId, u32)| task.attempts.iter().any(|its| its.id == it.0);
        preview.droppable.extend(droppable.iter().filter(of_task).map(|(attempt, count)| {
            DroppableSnapshots { attempt: *attempt, task: task.id, count: *count }
        }));
        for attempt in task.attempts.iter().filter(|it| it.removed_at.is_none()) {
            let Some(path) = attempt.path.clone() else { continue };
            let (attempt_id, task_id) = (attempt.id, task.id);
            if removable.contains(&attempt_id) {
                preview.removable.push(RemovableCheckout {
                    attempt: attempt_id,
                    task: task_id,
                    path,
                });
            } else {
                let reason = why_kept(task, attempt);
                preview.kept.push(KeptCheckout {
                    attempt: attempt_id,
                    task: task_id,
                    path,
                    reason,
                });
            }
        }
    }
    Json(preview)
}

/// Explains why a checkout stays. The kernel decides that it does.
fn why_kept(task: &TaskView, attempt: &Attempt) -> String {
    let (id, status) = (task.id, task.status);
    match &attempt.kept {
        Some(reason) => reason.clone(),
        None if attempt.abandoned => "it was abandoned and is being removed".into(),
        None if status.has_ended() => {
            format!("{id} is {status}; `pitcrew abandon {id}` gives it up")
        }
        None => format!("{id} is {status}"),
    }
}
