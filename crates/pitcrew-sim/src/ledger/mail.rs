//! Messages: each is read once or has a reason why not, and urgent ones are read first.

use super::{Ledger, place};
use crate::broken::hold;
use pitcrew_model::{
    Effect, EffectResult, Message, MessageId, MessageKind, MessageStatus, Party, Priority,
    StopReason, TaskId, Timestamp, WorkerId, limits,
};
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub struct Mail {
    pub letters: Vec<MessageRow>,
    /// Whether the last turn of a worker ended well.
    pub well: BTreeMap<WorkerId, bool>,
    pub sent_count: u64,
    pub back_count: u64,
    pub dead_count: u64,
    pub expired_count: u64,
    pub cycles_count: u64,
}

#[derive(Debug)]
pub struct MessageRow {
    pub from: Party,
    pub to: Party,
    /// The task whose mailbox contains it.
    pub task: Option<TaskId>,
    pub kind: MessageKind,
    pub priority: Priority,
    pub key: Option<String>,
    pub expires_at: Option<Timestamp>,
    pub status: MessageStatus,
    pub reader: Option<WorkerId>,
    pub tries_count: u32,
    /// A question with an answer.
    pub answered: bool,
    /// Answered by its reader.
    pub answered_by_reader: bool,
}

impl MessageRow {
    fn waits(&self, at: Timestamp) -> bool {
        self.status == MessageStatus::Queued && self.expires_at.is_none_or(|it| it > at)
    }
}

impl Ledger {
    fn mailbox_of(&self, to: Party) -> Option<TaskId> {
        match to {
            Party::Worker(worker) => {
                let attempt = self.workers[place(worker.0)].attempt;
                Some(self.attempts[place(attempt.0)].task)
            }
            Party::Task(task) => Some(task),
            Party::Person | Party::Orchestrator | Party::Client => None,
        }
    }

    pub(super) fn message_queued(&mut self, message: &Message) {
        let (id, task) = (message.id, self.mailbox_of(message.to));
        let same = |it: &MessageRow| it.task == task && it.key.is_some() && it.key == message.key;
        let again = task.is_some() && self.mail.letters.iter().any(same);
        hold!(!again, "a message that is sent again is queued once", "{id}");
        if let (MessageKind::Answer, Some(question)) = (message.kind, message.reply_to) {
            let asked = self.mail.letters.get_mut(place(question.0));
            let asked = asked.filter(|it| it.kind == MessageKind::Question);
            if let Some(asked) = asked {
                hold!(!asked.answered, "a question is answered once", "{question} by {id}");
                hold!(asked.from == message.to, "an answer goes to who asked", "{id}");
                asked.answered = true;
                asked.answered_by_reader = asked.to == message.from;
            }
            self.mail.cycles_count += u64::from(message.content.contains("and it waits for you"));
        }
        let waiting = self.mail.letters.iter().filter(|it| it.task == task && task.is_some());
        let unread = waiting.filter(|it| it.status == MessageStatus::Queued).count();
        let bounded = unread <= limits::MESSAGES_UNREAD_MAX;
        hold!(bounded, "a mailbox is bounded", "{unread} wait for {}", message.to);
        if message.kind == MessageKind::Query {
            self.query_sent(message);
        }
        self.mail.sent_count += 1;
        self.mail.letters.push(MessageRow {
            from: message.from,
            to: message.to,
            task,
            kind: message.kind,
            priority: message.priority,
            key: message.key.clone(),
            expires_at: message.expires_at,
            status: MessageStatus::Queued,
            reader: None,
            tries_count: 0,
            answered: false,
            answered_by_reader: false,
        });
        hold!(self.mail.letters.len() as u64 == id.0, "ids have no gap", "{id}");
    }

    pub(super) fn message_moved(
        &mut self,
        id: MessageId,
        from: MessageStatus,
        to: MessageStatus,
        reader: Option<WorkerId>,
    ) {
        let at = self.at;
        let row = &self.mail.letters[place(id.0)];
        hold!(row.status == from, "what moves was there", "{id}: {from}, not {}", row.status);
        hold!(from.may_become(to), "only legal transitions happen", "{id}: {from} -> {to}");
        self.reached.messages |= 1 << (from as u32) | 1 << (to as u32);
        match to {
            MessageStatus::Delivered => self.check_delivered(id, reader),
            MessageStatus::Processed => self.check_processed(id, from),
            MessageStatus::Queued => self.mail.back_count += 1,
            MessageStatus::Dead => self.check_dead(id, from),
            MessageStatus::Expired => {
                let due = row.expires_at.is_some_and(|it| it <= at);
                let drops = row.kind != MessageKind::PermissionRequest;
                hold!(due && drops, "nothing is dropped before its time", "{id} at {at}");
                self.mail.expired_count += 1;
            }
        }
        let row = &mut self.mail.letters[place(id.0)];
        row.status = to;
        row.reader = reader.filter(|_| to == MessageStatus::Delivered);
        row.tries_count += u32::from(to == MessageStatus::Delivered);
    }

    fn check_delivered(&self, id: MessageId, reader: Option<WorkerId>) {
        let row = &self.mail.letters[place(id.0)];
        let reader = reader.expect("somebody reads it");
        let worker = &self.workers[place(reader.0)];
        let task = self.attempts[place(worker.attempt.0)].task;
        let for_it = match row.to {
            Party::Worker(it) => it == reader,
            Party::Task(it) => it == task,
            Party::Person | Party::Orchestrator | Party::Client => false,
        };
        hold!(for_it, "a message reaches whom it is for", "{id} reaches {reader}");
        hold!(worker.turn.is_none(), "a message comes between turns", "{id} for {reader}");
        let tries = row.tries_count < limits::MESSAGE_TRIES_MAX;
        hold!(tries, "a message is tried three times", "{id}");
        if row.priority != Priority::Critical {
            let urgent = |it: &&MessageRow| {
                it.task == Some(task) && it.priority == Priority::Critical && it.waits(self.at)
            };
            let passed = self.mail.letters.iter().find(urgent);
            hold!(passed.is_none(), "the critical ones are read first", "{id} before {passed:?}");
        }
    }

    fn check_processed(&self, id: MessageId, from: MessageStatus) {
        let row = &self.mail.letters[place(id.0)];
        if from == MessageStatus::Queued {
            let at_once = row.task.is_none() || row.answered_by_reader;
            return hold!(at_once, "a worker has read what it was given", "{id}");
        }
        let reader = row.reader.expect("somebody reads it");
        let worker = &self.workers[place(reader.0)];
        let is_done = self.attempts[place(worker.attempt.0)].claim.is_some();
        let well = worker.turn.is_none() && self.mail.well.get(&reader) == Some(&true);
        let read = well || is_done;
        hold!(read, "what is processed was in a turn that ended well or said so", "{id}");
    }

    fn check_dead(&mut self, id: MessageId, from: MessageStatus) {
        self.mail.dead_count += 1;
        let row = &self.mail.letters[place(id.0)];
        let task = &self.tasks[place(row.task.expect("it waited").0)];
        let gone = match row.to {
            Party::Worker(it) => self.workers[place(it.0)].status.has_ended(),
            Party::Person | Party::Orchestrator | Party::Task(_) | Party::Client => false,
        };
        let of_query = |it: &&super::queries::Query| it.at.is_some_and(|it| it.1 == id);
        let query = self.queries.rows.iter().find(of_query);
        // It has ended, or moved on to the next owner.
        let unwanted =
            row.kind == MessageKind::Query && query.is_none_or(|it| it.outcome.is_some());
        let unasked = row.kind == MessageKind::Question && {
            let asker = match row.from {
                Party::Worker(it) => self.workers[place(it.0)].status.has_ended(),
                Party::Person | Party::Orchestrator | Party::Task(_) | Party::Client => false,
            };
            asker || row.answered
        };
        let tried =
            from == MessageStatus::Delivered && row.tries_count == limits::MESSAGE_TRIES_MAX;
        let why = gone || unasked || unwanted || tried || task.status.has_ended();
        hold!(why, "a dead letter has a reason", "{id} for {}", row.to);
    }

    /// Checks that the prompt contains exactly the delivered messages.
    pub(super) fn check_prompt(&self, effect: &Effect) {
        let Effect::Prompt { worker, text, .. } = effect else { return };
        let given = self.mail.letters.iter().zip(1_u64..).filter(|it| it.0.reader == Some(*worker));
        let given: Vec<u64> = given.map(|it| it.1).collect();
        for number in &given {
            let there = text.contains(&format!(" message=\"message-{number}\" "));
            hold!(there, "what is delivered is in the prompt", "message-{number} for {worker}");
        }
        let count = text.matches(" message=\"message-").count();
        let (all, most) = (count == given.len(), limits::MESSAGES_PER_TURN_MAX);
        hold!(all && count <= most, "a prompt holds what is delivered", "{count} for {worker}");
    }

    pub(super) fn turn_result(&mut self, result: &EffectResult) {
        if let EffectResult::TurnEnded { worker, stop, .. } = result {
            let well = matches!(
                stop,
                StopReason::EndTurn | StopReason::MaxTokens | StopReason::MaxTurnRequests
            );
            self.mail.well.insert(*worker, well);
        }
    }
}
