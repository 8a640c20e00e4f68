//! Messages grouped by plan, task and conversation.

use super::{
    Style,
    words::{duration, plural},
};
use pitcrew_model::{MessageId, MessageStatus, PlanId, Priority, TaskId, Timestamp};
use pitcrew_views::{
    DurationStats, MessageMetrics, MessageView, MessagesView, QuestionView, plain,
};
use std::collections::BTreeMap;

/// Renders messages by plan and task, then by conversation in order of its first message.
pub fn messages(view: &MessagesView, now: Timestamp, style: Style) -> String {
    let mut conversations: BTreeMap<MessageId, Vec<&MessageView>> = BTreeMap::new();
    for it in &view.messages {
        conversations.entry(it.message.thread).or_default().push(it);
    }
    let mut tasks: BTreeMap<ConversationGroup, Vec<(Timestamp, Vec<String>)>> = BTreeMap::new();
    for conversation in conversations.values() {
        let first = conversation[0];
        let context = &first.message.context;
        let group = ConversationGroup {
            plan: context.plan,
            task: Some(context.task),
            name: format!("{} {}, {}", context.plan, first.plan_name, first.task_name),
        };
        let lines = conversation.iter().flat_map(|it| one(it, now, style)).collect();
        tasks.entry(group).or_default().push((first.queued_at, lines));
    }
    for it in &view.questions {
        let task = it.task_name.as_ref().map(|it| format!(", {it}")).unwrap_or_default();
        let name = format!("{} {}{task}", it.plan, it.plan_name);
        let group = ConversationGroup { plan: it.plan, task: it.task, name };
        tasks.entry(group).or_default().push((it.asked_at, question(it, now, style)));
    }
    let mut lines = Vec::new();
    for (group, mut conversations) in tasks {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.push(style.bold(&plain::line(&group.name)));
        conversations.sort_by_key(|it| it.0);
        lines.extend(conversations.into_iter().flat_map(|it| it.1));
    }
    if lines.is_empty() {
        lines.push("no messages".to_owned());
    }
    let left_out = view.count.saturating_sub(view.messages.len() as u64);
    if left_out > 0 {
        lines.push(format!("... and {}", plural(left_out, "earlier message")));
    }
    lines.join("\n") + "\n"
}

/// The plan and task of a conversation.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct ConversationGroup {
    plan: PlanId,
    task: Option<TaskId>,
    name: String,
}

/// A question from an agent to a person, and the answer below it.
fn question(it: &QuestionView, now: Timestamp, style: Style) -> Vec<String> {
    let asker = it.worker.map_or_else(|| "orchestrator".to_owned(), |it| it.to_string());
    let age = |at: Timestamp| duration(now.since(at));
    let status = match &it.end {
        Some(_) => style.dim(&it.status.to_string()),
        None => style.yellow(&format!("waiting: pitcrew answer {} \"...\"", it.request)),
    };
    let (id, asked) = (it.request, age(it.asked_at));
    let mut lines = vec![format!("  {id} {asker} -> person, question, {asked} ago, {status}")];
    lines.extend(plain::block(it.question.trim()).lines().map(|it| format!("    {it}")));
    let answer = it.end.as_ref().and_then(|end| Some((end, end.text.as_deref()?)));
    if let Some((end, text)) = answer {
        lines.push(format!("    {} -> {asker}, answer, {} ago", end.by, age(end.at)));
        lines.extend(plain::block(text.trim()).lines().map(|it| format!("      {it}")));
    }
    lines
}

fn one(view: &MessageView, now: Timestamp, style: Style) -> Vec<String> {
    let it = &view.message;
    let indent = if it.thread == it.id { "  " } else { "    " };
    let age = duration(now.since(view.queued_at));
    let urgent =
        if it.priority <= Priority::High { format!(", {}", it.priority) } else { String::new() };
    let reason = match view.reason.as_str() {
        "" => String::new(),
        reason => format!(": {}", plain::line(reason)),
    };
    let status = format!("{}{reason}", view.status);
    let status = match view.status {
        MessageStatus::Dead | MessageStatus::Expired => style.red(&status),
        MessageStatus::Queued | MessageStatus::Delivered => style.yellow(&status),
        MessageStatus::Processed => style.dim(&status),
    };
    let head = format!(
        "{indent}{} {} -> {}, {}{urgent}, {age} ago, {status}",
        it.id, it.from, it.to, it.kind
    );
    let words = plain::block(it.content.trim());
    let words = words.lines().map(|line| format!("{indent}  {line}"));
    std::iter::once(head).chain(words).collect()
}

/// Renders queue lengths and waiting times.
pub fn message_metrics(metrics: &MessageMetrics) -> String {
    let mut lines = vec!["messages to agents".to_owned()];
    for status in MessageStatus::ALL {
        let count = metrics.counts.get(status).copied().unwrap_or(0);
        lines.push(format!("  {status:<10} {count}"));
    }
    let waiting = metrics.depth.iter().map(|(priority, count)| format!("{count} {priority}"));
    let waiting: Vec<String> = waiting.collect();
    if !waiting.is_empty() {
        lines.push(format!("  waiting by priority: {}", waiting.join(", ")));
    }
    lines.push(took("wait", &metrics.wait));
    lines.push(took("processing", &metrics.processing));
    lines.join("\n") + "\n"
}

fn took(what: &str, it: &DurationStats) -> String {
    if it.count == 0 {
        return format!("  {what:<10} -");
    }
    let (p50, p99, max) = (duration(it.p50_ms), duration(it.p99_ms), duration(it.max_ms));
    format!("  {what:<10} p50 {p50}, p99 {p99}, max {max} ({})", it.count)
}
