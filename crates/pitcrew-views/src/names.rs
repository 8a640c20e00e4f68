//! Names of our statuses in other vocabularies, for protocols that need them.

use crate::{PlanView, TaskView};
use pitcrew_model::{PlanStatus, TaskStatus, WorkerStatus};

/// Returns the name of a plan as a run: `idle`, `decomposing`, `confirming`, `spawning`, `running`,
/// `retrying`, `done` (ended, not all succeeded), `completed` or `cancelled`.
pub fn run_state<'a>(
    plan: &PlanView,
    tasks: impl IntoIterator<Item = &'a TaskView>,
) -> &'static str {
    match plan.status {
        PlanStatus::Draft => "idle",
        PlanStatus::Clarifying | PlanStatus::Decomposing => "decomposing",
        PlanStatus::AwaitingApproval => "confirming",
        PlanStatus::Active | PlanStatus::Paused => active_state(tasks),
        PlanStatus::Partial | PlanStatus::Failed => "done",
        PlanStatus::Completed => "completed",
        PlanStatus::Cancelled => "cancelled",
    }
}

/// Returns the name of a task within a run: `pending`, `running`, `retrying`, `completed`,
/// `partial` or `failed`.
pub fn subtask_state(task: &TaskView) -> &'static str {
    let (waits_again, runs_again) = (!task.attempts.is_empty(), task.attempts.len() > 1);
    match task.status {
        TaskStatus::Pending | TaskStatus::Queued => {
            if waits_again {
                "retrying"
            } else {
                "pending"
            }
        }
        TaskStatus::Blocked => "pending",
        TaskStatus::Starting
        | TaskStatus::Running
        | TaskStatus::Verifying
        | TaskStatus::Integrating => {
            if runs_again {
                "retrying"
            } else {
                "running"
            }
        }
        TaskStatus::Completed => "completed",
        TaskStatus::Partial => "partial",
        TaskStatus::Failed | TaskStatus::Cancelled => "failed",
    }
}

/// Returns the name of a worker in an editor extension: `created`, `running`, `paused`, `idle`,
/// `completed` or `error`.
pub fn worker_state(status: WorkerStatus) -> &'static str {
    match status {
        WorkerStatus::Created | WorkerStatus::Starting => "created",
        WorkerStatus::Running => "running",
        WorkerStatus::WaitingInput
        | WorkerStatus::WaitingPermission
        | WorkerStatus::WaitingQuota
        | WorkerStatus::WaitingSubtasks => "idle",
        WorkerStatus::Paused => "paused",
        WorkerStatus::Completed => "completed",
        WorkerStatus::Failed | WorkerStatus::Killed => "error",
    }
}

fn active_state<'a>(tasks: impl IntoIterator<Item = &'a TaskView>) -> &'static str {
    let (mut running, mut retrying) = (false, false);
    for task in tasks {
        let state = subtask_state(task);
        running |= state != "pending" && task.status != TaskStatus::Starting;
        retrying |= state == "retrying";
    }
    match (retrying, running) {
        (true, _) => "retrying",
        (false, true) => "running",
        (false, false) => "spawning",
    }
}
