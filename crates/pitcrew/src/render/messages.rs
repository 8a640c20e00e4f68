//! Messages as conversations, by plan and task.

use super::{
    Style,
    words::{duration, plural},
};
use pitcrew_model::{MessageId, MessageStatus, Priority, Timestamp};
use pitcrew_views::{MessageMetrics, MessageView, MessagesView, Took, plain};
use std::collections::BTreeMap;

/// By plan and task, and there by conversation.
pub fn messages(view: &MessagesView, now: Timestamp, style: Style) -> String {
    let mut tasks: BTreeMap<_, BTreeMap<MessageId, Vec<&MessageView>>> = BTreeMap::new();
    // A conversation stands where it began.
    let mut homes = BTreeMap::new();
    for it in &view.messages {
        let context = &it.message.context;
        let home = *homes.entry(it.message.thread).or_insert((context.plan, context.task));
        tasks.entry(home).or_default().entry(it.message.thread).or_default().push(it);
    }
    let mut lines = Vec::new();
    for ((plan, task), threads) in &tasks {
        let first = threads.values().flatten().next();
        let name = first.map(|it| format!("{plan} {}, {task} {}", it.plan_name, it.task_key));
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.push(style.bold(&plain::line(&name.unwrap_or_default())));
        for message in threads.values().flatten() {
            lines.extend(one(message, now, style));
        }
    }
    if view.messages.is_empty() {
        lines.push("no messages".to_owned());
    }
    let left_out = view.count.saturating_sub(view.messages.len() as u64);
    if left_out > 0 {
        lines.push(format!("... and {} before", plural(left_out, "message")));
    }
    lines.join("\n") + "\n"
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

/// How the queue does.
pub fn message_metrics(metrics: &MessageMetrics) -> String {
    let mut lines = vec!["messages to agents".to_owned()];
    for status in MessageStatus::ALL {
        let count = metrics.counts.get(status).copied().unwrap_or(0);
        lines.push(format!("  {status:<10} {count}"));
    }
    let waiting = metrics.depth.iter().map(|(priority, count)| format!("{count} {priority}"));
    let waiting: Vec<String> = waiting.collect();
    if !waiting.is_empty() {
        lines.push(format!("  of those that wait: {}", waiting.join(", ")));
    }
    lines.push(took("wait", &metrics.wait));
    lines.push(took("processing", &metrics.processing));
    lines.join("\n") + "\n"
}

fn took(what: &str, it: &Took) -> String {
    if it.count == 0 {
        return format!("  {what:<10} -");
    }
    let (p50, p99, max) = (duration(it.p50_ms), duration(it.p99_ms), duration(it.max_ms));
    format!("  {what:<10} p50 {p50}, p99 {p99}, max {max} ({})", it.count)
}
