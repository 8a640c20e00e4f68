//! A plan as a Markdown document.

use super::Style;
use pitcrew_model::{Dollars, Timestamp, Usage};
use pitcrew_views::{
    Attempt, AuditLine, BoardView, ClosedRequest, MessagesView, OpenRequest, PlanView, TaskView,
    plain,
    words::{counted, duration, stamp},
};
use std::fmt::Write;

/// Everything that the document contains.
pub struct ExportData<'a> {
    pub at: Timestamp,
    pub plan: &'a PlanView,
    pub board: &'a BoardView,
    pub open: Vec<&'a OpenRequest>,
    pub closed: Vec<&'a ClosedRequest>,
    pub messages: MessagesView,
    pub timeline: Vec<AuditLine>,
}

pub fn export(data: &ExportData<'_>) -> String {
    let mut text = String::new();
    head(&mut text, data);
    text.push_str("\n## Tasks\n");
    for task in data.board.tree_of(data.plan.id) {
        write_task(&mut text, task);
    }
    text.push_str("\n## Requests\n\n");
    requests(&mut text, data);
    text.push_str("\n## Messages\n\n");
    fenced(&mut text, &super::messages(&data.messages, data.at, Style::plain()));
    text.push_str("\n## Timeline\n\n");
    let lines = data.timeline.iter().map(|it| format!("{} {it}", time(it.at)));
    fenced(&mut text, &lines.collect::<Vec<_>>().join("\n"));
    text
}

fn head(text: &mut String, data: &ExportData<'_>) {
    let plan = data.plan;
    push_line(text, &format!("# {} {}\n", plan.id, plain::line(&plan.name)));
    push_line(text, &format!("- status: {}{}", plan.status, because(&plan.reason)));
    push_line(
        text,
        &format!("- created: {} UTC, as of {} UTC", time(plan.created_at), time(data.at)),
    );
    if let Some(base) = &plan.base {
        let branch = plain::line(base.branch.as_deref().unwrap_or("a detached HEAD"));
        push_line(text, &format!("- base: {branch} at {}", base.tip));
    }
    if let Some(head) = &plan.head {
        push_line(text, &format!("- integrated: {head}"));
    }
    push_line(text, &format!("- landing: {}", plan.landing.status));
    push_line(text, &format!("- used: {}", used(&plan.usage)));
    for (vendor, usage) in &plan.vendors {
        push_line(text, &format!("  - {}: {}", plain::line(vendor), used(usage)));
    }
    if !plan.description.is_empty() {
        text.push('\n');
        fenced(text, &plan.description);
    }
}

fn write_task(text: &mut String, task: &TaskView) {
    let depth = task.subtask.as_ref().map_or(0, |it| it.depth as usize);
    push_line(text, &format!("\n###{} {}\n", "#".repeat(depth), task.name()));
    let reason = because(task.reason.as_deref().unwrap_or_default());
    push_line(text, &format!("- status: {} since {}{reason}", task.status, time(task.since)));
    push_line(text, &format!("- agent: {}", plain::line(&task.agent)));
    if let Some(it) = &task.subtask {
        push_line(text, &format!("- {} of {}, {}", it.kind, it.parent_task, it.workspace));
        if !it.expected_output.is_empty() {
            push_line(text, &format!("- expected: {}", plain::line(&it.expected_output)));
        }
    }
    let region: Vec<String> = task.region.iter().map(ToString::to_string).collect();
    if !region.is_empty() {
        push_line(text, &format!("- region: {}", region.join(", ")));
    }
    let after: Vec<String> = task.depends_on.iter().map(ToString::to_string).collect();
    if !after.is_empty() {
        push_line(text, &format!("- after: {}", after.join(", ")));
    }
    push_line(text, &format!("- used: {}", used(&task.usage)));
    for attempt in &task.attempts {
        push_line(text, &format!("- {}", attempt_line(attempt)));
    }
    text.push('\n');
    fenced(text, &task.prompt);
}

fn attempt_line(attempt: &Attempt) -> String {
    let outcome = attempt.outcome.map_or_else(|| "running".to_owned(), |it| it.to_string());
    let mut line = format!("attempt {} by {}: {outcome}", attempt.number, attempt.worker);
    if let Some(ended) = attempt.ended_at {
        write!(line, " after {}", duration(ended.since(attempt.started_at))).expect("a string");
    }
    if let Some(failure) = &attempt.failure {
        line.push_str(&because(&failure.to_string()));
    }
    if let Some(commit) = &attempt.commit {
        let files = counted(attempt.files_count, "file");
        write!(
            line,
            "; {files}, +{} -{} as {}",
            attempt.insertions,
            attempt.deletions,
            commit.short()
        )
        .expect("a string");
    }
    if let Some(summary) = attempt.summary.as_deref().filter(|it| !it.is_empty()) {
        write!(line, "; summary: {}", plain::line(summary)).expect("a string");
    }
    line
}

fn requests(text: &mut String, data: &ExportData<'_>) {
    for it in &data.closed {
        let answer = because(it.text.as_deref().unwrap_or_default());
        let title = plain::line(&it.title);
        let by = it.decided_by;
        push_line(
            text,
            &format!("- {} {}: {title}: {} by {by}{answer}", time(it.opened_at), it.id, it.status),
        );
    }
    for it in &data.open {
        let title = plain::line(&it.title);
        push_line(text, &format!("- {} {}: {title}: waiting", time(it.opened_at), it.id));
    }
    if data.open.is_empty() && data.closed.is_empty() {
        push_line(text, "none");
    }
}

fn used(usage: &Usage) -> String {
    let Usage { tokens_in, tokens_out, tokens_cached, cost_micros } = *usage;
    let cost = if cost_micros > 0 { format!(", {}", Dollars(cost_micros)) } else { String::new() };
    format!("{tokens_in} tokens in, {tokens_out} out, {tokens_cached} cached{cost}")
}

fn because(reason: &str) -> String {
    let reason = plain::line(reason);
    if reason.is_empty() { reason } else { format!(" ({reason})") }
}

fn time(at: Timestamp) -> String {
    stamp(at).replace('T', " ")
}

fn push_line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// A fenced block. The fence is longer than any inside the text, so the text cannot end it.
fn fenced(text: &mut String, block: &str) {
    let block = plain::block(block.trim_end());
    let longest = block.split(|it| it != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat((longest + 1).max(3));
    push_line(text, &format!("{fence}text\n{block}\n{fence}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_cannot_end_its_fence() {
        let mut text = String::new();
        fenced(&mut text, "a\n````\n# forged\n");
        assert_eq!(text, "`````text\na\n````\n# forged\n`````\n");
    }
}
