//! Open messages, in the order of reading.
//!
//! Every step is a lookup or a change in an ordered map, so its cost does not depend on their
//! number.

use super::{State, Table};
use alloc::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    string::{String, ToString},
};
use pitcrew_model::{
    Message, MessageId, MessageKind, MessageStatus, Party, Priority, TaskId, Timestamp, WorkerId,
    limits,
};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mail {
    /// The last sent messages, and all open ones. Ended messages have no text.
    pub posted: Table<MessageId, MessageState>,
    pub boxes: BTreeMap<TaskId, Mailbox>,
    /// Which workers wait for answers of which other workers.
    pub asking: BTreeMap<WorkerId, BTreeMap<MessageId, WorkerId>>,
    /// When queued messages expire.
    pub expiries: BTreeSet<(Timestamp, MessageId)>,
    /// Messages that need a decision: a turn failed with them, or their reader is gone.
    pub stale: BTreeSet<MessageId>,
    /// Questions that will not be answered, with a party that waits.
    pub unanswered: BTreeSet<MessageId>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageState {
    pub message: Message,
    pub status: MessageStatus,
    /// Since when it is treated as high.
    pub presses_at: Timestamp,
    /// The number of turns with it in the prompt.
    pub tries_count: u32,
    /// The worker whose prompt contains it.
    pub reader: Option<WorkerId>,
    /// The question was answered.
    pub answered: bool,
}

/// The mailbox of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mailbox {
    queue: BTreeSet<QueuePosition>,
    pub delivered: BTreeSet<MessageId>,
    /// The messages of a person to earlier workers, the newest last.
    pub said: VecDeque<String>,
    keys: VecDeque<String>,
    known: BTreeSet<String>,
}

/// The reading order: critical ones first, the others by the time from which they are high.
pub type QueuePosition = (bool, Timestamp, MessageId);

impl MessageState {
    pub fn place(&self) -> QueuePosition {
        (self.message.priority != Priority::Critical, self.presses_at, self.message.id)
    }
}

impl Mailbox {
    /// Returns the queued messages in the order of reading.
    pub fn queued(&self) -> impl Iterator<Item = MessageId> {
        self.queue.iter().map(|it| it.2)
    }

    pub fn unread_count(&self) -> usize {
        self.queue.len()
    }

    pub fn knows(&self, key: &str) -> bool {
        self.known.contains(key)
    }

    /// Returns the earliest time from which a message here is high.
    pub fn presses_at(&self) -> Option<Timestamp> {
        let critical = self.queue.first().map(|it| it.1);
        let other = self.queue.range((true, Timestamp(0), MessageId(0))..).next().map(|it| it.1);
        critical.into_iter().chain(other).min()
    }

    pub(crate) fn enqueue(&mut self, posted: &MessageState) {
        self.queue.insert(posted.place());
    }

    pub(crate) fn dequeue(&mut self, posted: &MessageState) {
        self.queue.remove(&posted.place());
    }

    pub(crate) fn learn(&mut self, key: &str) {
        if self.keys.len() == limits::MESSAGE_KEYS_KNOWN_MAX
            && let Some(oldest) = self.keys.pop_front()
        {
            self.known.remove(&oldest);
        }
        self.keys.push_back(key.into());
        self.known.insert(key.into());
    }
}

impl State {
    /// Returns the task whose mailbox contains the messages of a party. People and the orchestrator
    /// have none: they read at once.
    pub fn mailbox_of(&self, to: Party) -> Option<TaskId> {
        match to {
            Party::Worker(worker) => Some(self.attempts[self.workers[worker].attempt].task),
            Party::Task(task) => Some(task),
            Party::Person | Party::Orchestrator | Party::Client => None,
        }
    }

    pub fn mailbox(&self, worker: WorkerId) -> Option<&Mailbox> {
        self.mail.boxes.get(&self.attempts[self.workers[worker].attempt].task)
    }

    /// Returns whether a message waits for the worker's next turn.
    pub fn has_mail(&self, worker: WorkerId) -> bool {
        self.mailbox(worker).is_some_and(|it| it.unread_count() > 0)
    }

    /// Returns whether the worker waits for the answer to this message.
    pub fn is_asking(&self, worker: WorkerId, question: MessageId) -> bool {
        let is_query = || self.queries.routed.contains_key(&question);
        self.mail.asking.get(&worker).is_some_and(|it| it.contains_key(&question)) || is_query()
    }

    /// Returns the workers that this one waits for.
    pub fn waits_for(&self, worker: WorkerId) -> impl Iterator<Item = (MessageId, WorkerId)> {
        let asking = self.mail.asking.get(&worker).into_iter().flatten();
        asking.map(|it| (*it.0, *it.1)).chain(self.owners_asked(worker))
    }

    /// Returns the questions of other workers to this one.
    pub fn questions_to(&self, worker: WorkerId) -> impl Iterator<Item = &Message> {
        let mailbox = self.mailbox(worker).into_iter();
        let letters = mailbox.flat_map(|it| it.delivered.iter().copied().chain(it.queued()));
        letters.map(|it| &self.mail.posted[it].message).filter(move |it| {
            let waits = matches!(it.from, Party::Worker(asker) if self.is_asking(asker, it.id));
            it.kind == MessageKind::Question && it.to == Party::Worker(worker) && waits
        })
    }

    /// Returns the next status of a message that needs a decision, and why.
    pub fn message_verdict(&self, message: MessageId) -> Option<(MessageStatus, String)> {
        let it = &self.mail.posted[message];
        if it.status.has_ended() {
            return None;
        }
        let reader = it.reader.map(|it| &self.workers[it]);
        let is_over = reader.is_some_and(|it| it.turn.is_none() || it.status.has_ended());
        // A worker that has reported completion has read its messages, however its turn ended.
        if let Some(reader) = reader.filter(|_| is_over && !it.message.kind.is_asked())
            && self.attempts[reader.attempt].claim.is_some()
        {
            return Some((MessageStatus::Processed, String::new()));
        }
        let task = &self.tasks[self.mailbox_of(it.message.to)?];
        if task.status.has_ended() {
            return Some((MessageStatus::Dead, alloc::format!("{} is {}", task.id, task.status)));
        }
        if let Party::Worker(worker) = it.message.to
            && self.workers[worker].status.has_ended()
        {
            return Some((MessageStatus::Dead, alloc::format!("{worker} has ended")));
        }
        if reader.is_some() {
            let again = it.tries_count < limits::MESSAGE_TRIES_MAX;
            return match (is_over, again) {
                (false, _) => None,
                (true, true) => Some((MessageStatus::Queued, "its turn failed".to_string())),
                (true, false) => {
                    let tries = it.tries_count;
                    Some((MessageStatus::Dead, alloc::format!("{tries} turns failed")))
                }
            };
        }
        if let Party::Worker(asker) = it.message.from
            && it.message.kind.is_asked()
            && !self.is_asking(asker, message)
        {
            return Some(if it.answered {
                (MessageStatus::Processed, "it was answered".to_string())
            } else {
                (MessageStatus::Dead, "its sender no longer waits".to_string())
            });
        }
        None
    }
}
