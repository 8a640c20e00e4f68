//! Messages: none is lost, none waits forever, and no worker waits for a lost answer.

use crate::{
    State,
    message::{self, Draft},
};
use alloc::{format, string::String, vec, vec::Vec};
use pitcrew_model::{
    Claim, Event, MessageId, MessageStatus, Party, Timestamp, TurnCause, WorkerStatus,
};

/// A turn failed with the message in its prompt, or its reader is gone.
pub fn put_right(state: &State) -> Option<Vec<Event>> {
    let message = *state.mail.stale.first()?;
    let (to, reason) = state.message_verdict(message).expect("what is stale cannot stay");
    Some(vec![moved(state, message, to, reason)])
}

pub fn expire(state: &State, now: Timestamp) -> Option<Vec<Event>> {
    let (at, message) = *state.mail.expiries.first()?;
    let reason = || "it was not read in time".into();
    (at <= now).then(|| vec![moved(state, message, MessageStatus::Expired, reason())])
}

/// Informs the sender of a question that no answer will come, and why.
pub fn give_up(state: &State, now: Timestamp) -> Option<Vec<Event>> {
    let question = *state.mail.unanswered.first()?;
    let words = format!(
        "No answer to {question} will come: {}. Go on with what you know, say what you assumed, \
         or ask a person: the same tool without `to`.",
        why_unanswered(state, question)
    );
    Some(message::queue(state, now, [Draft::answer(state, question, &words)]))
}

fn why_unanswered(state: &State, question: MessageId) -> String {
    let it = &state.mail.posted[question];
    let Party::Worker(asked) = it.message.to else { return "it was not read".into() };
    if it.status == MessageStatus::Expired {
        return format!("{asked} did not read it in time");
    }
    let worker = &state.workers[asked];
    let claim = &state.attempts[worker.attempt].claim;
    match claim {
        Some((Claim::Success | Claim::Partial, summary)) => {
            format!("{asked} is done. It has reported: {}", summary.trim())
        }
        Some((Claim::Failed, _)) | None if worker.status.has_ended() => {
            format!("{asked} has ended")
        }
        Some((Claim::Failed, _)) | None => format!("{asked} could not read it"),
    }
}

/// Wakes a waiting worker for an urgent message.
pub fn wake(state: &State, now: Timestamp) -> Option<Vec<Event>> {
    if state.agenda.slots_used >= state.agents_max {
        return None;
    }
    let mut due = state.agenda.waking.iter().take_while(|it| it.0 <= now);
    let (_, worker) = *due.find(|it| state.worker_has_slot(it.1))?;
    let (from, to) = (state.workers[worker].status, WorkerStatus::Running);
    let reason = "it has a message".into();
    let mut events = vec![Event::WorkerMoved { worker, from, to, reason }];
    events.extend(message::open_turn(state, now, worker, TurnCause::Messages));
    Some(events)
}

fn moved(state: &State, message: MessageId, to: MessageStatus, reason: String) -> Event {
    let it = &state.mail.posted[message];
    let task = it.message.context.task;
    Event::MessageMoved { message, task, from: it.status, to, reader: it.reader, reason }
}
