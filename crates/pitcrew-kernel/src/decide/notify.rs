//! A worker tells or asks something.

use crate::{State, state::Process};
use alloc::{string::String, vec, vec::Vec};
use pitcrew_model::{
    AttemptId, Event, NoteKind, Rejection, RequestKind, Timestamp, WorkerId, limits, text,
};

const NOTE_BYTES_MAX: usize = 300;

pub fn decide(
    state: &State,
    at: Timestamp,
    attempt: AttemptId,
    kind: NoteKind,
    message: &str,
) -> Result<Vec<Event>, Rejection> {
    let it = state.attempt(attempt)?;
    if !it.is_open() || state.workers[it.worker].process != Process::Alive {
        return Err(Rejection::AttemptOver { attempt });
    }
    match kind {
        NoteKind::Status => {
            let since_ms = at.since(state.workers[it.worker].noted_at);
            // Whoever chatters is heard now and then: every note costs a write to the disk.
            let heard = since_ms >= limits::ACTIVITY_MS_MIN;
            Ok(heard.then(|| note(it.worker, message)).into_iter().collect())
        }
        NoteKind::Question => {
            let question: String = text::cut(message, limits::SUMMARY_BYTES_MAX).into();
            let asked = |request: &&pitcrew_model::RequestId| {
                state.requests[**request].kind
                    == RequestKind::Question { question: question.clone() }
            };
            // Asked twice is asked once: a bridge that lost the answer asks again.
            if state.workers[it.worker].requests.iter().any(|it| asked(&it)) {
                return Ok(Vec::new());
            }
            if state.workers[it.worker].requests_count >= limits::REQUESTS_PER_WORKER_MAX {
                return Err(Rejection::TooManyRequests { worker: it.worker });
            }
            Ok(vec![Event::RequestOpened {
                request: state.requests.next_id(),
                plan: state.tasks[it.task].plan,
                task: Some(it.task),
                worker: Some(it.worker),
                kind: RequestKind::Question { question },
            }])
        }
    }
}

/// What an agent does is a sign of life in the journal now and then; whoever watches is shown all of
/// it without that.
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
    Ok(vec![note(worker, message)])
}

fn note(worker: WorkerId, message: &str) -> Event {
    Event::ActivityNoted { worker, note: text::cut(message, NOTE_BYTES_MAX).into() }
}
