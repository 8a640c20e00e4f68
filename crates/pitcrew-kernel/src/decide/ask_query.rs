//! A worker looks up a symbol outside its region.

use crate::{State, query, state::Process};
use alloc::{string::String, vec, vec::Vec};
use pitcrew_model::{
    AttemptId, Event, MessageId, QueryLimits, QueryVia, Rejection, Timestamp, WorkerId, limits,
    text,
};

pub struct Ask<'a> {
    pub nonce: &'a str,
    pub symbol: &'a str,
    pub context: &'a str,
    pub via: QueryVia,
}

pub fn decide(
    state: &State,
    at: Timestamp,
    attempt: AttemptId,
    ask: &Ask<'_>,
) -> Result<Vec<Event>, Rejection> {
    let it = state.attempt(attempt)?;
    let worker = &state.workers[it.worker];
    let nonce = text::cut(ask.nonce, limits::NAME_BYTES_MAX);
    let asker = state.queries.askers.get(&worker.id);
    // A repeated call is the same query: the bridge may have lost the answer.
    if asker.is_some_and(|it| it.nonces.contains(nonce)) {
        return Ok(Vec::new());
    }
    if !it.is_open() || worker.process != Process::Alive {
        return Err(Rejection::AttemptOver { attempt });
    }
    if ask.via == QueryVia::Tool && worker.turn.is_none() {
        return Err(Rejection::NotInTurn { worker: worker.id });
    }
    let symbol = one_line(ask.symbol, limits::NAME_BYTES_MAX);
    if symbol.is_empty() {
        return Err(Rejection::EmptyQuery);
    }
    if asker.is_some_and(|it| it.open.len() >= limits::QUERIES_OPEN_MAX) {
        return Err(Rejection::TooManyQueries { worker: worker.id });
    }
    let asked_count = asker.map_or(0, |it| it.nonces.len());
    if u32::try_from(asked_count).is_ok_and(|it| it >= limits::QUERIES_PER_WORKER_MAX) {
        return Err(Rejection::QueriesUsedUp { worker: worker.id });
    }
    Ok(vec![Event::QueryAsked {
        query: state.queries.asked.next_id(),
        worker: worker.id,
        symbol,
        context: one_line(ask.context, limits::QUERY_CONTEXT_BYTES_MAX),
        via: ask.via,
        until: at.plus(state.queries.limits.deadline_ms),
        nonce: nonce.into(),
    }])
}

/// Replaces each run of whitespace by one space: the text is inserted into the question to an
/// owner.
fn one_line(words: &str, bytes_max: usize) -> String {
    let words: Vec<&str> = words.split_whitespace().collect();
    text::cut(&words.join(" "), bytes_max).trim_end().into()
}

/// Applies changed query limits.
pub fn limits(state: &State, limits: QueryLimits) -> Vec<Event> {
    let is_new = state.queries.limits != limits;
    is_new.then_some(Event::QueryLimitsApplied { limits }).into_iter().collect()
}

/// An owner answers a query.
pub fn answer(
    state: &State,
    at: Timestamp,
    from: WorkerId,
    message: MessageId,
    words: &str,
) -> Result<Vec<Event>, Rejection> {
    let words = words.trim();
    if words.is_empty() {
        return Err(Rejection::EmptyMessage);
    }
    if let Some(id) = state.queries.routed.get(&message) {
        return Ok(query::answered(state, at, &state.queries.asked[*id], from, words));
    }
    let late = state.queries.late.get(&message);
    let late = late.and_then(|it| query::late(state, at, &state.queries.asked[*it], from, words));
    late.ok_or(Rejection::NothingToAnswer { message })
}
