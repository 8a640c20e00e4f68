//! The summary of a plan that `run` and `watch` print at the end.

use super::{
    Style,
    board::{plan_status, refused_checks, status},
    check_ends, crowd,
    table::{Align, Table},
    usage::{caps, queries, usage},
    words::{duration, plural},
};
use pitcrew_model::{LandingStatus, PlanStatus, TaskStatus};
use pitcrew_views::{BoardView, NotCompleted, Summary, TaskSummary, changed_nothing, plain};
use std::path::Path;

/// Tasks that did not complete, with the reason. The rest is only counted.
const NOT_COMPLETED_SHOWN_MAX: usize = 20;

/// One line per task, the totals, and what did not complete. The journal is in `state`.
pub fn summary(summary: &Summary, board: &BoardView, state: &Path, style: Style) -> String {
    let name = format!("{} {}", summary.plan, plain::line(&summary.name));
    let mut lines = vec![format!("{}: {}", style.bold(&name), plan_status(summary.status, style))];
    lines.extend(tasks(summary, style));
    lines.push(totals(summary));
    lines.extend(usage(&summary.vendors, &summary.totals.usage));
    lines.extend(queries(&summary.queries));
    lines.extend(caps(&summary.caps, &summary.vendors));
    lines.extend(refused_checks(&summary.refused_places));
    lines.extend(summary.tasks.iter().flat_map(refused_places));
    lines.extend(summary.tasks.iter().flat_map(changes));
    if !summary.not_completed.is_empty() {
        lines.push(String::new());
        lines.push("not completed:".to_owned());
        for task in summary.not_completed.iter().take(NOT_COMPLETED_SHOWN_MAX) {
            lines.extend(not_completed(task, board, summary.status, style));
        }
        let more = summary.not_completed.len().saturating_sub(NOT_COMPLETED_SHOWN_MAX);
        if more > 0 {
            lines.push(format!("  and {more} more; `pitcrew status {}` lists them", summary.plan));
        }
    }
    lines.push(String::new());
    lines.push(format!("journal    {}", state.display()));
    lines.extend(next_steps(summary).into_iter().map(|it| format!("next       {it}")));
    lines.join("\n") + "\n"
}

fn tasks(summary: &Summary, style: Style) -> Vec<String> {
    let mut table = Table::new(&[
        Align::Left,
        Align::Left,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Left,
    ]);
    let all = summary.tasks.iter().collect();
    let (tasks, hidden) = crowd::cap(all, crowd::TASKS_SHOWN_MAX, |it| it.status);
    for task in tasks {
        table.row([
            status(task.status, style),
            format!("{} {}{}", task.task, plain::line(&task.key), subtasks(task)),
            plural(task.attempts_count, "attempt"),
            duration(task.took_ms),
            plural(task.files_count, "file"),
            format!("+{} -{}", task.insertions, task.deletions),
        ]);
    }
    table.lines("  ").into_iter().chain(crowd::more(&hidden)).collect()
}

/// `(3 sub-tasks, 1 not completed)`
fn subtasks(task: &TaskSummary) -> String {
    let count = plural(task.subtasks_count, "sub-task");
    match (task.subtasks_count, task.subtasks_failed_count) {
        (0, _) => String::new(),
        (_, 0) => format!(" ({count})"),
        (_, failed) => format!(" ({count}, {failed} not completed)"),
    }
}

/// The network access that the policy refused to a task, and the setting that allows it.
fn refused_places(task: &TaskSummary) -> impl Iterator<Item = String> {
    task.refused_places
        .iter()
        .map(|it| format!("  {} was refused access to {it}", plain::line(&task.key)))
}

/// The changes that were refused, and whether the task changed nothing.
fn changes(task: &TaskSummary) -> impl Iterator<Item = String> {
    let nothing = changed_nothing(task.status, task.files_count);
    let nothing = nothing.then(|| "it changed nothing".to_owned());
    let refused = task.refused_changes.iter().map(ToString::to_string);
    refused.chain(nothing).map(|it| format!("  {} {}: {it}", task.task, plain::line(&task.key)))
}

fn totals(summary: &Summary) -> String {
    let all = &summary.totals;
    format!(
        "  {} of {} completed, {}, {}, {}, +{} -{}",
        all.completed_count,
        all.tasks_count,
        plural(all.attempts_count, "attempt"),
        duration(all.took_ms),
        plural(all.files_count, "file"),
        all.insertions,
        all.deletions,
    )
}

fn not_completed(
    task: &NotCompleted,
    board: &BoardView,
    plan: PlanStatus,
    style: Style,
) -> Vec<String> {
    let id = task.task;
    let state = status(task.status, style);
    let line = format!("  {state} {id} {}: {}", plain::line(&task.key), plain::line(&task.reason));
    // Tasks of a cancelled plan cannot be retried.
    let is_over = plan == PlanStatus::Cancelled;
    let todo = match task.status {
        TaskStatus::Failed | TaskStatus::Cancelled if is_over && task.kept_count > 0 => {
            format!("pitcrew logs {id}; pitcrew restore {id}")
        }
        TaskStatus::Failed | TaskStatus::Cancelled if is_over => format!("pitcrew logs {id}"),
        TaskStatus::Partial if is_over => format!("pitcrew diff {id}"),
        TaskStatus::Failed | TaskStatus::Cancelled => {
            format!("pitcrew logs {id}; pitcrew retry {id}")
        }
        TaskStatus::Partial => format!("pitcrew diff {id}; pitcrew accept {id}, or retry {id}"),
        TaskStatus::Blocked
        | TaskStatus::Pending
        | TaskStatus::Queued
        | TaskStatus::Starting
        | TaskStatus::Running
        | TaskStatus::Verifying
        | TaskStatus::Integrating
        | TaskStatus::Completed => return vec![line],
    };
    let mut lines = vec![line];
    let view = board.task(id);
    lines.extend(view.into_iter().flat_map(|it| check_ends::of_task(it, "    ", style)));
    lines.push(format!("    {}", style.dim(&todo)));
    lines
}

/// The commands to run next.
pub fn next_steps(summary: &Summary) -> Vec<String> {
    let plan = summary.plan;
    let is_open = matches!(
        summary.landing,
        LandingStatus::None
            | LandingStatus::Conflict
            | LandingStatus::SideBranch
            | LandingStatus::Signing
            | LandingStatus::Undone
    );
    let can_land = is_open && summary.totals.completed_count > 0;
    let landing = || [format!("pitcrew diff {plan}"), format!("pitcrew land {plan}")];
    let mut steps = Vec::new();
    match summary.status {
        PlanStatus::Completed | PlanStatus::Partial | PlanStatus::Cancelled if can_land => {
            steps.extend(landing());
        }
        PlanStatus::Paused => steps.push(format!("pitcrew resume {plan}")),
        PlanStatus::AwaitingApproval => steps.push(format!("pitcrew approve {plan}")),
        PlanStatus::Draft
        | PlanStatus::Clarifying
        | PlanStatus::Decomposing
        | PlanStatus::Active
        | PlanStatus::Completed
        | PlanStatus::Partial
        | PlanStatus::Failed
        | PlanStatus::Cancelled => {}
    }
    if summary.status == PlanStatus::Failed || is_open && summary.status == PlanStatus::Partial {
        steps.push(format!("pitcrew retry {plan}"));
    }
    steps
}
