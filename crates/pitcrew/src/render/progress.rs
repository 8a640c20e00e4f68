//! One line of progress for each event that matters to a person.

use super::{
    Style, check_ends,
    words::{duration, plural, region},
};
use pitcrew_api::EventLine;
use pitcrew_model::{
    EffectResult, Event, Failure, PlanBase, PlanStatus, Reason, RequestStatus, TaskId, TaskStatus,
    Timestamp, WorkerStatus, text,
};
use pitcrew_views::{Ask, Attempt, BoardView, OpenRequest, TaskView, plain, words::left_behind};

/// As much of a reason as identifies it.
const REASON_BEGIN_BYTES: usize = 60;
/// The width of the first word of a line, which is right-aligned.
const VERB_WIDTH: usize = 11;

/// Renders an event as a line. Returns `None` if the event is not worth a line or the live display
/// shows it.
///
/// If `drawn`, there is a live display that shows the starts of tasks.
pub fn progress(
    line: &EventLine,
    board: &BoardView,
    waiting: &[OpenRequest],
    style: Style,
    drawn: bool,
) -> Option<String> {
    let event = &line.entry.known()?.event;
    if let Event::TaskMoved { task, to, reason, .. } = event {
        let task = board.task(*task)?;
        let is_paused = board.plan(task.plan).is_some_and(|it| it.status == PlanStatus::Paused);
        return task_moved(task, line.at, (*to, reason), (style, drawn), is_paused);
    }
    if let Event::PlanMoved { plan, from, to, reason, .. } = event {
        let name = &board.plan(*plan)?.name;
        let (verb, paint) = plan_verb(*from, *to)?;
        let reason = if to.has_ended() { plain::line(reason) } else { String::new() };
        let what = format!("{plan} {}", plain::line(name));
        return Some(progress_line(style, verb, paint, &what, &reason));
    }
    if let Event::RequestOpened { request, .. } = event {
        let request = waiting.iter().find(|it| it.id == *request)?;
        return Some(request_line(request, style));
    }
    if let Event::RequestMoved { request, to, .. } = event {
        let verb = match to {
            RequestStatus::Approved => "Approved",
            RequestStatus::Denied => "Denied",
            RequestStatus::Answered => "Answered",
            RequestStatus::Expired => "Expired",
            RequestStatus::Requested
            | RequestStatus::AtParent
            | RequestStatus::AtOrchestrator
            | RequestStatus::AtUser
            | RequestStatus::Withdrawn => return None,
        };
        return Some(progress_line(style, verb, Paint::Dim, &request.to_string(), ""));
    }
    if let Event::BudgetWarned(spending) = event {
        return Some(progress_line(style, "Note", Paint::Yellow, &spending.to_string(), ""));
    }
    if let Event::WorkerMoved { worker, to: WorkerStatus::WaitingQuota, reason, .. } = event {
        let task = board.task(board.worker(*worker)?.task)?;
        let what = task.name();
        let reason = task.reason.as_deref().unwrap_or(reason);
        return Some(progress_line(style, "Waiting", Paint::Yellow, &what, &plain::line(reason)));
    }
    if let Event::EffectEnded { result, .. } = event {
        return result_line(result, style);
    }
    None
}

fn task_moved(
    task: &TaskView,
    at: Timestamp,
    (to, reason): (TaskStatus, &Reason),
    (style, drawn): (Style, bool),
    is_paused: bool,
) -> Option<String> {
    let what = task.name();
    let words = plain::line(&reason.to_string());
    match to {
        TaskStatus::Starting if !drawn => {
            let place = format!("in {} ({})", region(&task.region), task.agent);
            Some(progress_line(style, "Starting", Paint::Dim, &what, &place))
        }
        TaskStatus::Pending => match reason {
            // A command that a pause stopped has not failed.
            Reason::Failure { failure: Failure::Interrupted, .. } if is_paused => {
                let next = "it starts over when the plan is resumed";
                Some(progress_line(style, "Paused", Paint::Yellow, &what, next))
            }
            Reason::Failure { failure, .. } => {
                // Later attempts may have been opened, and may have ended, since the event.
                let is_before = |it: &&Attempt| it.ended_at.is_some_and(|end| end <= at);
                let ended = task.attempts.iter().filter(is_before).count();
                let next =
                    format!("{words}; {}", attempt(ended as u64 + 1, task.attempts_allowed()));
                let line = progress_line(style, "Retrying", Paint::Yellow, &what, &next);
                let indent = " ".repeat(VERB_WIDTH + 1);
                let ends = check_ends::of_failure(failure, &indent, style);
                Some([line].into_iter().chain(ends).collect::<Vec<_>>().join("\n"))
            }
            Reason::Progress
            | Reason::DependenciesCompleted
            | Reason::DependencyEnded { .. }
            | Reason::Unblocked
            | Reason::SlotFree
            | Reason::Retry
            | Reason::Cancelled
            | Reason::Accepted => None,
        },
        TaskStatus::Completed => {
            Some(progress_line(style, "Completed", Paint::Green, &what, &work(task)))
        }
        TaskStatus::Partial => {
            let reason = task.reason.as_deref().map(plain::line).unwrap_or_default();
            Some(progress_line(style, "Partial", Paint::Yellow, &what, &reason))
        }
        TaskStatus::Failed => {
            // Includes the rule that denied a permission or a write.
            let whole = task.reason.as_deref().map(plain::line);
            let begin = text::cut(&words, REASON_BEGIN_BYTES);
            let words = whole.filter(|it| it.starts_with(begin)).unwrap_or(words);
            Some(progress_line(style, "Failed", Paint::Red, &what, &words))
        }
        TaskStatus::Cancelled => Some(progress_line(style, "Cancelled", Paint::Yellow, &what, "")),
        TaskStatus::Blocked => Some(progress_line(style, "Blocked", Paint::Yellow, &what, &words)),
        TaskStatus::Queued
        | TaskStatus::Starting
        | TaskStatus::Running
        | TaskStatus::Verifying
        | TaskStatus::Integrating => None,
    }
}

fn plan_verb(from: PlanStatus, to: PlanStatus) -> Option<(&'static str, Paint)> {
    match to {
        PlanStatus::Active if from == PlanStatus::Paused => Some(("Resumed", Paint::Green)),
        PlanStatus::Active => Some(("Running", Paint::Green)),
        PlanStatus::Paused => Some(("Paused", Paint::Yellow)),
        PlanStatus::Completed => Some(("Completed", Paint::Green)),
        PlanStatus::Partial => Some(("Partial", Paint::Yellow)),
        PlanStatus::Failed => Some(("Failed", Paint::Red)),
        PlanStatus::Cancelled => Some(("Cancelled", Paint::Yellow)),
        PlanStatus::Draft
        | PlanStatus::Clarifying
        | PlanStatus::Decomposing
        | PlanStatus::AwaitingApproval => None,
    }
}

fn result_line(result: &EffectResult, style: Style) -> Option<String> {
    if let EffectResult::PlanPrepared { base, .. } = result {
        let mut text = progress_line(style, "Base", Paint::Dim, &base_words(base), "");
        let notes = base.notes.iter().map(|it| plain::line(it));
        for note in left_behind(&base.left_behind).into_iter().chain(notes) {
            text.push('\n');
            text.push_str(&progress_line(style, "Note", Paint::Yellow, &note, ""));
        }
        return Some(text);
    }
    None
}

fn base_words(base: &PlanBase) -> String {
    let at = format!("{} at {}", base.branch.as_deref().unwrap_or("no branch"), base.tip.short());
    match base.dirty_count {
        0 => at,
        count => format!("{at}, with {}", plural(count, "uncommitted file")),
    }
}

/// `request-2 task-5 ui: which port? (pitcrew answer request-2 "...")`
fn request_line(request: &OpenRequest, style: Style) -> String {
    let id = request.id;
    let whom = match (request.task, &request.task_key) {
        (Some(task), Some(key)) => name(task, key),
        _ => format!("{} {}", request.plan, plain::line(&request.plan_name)),
    };
    let what = format!("{id} {whom}: {}", plain::line(&request.title));
    let how = match request.ask {
        Ask::Question { .. } => format!("pitcrew answer {id} \"...\""),
        Ask::PlanExecution { .. }
        | Ask::BranchMerge { .. }
        | Ask::Budget { .. }
        | Ask::ToolUse { .. } => {
            format!("pitcrew approve {id}, or pitcrew deny {id}")
        }
    };
    let indent = " ".repeat(VERB_WIDTH + 1);
    format!(
        "{}\n{indent}{}",
        progress_line(style, "Waiting", Paint::Cyan, &what, ""),
        style.dim(&how)
    )
}

/// `attempt 2 of 3`; an attempt granted beyond the limit has no total.
fn attempt(number: u64, max: u64) -> String {
    if number > max { format!("attempt {number}") } else { format!("attempt {number} of {max}") }
}

/// `2 attempts, 14 s, 2 files, +10 -2`
fn work(task: &TaskView) -> String {
    let took: u64 = task
        .attempts
        .iter()
        .filter_map(|it| Some(it.ended_at?.since(it.started_at)))
        .fold(0, u64::saturating_add);
    let attempts = task.attempts.len() as u64;
    let mut parts = Vec::new();
    if attempts > 1 {
        parts.push(plural(attempts, "attempt"));
    }
    parts.push(duration(took));
    if let Some(newest) = task.newest_attempt() {
        if newest.files_count == 0 {
            parts.push("changed nothing".to_owned());
        } else {
            parts.push(plural(newest.files_count, "file"));
            parts.push(format!("+{} -{}", newest.insertions, newest.deletions));
        }
    }
    parts.join(", ")
}

fn name(task: TaskId, key: &str) -> String {
    format!("{task} {}", plain::line(key))
}

#[derive(Clone, Copy)]
enum Paint {
    Green,
    Red,
    Yellow,
    Cyan,
    Dim,
}

fn progress_line(style: Style, verb: &str, paint: Paint, what: &str, more: &str) -> String {
    let verb = format!("{verb:>VERB_WIDTH$}");
    let verb = match paint {
        Paint::Green => style.green(&verb),
        Paint::Red => style.red(&verb),
        Paint::Yellow => style.yellow(&verb),
        Paint::Cyan => style.cyan(&verb),
        Paint::Dim => style.dim(&verb),
    };
    if more.is_empty() { format!("{verb} {what}") } else { format!("{verb} {what}: {more}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempt_beyond_the_limit_has_no_total() {
        assert_eq!(attempt(3, 3), "attempt 3 of 3");
        assert_eq!(attempt(4, 3), "attempt 4");
    }
}
