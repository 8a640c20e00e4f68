//! Sends a message to a worker, or to the worker of a task.

use crate::{
    State,
    message::{self, Draft},
    state::Process,
};
use alloc::{string::String, vec::Vec};
use pitcrew_model::{
    Actor, Event, MessageKind, Party, Priority, Rejection, Timestamp, WorkerId, limits, text,
};

pub fn decide(state: &State, at: Timestamp, mut draft: Draft) -> Result<Vec<Event>, Rejection> {
    if draft.content.is_empty() {
        return Err(Rejection::EmptyMessage);
    }
    if let Some(thread) = draft.thread {
        let first = state.mail.posted.get(thread).map(|it| it.message.thread);
        // Any message of a conversation names it. Of an old conversation only the id is known.
        draft.thread = first.or_else(|| state.mail.posted.is_gone(thread).then_some(thread));
        draft.thread.ok_or(Rejection::NoSuchMessage { message: thread })?;
    }
    if draft.from == Party::from(Actor::Person) {
        draft.priority.get_or_insert(Priority::High);
    }
    let key = draft.key.as_deref();
    draft.key = key.map(|it| text::cut(it, limits::NAME_BYTES_MAX).into());
    can_read(state, draft.to)?;
    let known = draft.key.as_deref().is_some_and(|it| is_known(state, draft.to, it));
    if !known {
        has_room(state, draft.to)?;
    }
    Ok(message::queue(state, at, [draft]))
}

/// Rejects a message whose reader is gone.
pub fn can_read(state: &State, to: Party) -> Result<(), Rejection> {
    let why: String = match to {
        Party::Task(task) => match state.task(task)?.status {
            status if status.has_ended() => alloc::format!("{task} is {status}"),
            _ => return Ok(()),
        },
        Party::Worker(worker) => match why_not(state, worker)? {
            Some(why) => why,
            None => return Ok(()),
        },
        Party::Person | Party::Orchestrator | Party::Client => {
            "messages go to a worker or a task, such as worker-3 or task-7".into()
        }
    };
    Err(Rejection::NobodyReads { to, why })
}

fn why_not(state: &State, worker: WorkerId) -> Result<Option<String>, Rejection> {
    let it = state.worker(worker)?;
    let attempt = &state.attempts[it.attempt];
    Ok(if it.status.has_ended() || !attempt.is_open() {
        Some(alloc::format!("it has ended; {} may have a newer worker", attempt.task))
    } else if attempt.claim.is_some() || it.process == Process::Stopping {
        Some("it has reported completion".into())
    } else {
        None
    })
}

pub fn has_room(state: &State, to: Party) -> Result<(), Rejection> {
    let mailbox = state.mailbox_of(to).and_then(|it| state.mail.boxes.get(&it));
    let is_full = mailbox.is_some_and(|it| it.unread_count() >= limits::MESSAGES_UNREAD_MAX);
    if is_full { Err(Rejection::MailboxFull { to }) } else { Ok(()) }
}

fn is_known(state: &State, to: Party, key: &str) -> bool {
    let mailbox = state.mailbox_of(to).and_then(|it| state.mail.boxes.get(&it));
    mailbox.is_some_and(|it| it.knows(key))
}

/// A worker writes to another worker.
pub fn of_worker(
    state: &State,
    at: Timestamp,
    from: WorkerId,
    to: WorkerId,
    kind: MessageKind,
    words: &str,
) -> Result<Vec<Event>, Rejection> {
    same_plan(state, from, to)?;
    let draft = Draft::new(Party::Worker(from), Party::Worker(to), kind, words);
    decide(state, at, draft)
}

/// Workers write only to other workers of the same plan.
pub fn same_plan(state: &State, from: WorkerId, to: WorkerId) -> Result<(), Rejection> {
    let other = state.worker(to)?;
    let plan = |it| state.plan_of(&state.attempts[it]).id;
    let why = if from == to {
        "that is you"
    } else if plan(other.attempt) != plan(state.workers[from].attempt) {
        "it works on another plan"
    } else {
        return Ok(());
    };
    Err(Rejection::NobodyReads { to: Party::Worker(to), why: why.into() })
}
