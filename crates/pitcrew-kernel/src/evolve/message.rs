//! Messages: their status, and the workers that wait for answers.

use super::{query, subtask, worker};
use crate::{
    State,
    state::{Mail, Mailbox, MessageState},
};
use alloc::{string::String, vec::Vec};
use pitcrew_model::{
    Message, MessageId, MessageKind, MessageStatus, Party, TaskId, Timestamp, WorkerId, limits,
};

pub fn queued(state: &mut State, message: &Message, at: Timestamp) {
    let id = message.id;
    if let Party::Worker(sender) = message.from {
        let row = state.workers.row(sender);
        row.noted_at = at;
        if matches!(
            message.kind,
            MessageKind::Error | MessageKind::Completion | MessageKind::StatusUpdate
        ) {
            row.notes_at.push_back(at);
            if row.notes_at.len() > limits::NOTES_PER_MINUTE_MAX {
                row.notes_at.pop_front();
            }
        }
    }
    if let (MessageKind::Question, Party::Worker(from), Party::Worker(to)) =
        (message.kind, message.from, message.to)
    {
        state.mail.asking.entry(from).or_default().insert(id, to);
    }
    let presses_at = at.plus(message.priority.patience_ms());
    let status = MessageStatus::Queued;
    let (message, tries_count, reader, answered) = (message.clone(), 0, None, false);
    let posted = MessageState { message, status, presses_at, tries_count, reader, answered };
    state.mail.posted.push(id, posted);
    let Message { kind, from, to, reply_to, .. } = state.mail.posted[id].message;
    if let (MessageKind::Answer, Party::Worker(asker), Some(question)) = (kind, to, reply_to) {
        let asked = state.mail.posted.row(question);
        asked.answered = asked.message.to == from;
        no_longer_asks(state, asker, question);
    }
    wait(state, id);
    let posted = &state.mail.posted[id].message;
    if let (Some(task), Some(key)) = (state.mailbox_of(posted.to), posted.key.clone()) {
        state.mail.boxes.entry(task).or_default().learn(&key);
    }
    refresh(state, id);
    look_at_wait(state, id);
    if state.mail.posted[id].message.kind == MessageKind::Question {
        query::somebody_waits(state);
    }
}

/// Ends the wait of a worker that is asked by one of its sub-tasks, directly or through others:
/// otherwise they would wait for each other.
fn look_at_wait(state: &mut State, message: MessageId) {
    let Message { kind, to, .. } = &state.mail.posted[message].message;
    if let (MessageKind::Question, Party::Worker(asked)) = (*kind, *to) {
        subtask::refresh_wait(state, asked);
    }
}

pub fn moved(
    state: &mut State,
    message: MessageId,
    from: MessageStatus,
    to: MessageStatus,
    reader: Option<WorkerId>,
) {
    let row = state.mail.posted.row(message);
    assert_eq!(row.status, from, "{message} moved from where it was not");
    row.status = to;
    row.reader = reader.filter(|_| to == MessageStatus::Delivered);
    if to == MessageStatus::Delivered {
        row.tries_count += 1;
    }
    match from {
        MessageStatus::Queued => leave(state, message),
        MessageStatus::Delivered => {
            change_box(state, message, |it, _| it.delivered.retain(|it| *it != message));
        }
        MessageStatus::Processed | MessageStatus::Dead | MessageStatus::Expired => {}
    }
    match to {
        MessageStatus::Queued => wait(state, message),
        MessageStatus::Delivered => {
            change_box(state, message, |it, _| it.delivered.extend([message]));
        }
        MessageStatus::Processed | MessageStatus::Dead | MessageStatus::Expired => {
            ended(state, message, to);
        }
    }
    refresh(state, message);
    look_at_wait(state, message);
    forget(state);
}

fn wait(state: &mut State, message: MessageId) {
    change_box(state, message, Mailbox::enqueue);
    if let Some(at) = state.mail.posted[message].message.expires_at {
        state.mail.expiries.insert((at, message));
    }
}

fn leave(state: &mut State, message: MessageId) {
    change_box(state, message, Mailbox::dequeue);
    if let Some(at) = state.mail.posted[message].message.expires_at {
        state.mail.expiries.remove(&(at, message));
    }
}

/// Drops the text of an ended message. What a person said to a task is kept.
fn ended(state: &mut State, message: MessageId, how: MessageStatus) {
    let row = state.mail.posted.row(message);
    let content = core::mem::take(&mut row.message.content);
    row.message.key = None;
    let (kind, from, to) = (row.message.kind, row.message.from, row.message.to);
    if let (MessageStatus::Processed, Party::Person, Party::Task(task)) = (how, from, to) {
        say(state, task, content);
    }
    if let (MessageKind::Question, Party::Worker(asker)) = (kind, from)
        && state.is_asking(asker, message)
    {
        state.mail.unanswered.insert(message);
    }
    query::message_ended(state, message);
}

/// Keeps ended messages for a while, so that a conversation can be continued.
fn forget(state: &mut State) {
    let Mail { posted, asking, .. } = &mut state.mail;
    let routed = &state.queries.routed;
    let is_waited_for = |it: &Message| {
        let Party::Worker(asker) = it.from else { return false };
        let is_asked = asking.get(&asker).is_some_and(|asked| asked.contains_key(&it.id));
        is_asked || routed.contains_key(&it.id)
    };
    posted.forget(limits::MESSAGES_REMEMBERED_MAX, |it| {
        it.status.has_ended() && !is_waited_for(&it.message)
    });
}

fn say(state: &mut State, task: TaskId, content: String) {
    let said = &mut state.mail.boxes.entry(task).or_default().said;
    if said.len() == limits::MESSAGES_RETOLD_MAX {
        said.pop_front();
    }
    said.push_back(content);
}

fn change_box(
    state: &mut State,
    message: MessageId,
    change: impl FnOnce(&mut Mailbox, &MessageState),
) {
    let Some(task) = state.mailbox_of(state.mail.posted[message].message.to) else { return };
    let mail = &mut state.mail;
    change(mail.boxes.entry(task).or_default(), &mail.posted[message]);
    if let Some(attempt) = state.tasks[task].last_attempt() {
        let worker = state.attempts[attempt].worker;
        worker::change(state, worker, |_| {});
    }
}

/// Updates whether the message needs a decision.
pub fn refresh(state: &mut State, message: MessageId) {
    if state.message_verdict(message).is_some() {
        state.mail.stale.insert(message);
    } else {
        state.mail.stale.remove(&message);
    }
}

/// Updates all messages of a mailbox after a turn or the task began or ended.
pub fn refresh_box(state: &mut State, task: TaskId) {
    let Some(mailbox) = state.mail.boxes.get(&task) else { return };
    let messages: Vec<MessageId> =
        mailbox.delivered.iter().copied().chain(mailbox.queued()).collect();
    for message in messages {
        refresh(state, message);
    }
}

/// Updates only the messages in the worker's prompt.
pub fn turn_changed(state: &mut State, worker: WorkerId) {
    let task = state.attempts[state.workers[worker].attempt].task;
    let Some(mailbox) = state.mail.boxes.get(&task) else { return };
    for message in mailbox.delivered.clone() {
        refresh(state, message);
    }
}

/// The worker reads nothing and waits for nothing any more.
pub fn worker_ended(state: &mut State, worker: WorkerId) {
    let questions = state.mail.asking.remove(&worker).unwrap_or_default();
    for question in questions.into_keys() {
        state.mail.unanswered.remove(&question);
        refresh(state, question);
    }
    refresh_box(state, state.attempts[state.workers[worker].attempt].task);
}

fn no_longer_asks(state: &mut State, asker: WorkerId, question: MessageId) {
    if let Some(questions) = state.mail.asking.get_mut(&asker) {
        questions.remove(&question);
        if questions.is_empty() {
            state.mail.asking.remove(&asker);
        }
    }
    state.mail.unanswered.remove(&question);
    refresh(state, question);
}
