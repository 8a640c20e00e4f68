//! The last lines of failed checks.

use super::{Style, words::cut_to_width};
use pitcrew_model::{CheckFailure, Failure};
use pitcrew_views::{TaskView, plain};

/// Lines of one check's output that are shown.
const LINES_SHOWN_MAX: usize = 8;
/// Failed checks that are shown before the rest is only counted.
const CHECKS_SHOWN_MAX: usize = 3;
const COLUMNS_SHOWN_MAX: usize = 200;

/// The failed checks of a task's newest attempt, each with the end of its output.
pub fn of_task(task: &TaskView, indent: &str, style: Style) -> Vec<String> {
    let failure = task.newest_attempt().and_then(|it| it.failure.as_ref());
    failure.map(|it| of_failure(it, indent, style)).unwrap_or_default()
}

/// Empty if it is another kind of failure.
pub fn of_failure(failure: &Failure, indent: &str, style: Style) -> Vec<String> {
    let Failure::Checks { failed } = failure else { return Vec::new() };
    if let [check] = &failed[..] {
        // The reason of the failure names it.
        return end(check, indent, style).into_iter().skip(1).collect();
    }
    let shown = failed.iter().take(CHECKS_SHOWN_MAX);
    let mut lines: Vec<String> = shown.flat_map(|it| end(it, indent, style)).collect();
    if let Some(more) = failed.len().checked_sub(CHECKS_SHOWN_MAX + 1) {
        lines.push(format!("{indent}and {} more failed checks", more + 1));
    }
    lines
}

fn end(check: &CheckFailure, indent: &str, style: Style) -> Vec<String> {
    let output = plain::block(check.output.trim_end());
    let all: Vec<&str> = output.lines().collect();
    let shown = &all[all.len().saturating_sub(LINES_SHOWN_MAX)..];
    if shown.is_empty() {
        return Vec::new();
    }
    let left_out = if shown.len() < all.len() { ", last lines" } else { "" };
    let mut lines = vec![format!("{indent}`{}`{left_out}:", plain::line(&check.command))];
    let cut = |it: &&str| style.dim(&cut_to_width(it, COLUMNS_SHOWN_MAX));
    lines.extend(shown.iter().map(|it| format!("{indent}  | {}", cut(it)).trim_end().to_owned()));
    lines
}
