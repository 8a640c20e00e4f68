//! Returns the events that send and deliver messages.

use crate::{
    State, query,
    settle::subtask,
    state::{Mailbox, MessageState},
};
use alloc::{string::String, vec::Vec};
use pitcrew_model::{
    Event, Message, MessageContext, MessageId, MessageKind, MessageStatus, Party, Priority, TaskId,
    Timestamp, TurnCause, WorkerId, limits, text,
};

/// A message without an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    pub from: Party,
    pub to: Party,
    pub kind: MessageKind,
    pub content: String,
    /// Absent: the default of its kind.
    pub priority: Option<Priority>,
    pub reply_to: Option<MessageId>,
    /// Absent: the thread of the message it replies to, otherwise a new one.
    pub thread: Option<MessageId>,
    pub key: Option<String>,
}

impl Draft {
    pub fn new(from: Party, to: Party, kind: MessageKind, content: &str) -> Self {
        let content = text::cut(content.trim(), limits::SUMMARY_BYTES_MAX).into();
        let (priority, reply_to, thread, key) = (None, None, None, None);
        Self { from, to, kind, content, priority, reply_to, thread, key }
    }

    /// An answer of the orchestrator, if no other party gives one.
    pub fn answer(state: &State, question: MessageId, content: &str) -> Self {
        let asker = state.mail.posted[question].message.from;
        let mut draft = Self::new(Party::Orchestrator, asker, MessageKind::Answer, content);
        draft.reply_to = Some(question);
        draft
    }
}

/// Queues messages in this order. Skips a message whose key its reader knows. People and the
/// orchestrator read messages at once.
///
/// The caller checks whether the message is allowed.
pub fn queue(state: &State, at: Timestamp, drafts: impl IntoIterator<Item = Draft>) -> Vec<Event> {
    let MessageId(mut next) = state.mail.posted.next_id();
    let mut events = Vec::new();
    for draft in drafts {
        let task = state.mailbox_of(draft.to);
        let mailbox = task.and_then(|it| state.mail.boxes.get(&it));
        let key = draft.key.as_deref();
        if key.is_some_and(|key| mailbox.is_some_and(|it| it.knows(key))) {
            continue;
        }
        let message = numbered(state, at, MessageId(next), draft);
        let (id, owner) = (message.id, message.context.task);
        next += 1;
        events.push(Event::MessageQueued(message));
        if task.is_none() {
            events.push(Event::MessageMoved {
                message: id,
                task: owner,
                from: MessageStatus::Queued,
                to: MessageStatus::Processed,
                reader: None,
                reason: String::new(),
            });
        }
    }
    events
}

fn numbered(state: &State, at: Timestamp, id: MessageId, draft: Draft) -> Message {
    let answered = draft.reply_to.and_then(|it| state.mail.posted.get(it));
    // An answer that is sent together with its question joins the thread of the question.
    let thread = answered.map(|it| it.message.thread).or(draft.reply_to);
    let thread = draft.thread.or(thread).unwrap_or(id);
    // Without a mailbox nothing waits: the message is read at once.
    let waits = state.mailbox_of(draft.to).is_some();
    Message {
        id,
        from: draft.from,
        to: draft.to,
        kind: draft.kind,
        priority: draft.priority.unwrap_or(draft.kind.priority()),
        context: context(state, draft.from, draft.to),
        content: draft.content,
        thread,
        reply_to: draft.reply_to,
        key: draft.key,
        expires_at: draft.kind.lasts_ms().filter(|_| waits).map(|it| at.plus(it)),
    }
}

/// Returns the context: the sender's work, or the reader's if the sender has none.
fn context(state: &State, from: Party, to: Party) -> MessageContext {
    match (from, to) {
        (Party::Worker(worker), _) | (_, Party::Worker(worker)) => {
            let attempt = &state.attempts[state.workers[worker].attempt];
            let worktree = attempt.path.clone();
            MessageContext { worker: Some(worker), worktree, ..of_task(state, attempt.task) }
        }
        (_, Party::Task(task)) | (Party::Task(task), _) => of_task(state, task),
        (
            Party::Person | Party::Orchestrator | Party::Client,
            Party::Person | Party::Orchestrator | Party::Client,
        ) => unreachable!("a message is of a worker or for one"),
    }
}

fn of_task(state: &State, task: TaskId) -> MessageContext {
    let row = &state.tasks[task];
    MessageContext {
        plan: row.plan,
        task,
        worker: None,
        worktree: None,
        parent: state.parent_of(row).map(|it| it.worker),
        subtask: row.delegation.as_ref().map(|_| task),
        depth: row.delegation.as_ref().map_or(0, |it| it.depth),
    }
}

/// Opens a turn with the undelivered results and as many messages as a prompt may contain.
pub fn open_turn(state: &State, now: Timestamp, worker: WorkerId, cause: TurnCause) -> Vec<Event> {
    let mut events = subtask::hand_results(state, &state.workers[worker], |_| true);
    events.extend(next_of(state, now, worker).map(|it| Event::MessageMoved {
        message: it.message.id,
        task: it.message.context.task,
        from: it.status,
        to: MessageStatus::Delivered,
        reader: Some(worker),
        reason: String::new(),
    }));
    events.push(Event::TurnOpened { worker, cause });
    events
}

/// Returns whether the next prompt contains a message.
pub fn is_next(state: &State, now: Timestamp, worker: WorkerId) -> bool {
    next_of(state, now, worker).next().is_some()
}

fn next_of(state: &State, now: Timestamp, worker: WorkerId) -> impl Iterator<Item = &MessageState> {
    let mut bytes = 0;
    let fits = move |it: &&MessageState| {
        bytes += it.message.content.len();
        bytes <= limits::MESSAGES_PER_TURN_BYTES_MAX
    };
    let queued = state.mailbox(worker).into_iter().flat_map(Mailbox::queued);
    let lasts = move |it: &&MessageState| it.message.expires_at.is_none_or(|at| at > now);
    queued
        .map(|it| &state.mail.posted[it])
        .filter(lasts)
        .take(limits::MESSAGES_PER_TURN_MAX)
        .take_while(fits)
}

/// Returns the messages in the worker's prompt, the most urgent first.
pub fn in_prompt(state: &State, worker: WorkerId) -> Vec<&Message> {
    let delivered = state.mailbox(worker).into_iter().flat_map(|it| &it.delivered);
    let rows = delivered.map(|it| &state.mail.posted[*it]);
    let mut rows: Vec<&MessageState> = rows.filter(|it| it.reader == Some(worker)).collect();
    rows.sort_by_key(|it| it.place());
    rows.into_iter().map(|it| &it.message).collect()
}

/// The turn ended normally, so the messages of its prompt are read. If a question was not answered,
/// the last text of the turn is the answer.
pub fn read(state: &State, now: Timestamp, worker: WorkerId, last_words: &str) -> Vec<Event> {
    let messages = in_prompt(state, worker);
    let mut events: Vec<Event> = messages
        .iter()
        .map(|it| Event::MessageMoved {
            message: it.id,
            task: it.context.task,
            from: MessageStatus::Delivered,
            to: MessageStatus::Processed,
            reader: Some(worker),
            reason: String::new(),
        })
        .collect();
    let waits = |it: &&&Message| {
        it.kind == MessageKind::Question
            && matches!(it.from, Party::Worker(asker) if state.is_asking(asker, it.id))
    };
    let mut drafts = Vec::new();
    for query in messages.iter().filter_map(|it| state.queries.routed.get(&it.id)) {
        let query = &state.queries.asked[*query];
        if let Some((event, draft)) = query::overheard(state, query, worker, last_words) {
            events.push(event);
            drafts.extend(draft);
        }
    }
    let words = match text::tail(last_words.trim(), limits::OUTPUT_TAIL_BYTES) {
        "" => alloc::format!("{worker} read your question and did not answer."),
        words => alloc::format!("{worker} gave no answer; its turn ended with: {words}"),
    };
    let answers = messages.iter().filter(waits).map(|it| Draft::answer(state, it.id, &words));
    events.extend(queue(state, now, drafts.into_iter().chain(answers)));
    events
}
