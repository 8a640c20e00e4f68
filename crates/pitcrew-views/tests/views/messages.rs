//! The history and the metrics of messages.

use crate::journal::{Journal, PLAN};
use pitcrew_model::{
    Event, Message, MessageContext, MessageId, MessageKind, MessageStatus, Party, PlanId, Priority,
    TaskId, WorkerId,
};
use pitcrew_views::{MessageFilter, Messages, MessagesView};

fn send(journal: &mut Journal, number: u64, from: Party, to: Party, priority: Priority) {
    let context = MessageContext {
        plan: PLAN,
        task: TaskId(1),
        worker: Some(WorkerId(1)),
        worktree: Some("/w/task-1".to_owned()),
        parent: None,
        subtask: None,
        depth: 0,
    };
    journal.push(Event::MessageQueued(Message {
        id: MessageId(number),
        from,
        to,
        kind: MessageKind::Update,
        priority,
        context,
        content: format!("words {number}\u{1b}[2J"),
        thread: MessageId(1),
        reply_to: None,
        key: None,
        expires_at: None,
    }));
}

fn moved(journal: &mut Journal, number: u64, from: MessageStatus, to: MessageStatus) {
    let (message, task, reader) = (MessageId(number), TaskId(1), Some(WorkerId(1)));
    journal.push(Event::MessageMoved { message, task, from, to, reader, reason: String::new() });
}

fn view(journal: &Journal, wanted: &MessageFilter) -> MessagesView {
    let mut messages = Messages::default();
    journal.entries.iter().for_each(|it| messages.fold(it));
    messages.view(&journal.board, wanted)
}

/// S4-072, S4-073, S4-079: depth, wait and processing, and the history of one worker.
#[test]
fn messages_are_listed_and_measured() {
    let mut journal = Journal::active();
    journal.task(1, "core", "core", &[]);
    let worker = Party::Worker(WorkerId(1));
    send(&mut journal, 1, Party::Person, worker, Priority::High);
    send(&mut journal, 2, Party::Person, Party::Task(TaskId(1)), Priority::Low);
    send(&mut journal, 3, worker, Party::Orchestrator, Priority::Low);
    moved(&mut journal, 3, MessageStatus::Queued, MessageStatus::Processed);
    moved(&mut journal, 1, MessageStatus::Queued, MessageStatus::Delivered);
    moved(&mut journal, 1, MessageStatus::Delivered, MessageStatus::Processed);
    let all = view(&journal, &MessageFilter::default());
    assert_eq!((all.count, all.messages.len()), (3, 3));
    let first = &all.messages[0];
    assert_eq!((first.task_key.as_str(), first.plan_name.as_str()), ("core", "demo"));
    assert!(!first.message.content.contains('\u{1b}'), "{}", first.message.content);
    let metrics = all.metrics;
    assert_eq!(metrics.depth.into_iter().collect::<Vec<_>>(), [(Priority::Low, 1)]);
    // An entry a second: sent, two more, read by the orchestrator, delivered, processed.
    assert_eq!((metrics.wait.count, metrics.wait.p50_ms, metrics.wait.max_ms), (1, 4_000, 4_000));
    assert_eq!(metrics.processing.max_ms, 1_000);
    let numbers = |wanted: &MessageFilter| -> Vec<u64> {
        view(&journal, wanted).messages.iter().map(|it| it.message.id.0).collect()
    };
    let of_worker = MessageFilter { worker: Some(WorkerId(1)), ..MessageFilter::default() };
    assert_eq!(numbers(&of_worker), [1, 3]);
    let queued = MessageStatus::Queued;
    let queued = MessageFilter { status: Some(queued), ..MessageFilter::default() };
    assert_eq!(numbers(&queued), [2]);
    let other = MessageFilter { plan: Some(PlanId(9)), ..MessageFilter::default() };
    assert!(numbers(&other).is_empty());
}
