//! Joins messages with display names, and measures their delivery.

use super::{MessageFilter, Messages, QuestionView, Row};
use crate::{board::Board, plain};
use pitcrew_model::{Message, MessageStatus, Party, Priority, Timestamp, WorkerId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The most messages in a view; the newest ones.
const LISTED_MAX: usize = 2_000;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessagesView {
    /// Oldest first; only the newest if there are many.
    pub messages: Vec<MessageView>,
    /// The number of all matching messages.
    pub count: u64,
    pub metrics: MessageMetrics,
    /// The questions to a person; oldest first, only the newest if there are many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<QuestionView>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageView {
    pub message: Message,
    pub plan_name: String,
    pub task_key: String,
    /// The display name: `subtask-4 look at the tests`.
    #[serde(default)]
    pub task_name: String,
    pub status: MessageStatus,
    pub queued_at: Timestamp,
    pub delivered_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    /// The number of turns with it in the prompt.
    pub tries_count: u32,
    pub reader: Option<WorkerId>,
    /// Why it has this status, unless that is obvious.
    pub reason: String,
}

/// Metrics of the queues of workers. Other parties read at once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageMetrics {
    /// Queued messages by priority.
    pub depth: BTreeMap<Priority, u64>,
    pub counts: BTreeMap<MessageStatus, u64>,
    /// From sending to the prompt.
    pub wait: DurationStats,
    /// From the prompt to the end of that turn.
    pub processing: DurationStats,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DurationStats {
    pub count: u64,
    pub p50_ms: u64,
    pub p99_ms: u64,
    pub max_ms: u64,
}

impl Messages {
    pub fn view(&self, board: &Board, wanted: &MessageFilter) -> MessagesView {
        let rows: Vec<&Row> = self.rows.values().filter(|it| it.is_wanted(wanted)).collect();
        let newest = &rows[rows.len().saturating_sub(LISTED_MAX)..];
        MessagesView {
            messages: newest.iter().map(|it| MessageView::new(it, board)).collect(),
            count: rows.len() as u64,
            metrics: metrics(&rows),
            questions: self.questions.view(board, wanted),
        }
    }
}

impl Row {
    fn is_wanted(&self, wanted: &MessageFilter) -> bool {
        let of = |it: WorkerId| {
            let party = Party::Worker(it);
            self.message.from == party || self.message.to == party || self.reader == Some(it)
        };
        wanted.plan.is_none_or(|it| self.message.context.plan == it)
            && wanted.worker.is_none_or(of)
            && wanted.status.is_none_or(|it| self.status == it)
    }
}

impl MessageView {
    fn new(row: &Row, board: &Board) -> Self {
        let context = &row.message.context;
        let plan = board.plan(context.plan);
        let task = board.task(context.task);
        let content = plain::block(&row.message.content);
        Self {
            message: Message { content, ..row.message.clone() },
            plan_name: plan.map(|it| plain::line(&it.head.name)).unwrap_or_default(),
            task_key: task.map(|it| plain::line(&it.spec.key)).unwrap_or_default(),
            task_name: board.task_name(context.task),
            status: row.status,
            queued_at: row.queued_at,
            delivered_at: row.delivered_at,
            ended_at: row.ended_at,
            tries_count: row.tries_count,
            reader: row.reader,
            reason: plain::line(&row.reason),
        }
    }
}

fn metrics(rows: &[&Row]) -> MessageMetrics {
    let mut metrics = MessageMetrics::default();
    let (mut waits, mut processings) = (Vec::new(), Vec::new());
    let waiting = |it: &&&Row| matches!(it.message.to, Party::Worker(_) | Party::Task(_));
    for row in rows.iter().filter(waiting) {
        *metrics.counts.entry(row.status).or_default() += 1;
        if row.status == MessageStatus::Queued {
            *metrics.depth.entry(row.message.priority).or_default() += 1;
        }
        let Some(delivered_at) = row.delivered_at else { continue };
        waits.push(delivered_at.since(row.queued_at));
        if let Some(ended_at) = row.ended_at {
            processings.push(ended_at.since(delivered_at));
        }
    }
    metrics.wait = DurationStats::of(waits);
    metrics.processing = DurationStats::of(processings);
    metrics
}

impl DurationStats {
    fn of(mut times: Vec<u64>) -> Self {
        times.sort_unstable();
        let at = |percent: usize| times.get((times.len() * percent / 100).min(times.len() - 1));
        match times.last() {
            Some(max) => Self {
                count: times.len() as u64,
                p50_ms: at(50).copied().unwrap_or_default(),
                p99_ms: at(99).copied().unwrap_or_default(),
                max_ms: *max,
            },
            None => Self::default(),
        }
    }
}
