//! The board as a table.

use super::{
    Style, check_ends, crowd,
    table::{Align, Table},
    usage::{caps, queries, usage},
    words::{cut_to_width, duration, folded, plural, region, width},
};
use pitcrew_model::{
    LandedAt, LandingStatus, PlanStatus, TaskStatus, Undo, UndoneBy, WorkerStatus, text,
};
use pitcrew_views::{
    BoardView, PlanView, RefusedPlace, TaskView, changed_nothing, plain, words::left_behind,
};

/// Bytes of an agent's note that are shown.
const NOTE_BYTES_MAX: usize = 120;

/// The narrowest terminal that lines are broken for.
const COLUMNS_MIN: usize = 40;
/// Rows of a note below its task.
const NOTE_ROWS_MAX: usize = 3;

/// The most plans waiting for approval that are shown.
const WAITING_MAX: usize = 50;

/// Renders every plan with its tasks and next steps, for a terminal of this width.
pub fn board(board: &BoardView, waiting_count: usize, columns: usize, style: Style) -> String {
    let columns = columns.max(COLUMNS_MIN);
    let mut lines = Vec::new();
    let is_waiting = |it: &&PlanView| it.status == PlanStatus::AwaitingApproval;
    let hidden: Vec<_> = board.plans.iter().filter(is_waiting).skip(WAITING_MAX).collect();
    for plan in board.plans.iter().filter(|it| !hidden.iter().any(|hidden| hidden.id == it.id)) {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.extend(of_plan(board, plan, columns, style));
    }
    if !hidden.is_empty() {
        let count = plural(hidden.len() as u64, "more plan");
        lines.push(String::new());
        lines.push(format!("{count} waiting for your approval: `pitcrew status --json` has all"));
    }
    if board.plans.is_empty() {
        lines.push("no current plans; start one with `pitcrew run FILE`".to_owned());
    }
    if waiting_count > 0 {
        let what = if waiting_count == 1 { "request is" } else { "requests are" };
        let text = format!("{waiting_count} {what} waiting for you: pitcrew inbox");
        lines.push(String::new());
        lines.push(style.cyan(&text));
    }
    lines.push(String::new());
    lines.join("\n")
}

fn of_plan(board: &BoardView, plan: &PlanView, columns: usize, style: Style) -> Vec<String> {
    let all: Vec<&TaskView> = board.tree_of(plan.id).collect();
    let (tasks, hidden) = crowd::cap(all, crowd::TASKS_SHOWN_MAX, |it| it.status);
    let mut lines = vec![head(board, plan, style)];
    lines.extend(about(plan).into_iter().map(|it| format!("  {}", style.dim(&it))));
    lines = lines.iter().flat_map(|it| folded(it, columns)).collect();
    lines.extend(rows(board, &tasks, columns, style));
    let mut below = Vec::new();
    below.extend(crowd::more(&hidden));
    below.extend(tasks.iter().filter_map(|it| last_note(board, it)));
    below.extend(tasks.iter().flat_map(|it| blocked(it)));
    below.extend(refused_checks(&plan.refused_places));
    below.extend(tasks.iter().flat_map(|it| refused_places(it)));
    below.extend(usage(&plan.vendors, &plan.usage));
    below.extend(queries(&plan.queries));
    let of_tasks = board.tasks_of(plan.id).flat_map(|it| &it.caps);
    below.extend(caps(plan.caps.iter().chain(of_tasks), &plan.vendors));
    lines.extend(below.iter().flat_map(|it| folded(it, columns)));
    lines
}

/// A line for each task, with its note beside it or below it, and the ends of its failed checks.
fn rows(board: &BoardView, tasks: &[&TaskView], columns: usize, style: Style) -> Vec<String> {
    let mut table =
        Table::new(&[Align::Left, Align::Left, Align::Left, Align::Right, Align::Right]);
    for task in tasks {
        table.row(task_row(board, task, columns, style));
    }
    let heads = table.lines("  ");
    let widest = heads.iter().map(|it| width(it)).max().unwrap_or(0);
    let mut lines = Vec::new();
    for (task, head) in tasks.iter().zip(heads) {
        let note = note(board, task);
        let gap = widest.saturating_sub(width(&head)) + 2;
        if note.is_empty() {
            lines.push(cut_to_width(&head, columns));
        } else if width(&head) + gap + width(&note) <= columns {
            lines.push(format!("{head}{}{note}", " ".repeat(gap)));
        } else {
            lines.push(cut_to_width(&head, columns));
            let note = folded(&format!("      {note}"), columns);
            lines.extend(note.iter().take(NOTE_ROWS_MAX).map(|it| cut_to_width(it, columns)));
        }
        if task.status != TaskStatus::Completed {
            let ends = check_ends::of_task(task, "      ", style);
            lines.extend(ends.iter().map(|it| cut_to_width(it, columns)));
        }
    }
    lines
}

/// The network access that the policy refused to the checks of a plan, and the setting that allows
/// it.
pub fn refused_checks(places: &[RefusedPlace]) -> impl Iterator<Item = String> {
    places.iter().map(|it| format!("  the checks of the plan were refused access to {it}"))
}

/// The network access that the policy refused to the newest attempt of a task, and the setting that
/// allows it.
fn refused_places(task: &TaskView) -> impl Iterator<Item = String> {
    let places = task.attempts.last().map(|it| it.refused_places.as_slice()).unwrap_or_default();
    places.iter().map(|it| format!("  {} was refused access to {it}", plain::line(&task.key)))
}

fn head(board: &BoardView, plan: &PlanView, style: Style) -> String {
    let name = style.bold(&format!("{} {}", plan.id, plain::line(&plan.name)));
    let completed = plan.counts.get(&TaskStatus::Completed).copied().unwrap_or(0);
    let took = plan.ended_at.unwrap_or(board.at).since(plan.created_at);
    let status = plan_status(plan.status, style);
    let total = plan.tasks.len();
    format!("{name}: {status}, {completed} of {total} completed, {}", duration(took))
}

/// The base of the plan, why it stopped, and whether it landed.
fn about(plan: &PlanView) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(base) = &plan.base {
        let branch = base.branch.as_deref().unwrap_or("a detached HEAD");
        let mut from = format!("from {} at {}", plain::line(branch), base.tip.short());
        if base.dirty_count > 0 {
            let files = plural(base.dirty_count, "uncommitted file");
            from = format!("{from}, with {files}");
        }
        lines.push(from);
        lines.extend(left_behind(&base.left_behind));
        lines.extend(base.notes.iter().map(|it| plain::line(it)));
    }
    let is_over = matches!(plan.status, PlanStatus::Failed | PlanStatus::Cancelled);
    if is_over && !plan.reason.is_empty() {
        lines.push(plain::line(&plan.reason));
    }
    lines.extend(landing(plan));
    lines
}

fn landing(plan: &PlanView) -> Option<String> {
    let id = plan.id;
    match plan.landing.status {
        LandingStatus::None => match plan.status {
            PlanStatus::Completed | PlanStatus::Partial => Some(format!(
                "not landed: `pitcrew land {id}` merges it, `pitcrew abandon {id}` abandons it"
            )),
            PlanStatus::AwaitingApproval => {
                Some(format!("waiting for your approval to run: `pitcrew approve {id}`"))
            }
            PlanStatus::Paused => Some(format!("paused: `pitcrew resume {id}` continues it")),
            PlanStatus::Draft
            | PlanStatus::Clarifying
            | PlanStatus::Decomposing
            | PlanStatus::Active
            | PlanStatus::Failed
            | PlanStatus::Cancelled => None,
        },
        LandingStatus::Review => {
            Some(format!("waiting for your approval to land: `pitcrew approve {id}`"))
        }
        LandingStatus::Merging => Some("landing".to_owned()),
        LandingStatus::Signing => {
            let count = plan.landing.unsigned.as_ref().map_or(0, |it| it.commits_count);
            let commits = plural(count, "commit");
            Some(format!("not landed: {commits} to sign with your key: `pitcrew land {id}`"))
        }
        LandingStatus::Undoing => Some("undoing its landing".to_owned()),
        LandingStatus::Undone => {
            let how = plan.landing.undo.as_ref().map(undone).unwrap_or_default();
            Some(format!("landing undone{how}; `pitcrew land {id}` lands it again"))
        }
        LandingStatus::Conflict => {
            let why = plan.landing.failure.as_ref().map(ToString::to_string);
            let why = plain::line(&why.unwrap_or_else(|| plan.landing.reason.clone()));
            Some(format!("not landed: {why}; `pitcrew land {id}` tries again"))
        }
        LandingStatus::SideBranch | LandingStatus::Merged | LandingStatus::Cleaned => {
            let Some(result) = &plan.landing.result else { return Some("landed".to_owned()) };
            let commit = result.commit.short();
            Some(match &result.at {
                LandedAt::Base { .. } => format!("landed as {commit}"),
                LandedAt::Side { branch, reason } => format!(
                    "not landed: {}; the result is on {}; `pitcrew land {id}` tries again",
                    plain::line(reason),
                    plain::line(branch)
                ),
            })
        }
        LandingStatus::Abandoned if plan.landing.reason.is_empty() => {
            Some(format!("abandoned: `pitcrew land {id}` can still merge it"))
        }
        LandingStatus::Abandoned => Some(plain::line(&plan.landing.reason)),
    }
}

fn undone(undo: &Undo) -> String {
    let (branch, commit) = (plain::line(&undo.branch), undo.commit.short());
    match undo.by {
        UndoneBy::Restore => format!(": {branch} is at {commit}"),
        UndoneBy::RevertOfPushed | UndoneBy::RevertBelowOthers => {
            format!(": {branch} has the revert {commit}")
        }
    }
}

fn task_row(board: &BoardView, task: &TaskView, columns: usize, style: Style) -> [String; 5] {
    let attempts = match task.attempts.len() {
        0 => String::new(),
        count => format!("{count}/{}", task.attempts_allowed()),
    };
    let took = task.attempts.iter().map(|it| it.ended_at.unwrap_or(board.at).since(it.started_at));
    let took = took.fold(0, u64::saturating_add);
    let took = if task.attempts.is_empty() { String::new() } else { duration(took) };
    [
        status_or_wait(board, task, style),
        cut_to_width(&tree_name(task), columns / 2),
        style.dim(&cut_to_width(&place(task), columns / 4)),
        attempts,
        took,
    ]
}

/// The status of the task. If a running task's worker is waiting, the status of the worker.
fn status_or_wait(board: &BoardView, task: &TaskView, style: Style) -> String {
    let worker = task.worker.filter(|_| task.status == TaskStatus::Running);
    let Some(worker) = worker.and_then(|it| board.worker(it)) else {
        return status(task.status, style);
    };
    match worker.status {
        // These wait for a person, or often do.
        WorkerStatus::WaitingInput | WorkerStatus::WaitingPermission | WorkerStatus::Paused => {
            style.yellow(&worker.status.to_string())
        }
        WorkerStatus::WaitingQuota | WorkerStatus::WaitingSubtasks => {
            style.cyan(&worker.status.to_string())
        }
        WorkerStatus::Created
        | WorkerStatus::Starting
        | WorkerStatus::Running
        | WorkerStatus::Completed
        | WorkerStatus::Failed
        | WorkerStatus::Killed => status(task.status, style),
    }
}

/// The name, indented by depth.
pub fn tree_name(task: &TaskView) -> String {
    let depth = task.subtask.as_ref().map_or(0, |it| it.depth as usize);
    format!("{}{}", "  ".repeat(depth), task.name())
}

/// The region of a task, or the agent and workspace of a sub-task.
pub fn place(task: &TaskView) -> String {
    match &task.subtask {
        Some(it) => format!("{}, {}", plain::line(&task.agent), it.workspace),
        None => region(&task.region),
    }
}

/// The last note of the task's worker; its current activity is in the table.
fn last_note(board: &BoardView, task: &TaskView) -> Option<String> {
    let note = board.worker(task.worker?)?.told.as_ref()?;
    let age = duration(board.at.since(note.at));
    let words = plain::line(text::cut(&note.note, NOTE_BYTES_MAX));
    let more = if note.note.len() > NOTE_BYTES_MAX { "…" } else { "" };
    Some(format!("  {} said {age} ago: {words}{more}", task.name()))
}

/// How many reads outside the zone were blocked, which changes were refused, and whether it changed
/// nothing.
fn blocked(task: &TaskView) -> Vec<String> {
    let reads = task.attempts.iter().map(|it| it.blocked.reads_count).sum::<u64>();
    let reads = (reads > 0).then(|| format!("blocked {} outside its zone", plural(reads, "read")));
    let refused = task.refused_changes().into_iter().map(|it| it.to_string());
    let files_count = task.newest_attempt().map_or(0, |it| it.files_count);
    let is_empty = task.subtask.is_none() && changed_nothing(task.status, files_count);
    let nothing = is_empty.then(|| "it changed nothing".to_owned());
    let lines = reads.into_iter().chain(refused).chain(nothing);
    lines.map(|it| format!("  {}: {it}", task.name())).collect()
}

/// The reason why the task is waiting or has failed, or the last action of its worker.
fn note(board: &BoardView, task: &TaskView) -> String {
    if let Some(reason) = &task.reason {
        return plain::line(reason);
    }
    let worker = task.worker.and_then(|it| board.worker(it));
    if let Some(activity) = worker.and_then(|it| it.activity.as_ref()) {
        return plain::line(&activity.note);
    }
    let said = task.newest_attempt().and_then(|it| it.summary.as_deref());
    plain::line(said.and_then(|it| it.lines().next()).unwrap_or_default())
}

pub fn status(status: TaskStatus, style: Style) -> String {
    let text = status.to_string();
    match status {
        TaskStatus::Completed => style.green(&text),
        TaskStatus::Failed => style.red(&text),
        TaskStatus::Partial | TaskStatus::Blocked | TaskStatus::Cancelled => style.yellow(&text),
        TaskStatus::Starting
        | TaskStatus::Running
        | TaskStatus::Verifying
        | TaskStatus::Integrating => style.cyan(&text),
        TaskStatus::Pending | TaskStatus::Queued => style.dim(&text),
    }
}

pub fn plan_status(status: PlanStatus, style: Style) -> String {
    let text = status.to_string();
    match status {
        PlanStatus::Completed => style.green(&text),
        PlanStatus::Failed => style.red(&text),
        PlanStatus::Partial
        | PlanStatus::Cancelled
        | PlanStatus::Paused
        | PlanStatus::AwaitingApproval => style.yellow(&text),
        PlanStatus::Active => style.cyan(&text),
        PlanStatus::Draft | PlanStatus::Clarifying | PlanStatus::Decomposing => text,
    }
}
