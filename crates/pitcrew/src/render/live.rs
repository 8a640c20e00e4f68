//! The live block: active workers and requests that wait for a person.

use super::{
    Style,
    board::{place, tree_name},
    table::{Align, Table},
    words::duration,
};
use pitcrew_model::{PlanId, TaskStatus, Timestamp};
use pitcrew_views::{BoardView, OpenRequest, PlanView, TaskView, plain};

/// Workers that are shown before the rest is only counted.
const WORKERS_SHOWN_MAX: usize = 15;
/// Requests that are shown before the rest is only counted.
const REQUESTS_SHOWN_MAX: usize = 5;

/// One line per plan, then one per worker.
pub fn live(
    board: &BoardView,
    plans: &[PlanId],
    waiting: &[OpenRequest],
    now: Timestamp,
    style: Style,
) -> Vec<String> {
    let mut lines = Vec::new();
    for plan in plans.iter().filter_map(|it| board.plan(*it)).filter(|it| it.ended_at.is_none()) {
        lines.push(head(plan, now, style));
        let mut table = Table::new(&[Align::Left, Align::Left, Align::Right, Align::Left]);
        let at_work: Vec<&TaskView> =
            board.tree_of(plan.id).filter(|it| it.status.in_attempt()).collect();
        for task in at_work.iter().take(WORKERS_SHOWN_MAX) {
            table.row(worker(board, task, now, style));
        }
        lines.extend(table.lines("  "));
        if let Some(more) = at_work.len().checked_sub(WORKERS_SHOWN_MAX + 1) {
            lines.push(format!("  and {} more", more + 1));
        }
        let open: Vec<&OpenRequest> = waiting.iter().filter(|it| it.plan == plan.id).collect();
        lines.extend(panel(&open, now, style));
    }
    lines
}

/// The open requests, the most urgent first.
fn panel(open: &[&OpenRequest], now: Timestamp, style: Style) -> Vec<String> {
    if open.is_empty() {
        return Vec::new();
    }
    let mut open = open.to_vec();
    open.sort_by_key(|it| it.ask.priority());
    let mut table = Table::new(&[Align::Left, Align::Left, Align::Right, Align::Left]);
    for request in open.iter().take(REQUESTS_SHOWN_MAX) {
        let whom = request.task_key.as_deref().map(plain::line).unwrap_or_default();
        let age = duration(now.since(request.opened_at));
        table.row([request.id.to_string(), whom, age, plain::line(&request.title)]);
    }
    let text = format!("  {} waiting for you: pitcrew inbox", open.len());
    let mut lines = vec![style.cyan(&text)];
    lines.extend(table.lines("    "));
    if let Some(more) = open.len().checked_sub(REQUESTS_SHOWN_MAX + 1) {
        lines.push(format!("    and {} more", more + 1));
    }
    lines
}

/// `plan-1 tidy up: active for 12 s (3 of 8 done, 2 active, 1 waiting)`
fn head(plan: &PlanView, now: Timestamp, style: Style) -> String {
    let count = |status: TaskStatus| plan.counts.get(&status).copied().unwrap_or(0);
    let sum = |statuses: &[TaskStatus]| statuses.iter().map(|it| count(*it)).sum::<u64>();
    let at_work = sum(&[
        TaskStatus::Starting,
        TaskStatus::Running,
        TaskStatus::Verifying,
        TaskStatus::Integrating,
    ]);
    let waiting = sum(&[TaskStatus::Pending, TaskStatus::Queued]);
    let mut parts = vec![format!("{} of {} done", count(TaskStatus::Completed), plan.tasks.len())];
    let rest = [
        (at_work, "active"),
        (waiting, "waiting"),
        (count(TaskStatus::Blocked), "blocked"),
        (count(TaskStatus::Partial), "partial"),
        (count(TaskStatus::Failed), "failed"),
        (count(TaskStatus::Cancelled), "cancelled"),
    ];
    parts.extend(rest.iter().filter(|it| it.0 > 0).map(|(count, word)| format!("{count} {word}")));
    let name = format!("{} {}", plan.id, plain::line(&plan.name));
    let age = duration(now.since(plan.created_at));
    format!("{}: {} for {age} ({})", style.bold(&name), plan.status, parts.join(", "))
}

fn worker(board: &BoardView, task: &TaskView, now: Timestamp, style: Style) -> [String; 4] {
    let since = task.newest_attempt().map_or(task.since, |it| it.started_at);
    let mut name = tree_name(task);
    if task.attempts.len() > 1 {
        name = format!("{name} (attempt {})", task.attempts.len());
    }
    let did = task.worker.and_then(|it| board.worker(it)?.activity.as_ref());
    let did = did.filter(|_| task.status == TaskStatus::Running).map(|it| it.note.as_str());
    let what = task.reason.as_deref().or(did).map_or_else(|| task.status.to_string(), plain::line);
    [name, style.dim(&place(task)), duration(now.since(since)), what]
}
