//! A worker sends a note or a question.

use super::{ask, auto_answer, send_message};
use crate::{
    State,
    message::{self, Draft},
    state::{Attempt, Process},
};
use alloc::{vec, vec::Vec};
use pitcrew_model::{
    Addressee, AttemptId, Event, MessageId, MessageKind, NoteKind, Party, Rejection, Timestamp,
    WorkerId, limits, text,
};

const NOTE_BYTES_MAX: usize = 300;
const MINUTE_MS: u64 = 60 * 1_000;

pub struct Note<'a> {
    pub kind: NoteKind,
    pub words: &'a str,
    pub to: Addressee,
    pub reply_to: Option<MessageId>,
}

pub fn decide(
    state: &State,
    at: Timestamp,
    attempt: AttemptId,
    note: &Note<'_>,
) -> Result<Vec<Event>, Rejection> {
    let it = state.attempt(attempt)?;
    if !it.is_open() || state.workers[it.worker].process != Process::Alive {
        return Err(Rejection::AttemptOver { attempt });
    }
    let kind = match note.kind {
        NoteKind::Answer => return ask::answer(state, at, it.worker, note.reply_to, note.words),
        NoteKind::Question => return question(state, at, it, note),
        NoteKind::Status => MessageKind::StatusUpdate,
        NoteKind::Completion => MessageKind::Completion,
        NoteKind::Error => MessageKind::Error,
    };
    keeps_pace(state, at, it.worker)?;
    if let Some(to) = reader(state, it, note.to)? {
        return send_message::of_worker(state, at, it.worker, to, kind, note.words);
    }
    let draft = Draft::new(Party::Worker(it.worker), Party::Orchestrator, kind, note.words);
    Ok(message::queue(state, at, [draft]))
}

/// Rejects notes above the limit with an explanation, because every note is a write to the disk.
fn keeps_pace(state: &State, at: Timestamp, worker: WorkerId) -> Result<(), Rejection> {
    let notes = &state.workers[worker].notes_at;
    let oldest = notes.front().filter(|_| notes.len() >= limits::NOTES_PER_MINUTE_MAX);
    let is_fast = oldest.is_some_and(|it| at.since(*it) < MINUTE_MS);
    if is_fast { Err(Rejection::NotesTooFast { worker }) } else { Ok(()) }
}

/// Returns the other worker that is addressed; none for the orchestrator.
fn reader(state: &State, attempt: &Attempt, to: Addressee) -> Result<Option<WorkerId>, Rejection> {
    match to {
        Addressee::Orchestrator => Ok(None),
        Addressee::Parent => {
            let parent = state.parent_of(&state.tasks[attempt.task]);
            let none = Rejection::NoParent { worker: attempt.worker };
            parent.map(|it| Some(it.worker)).ok_or(none)
        }
        Addressee::Worker(worker) => Ok(Some(worker)),
    }
}

/// Sends a question to another worker, or to the orchestrator.
fn question(
    state: &State,
    at: Timestamp,
    it: &Attempt,
    note: &Note<'_>,
) -> Result<Vec<Event>, Rejection> {
    match reader(state, it, note.to)? {
        Some(to) => ask::ask(state, at, it.worker, to, note.words),
        None => auto_answer::decide(state, at, it, note.words),
    }
}

/// Stores the activity of an agent now and then. Clients that watch it get all of it without the
/// journal.
pub fn activity(
    state: &State,
    at: Timestamp,
    worker: WorkerId,
    message: &str,
) -> Result<Vec<Event>, Rejection> {
    let it = state.worker(worker)?;
    if it.process != Process::Alive || at.since(it.noted_at) < limits::HEARTBEAT_MS_MIN {
        return Ok(Vec::new());
    }
    let note = text::cut(message, NOTE_BYTES_MAX).into();
    Ok(vec![Event::ActivityNoted { worker, note }])
}
