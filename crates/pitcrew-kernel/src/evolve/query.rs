//! Queries: their status and their cost.

use super::{message, worker};
use crate::{
    State,
    state::{OwnerAnswer, Queries, Query, QueryStage, Resumption},
};
use alloc::{string::String, vec::Vec};
use pitcrew_model::{
    MessageId, OracleAnswer, QueryId, QueryOutcome, QueryVia, Timestamp, WorkerId, WorkerStatus,
    limits,
};

pub struct NewQuery<'a> {
    pub query: QueryId,
    pub worker: WorkerId,
    pub symbol: &'a str,
    pub context: &'a str,
    pub via: QueryVia,
    pub until: Timestamp,
    pub nonce: &'a str,
}

pub fn asked(state: &mut State, asked: &NewQuery<'_>) {
    let row = Query {
        id: asked.query,
        worker: asked.worker,
        symbol: asked.symbol.into(),
        context: asked.context.into(),
        via: asked.via,
        nonce: asked.nonce.into(),
        until: asked.until,
        turn: state.workers[asked.worker].turn,
        stage: QueryStage::AtIndex,
        oracle: None,
        owners: Vec::new(),
        spent: 0,
        saved: 0,
        answer: String::new(),
    };
    let queries = &mut state.queries;
    queries.asked.push(asked.query, row);
    queries.deadlines.insert((asked.until, asked.query));
    let asker = queries.askers.entry(asked.worker).or_default();
    asker.open.insert(asked.query);
    asker.nonces.insert(asked.nonce.into());
    refresh(state, asked.query);
}

pub fn consulted(state: &mut State, query: QueryId, answer: &OracleAnswer) {
    // An ended query needs no decision.
    if state.queries.asked.get(query).is_some_and(|it| !it.has_ended()) {
        state.queries.asked.row(query).oracle = Some(answer.clone());
        refresh(state, query);
    }
}

pub fn routed(state: &mut State, query: QueryId, owner: WorkerId, message: MessageId) {
    let spent = spent_on_last(state, query);
    let row = state.queries.asked.row(query);
    if let QueryStage::AtOwner { message, .. } = row.stage {
        state.queries.routed.remove(&message);
    }
    row.spent += spent;
    row.owners.push(owner);
    row.stage = QueryStage::AtOwner { owner, message };
    let asker = row.worker;
    state.queries.routed.insert(message, query);
    state.queries.due.remove(&query);
    asking_changed(state, asker);
}

/// A worker that waits for an owner may give up its slot, and continues when it waits for none.
fn asking_changed(state: &mut State, asker: WorkerId) {
    let asks = state.asks_owner(&state.workers[asker]);
    worker::change(state, asker, |it| {
        let is_parked = it.status == WorkerStatus::WaitingInput && it.turn.is_some();
        it.resumptions.retain(|it| *it != Resumption::Query);
        if is_parked && !asks {
            it.resumptions.push_back(Resumption::Query);
        }
    });
}

/// A new wait may close a cycle with any open query, directly or through others.
pub fn somebody_waits(state: &mut State) {
    let open: Vec<QueryId> = state.queries.routed.values().copied().collect();
    for query in open {
        refresh(state, query);
    }
}

/// Returns the cost at the last owner: nothing if the owner has not read it.
pub fn spent_on_last(state: &State, query: QueryId) -> u64 {
    let row = &state.queries.asked[query];
    match row.stage {
        QueryStage::AtOwner { message, .. } if state.mail.posted[message].tries_count > 0 => {
            row.question_tokens()
        }
        QueryStage::AtIndex | QueryStage::AtOwner { .. } | QueryStage::Ended { .. } => 0,
    }
}

pub struct Ended<'a> {
    pub query: QueryId,
    pub outcome: QueryOutcome,
    pub text: &'a str,
    pub tokens_spent: u64,
    pub tokens_saved: u64,
}

pub fn ended(state: &mut State, ended: &Ended<'_>) {
    let Ended { query, outcome, text, tokens_spent, tokens_saved } = *ended;
    let row = &state.queries.asked[query];
    assert!(!row.has_ended(), "{query} ended twice: the journal is corrupt");
    let (worker, until, stage) = (row.worker, row.until, row.stage);
    if let QueryOutcome::Answered { owner } = outcome {
        keep(state, query, owner, text);
    }
    let plan = state.plan_of(&state.attempts[state.workers[worker].attempt]).id;
    let queries = &mut state.queries;
    queries.deadlines.remove(&(until, query));
    queries.due.remove(&query);
    *queries.spent.entry(plan).or_default() += tokens_spent;
    let asker = queries.askers.get_mut(&worker).expect("it was asked by somebody");
    asker.spent += tokens_spent;
    asker.open.remove(&query);
    asker.ended.push_back(query);
    let row = queries.asked.row(query);
    row.stage = QueryStage::Ended { outcome };
    row.answer = text.into();
    (row.spent, row.saved) = (tokens_spent, tokens_saved);
    row.context = String::new();
    // The path is needed again when the owner answers late.
    if let Some(oracle) = &mut row.oracle {
        let owner_hint_path = oracle.owner_hint_path.take();
        *oracle = OracleAnswer { owner_hint_path, ..OracleAnswer::default() };
    }
    forget(state, worker);
    if let QueryStage::AtOwner { message, .. } = stage {
        state.queries.routed.remove(&message);
        let is_read = state.mail.posted[message].tries_count > 0;
        if is_read && matches!(outcome, QueryOutcome::TimedOut { .. }) {
            state.queries.late.insert(message, query);
        }
        let is_answered = matches!(outcome, QueryOutcome::Answered { .. });
        state.mail.posted.row(message).answered = is_answered;
        message::refresh(state, message);
    }
    asking_changed(state, worker);
}

/// Keeps the last answers of a live worker for repeated calls.
fn forget(state: &mut State, worker: WorkerId) {
    let is_over = state.workers[worker].status.has_ended();
    let queries = &mut state.queries;
    let Some(asker) = queries.askers.get_mut(&worker) else { return };
    let kept_count = if is_over { 0 } else { limits::CALLS_KNOWN_MAX };
    while asker.ended.len() > kept_count {
        let oldest = asker.ended.pop_front().expect("there is one");
        let row = queries.asked.row(oldest);
        row.answer = String::new();
        row.nonce = String::new();
    }
    if is_over && asker.open.is_empty() {
        queries.askers.remove(&worker);
    }
    let Queries { asked, askers, late, .. } = queries;
    asked.forget(limits::QUERIES_REMEMBERED_MAX, |it| {
        let is_listed = askers.get(&it.worker).is_some_and(|asker| asker.ended.contains(&it.id));
        it.has_ended() && !is_listed && !late.values().any(|late| *late == it.id)
    });
}

/// Keeps the answer for later queries, as long as the owner's work is unchanged.
fn keep(state: &mut State, query: QueryId, owner: WorkerId, text: &str) {
    let version = state.version_of(owner);
    let row = &state.queries.asked[query];
    let Some(path) = row.path().map(String::from) else { return };
    let symbol = row.symbol.clone();
    state.queries.said.keep(&symbol, &path, OwnerAnswer { owner, text: text.into(), version });
}

pub fn answered_late(
    state: &mut State,
    query: QueryId,
    owner: WorkerId,
    text: &str,
    tokens_spent: u64,
) {
    keep(state, query, owner, text);
    let worker = state.queries.asked[query].worker;
    let plan = state.plan_of(&state.attempts[state.workers[worker].attempt]).id;
    let queries = &mut state.queries;
    queries.late.retain(|_, it| *it != query);
    *queries.spent.entry(plan).or_default() += tokens_spent;
    if let Some(asker) = queries.askers.get_mut(&worker) {
        asker.spent += tokens_spent;
    }
}

pub fn refresh(state: &mut State, query: QueryId) {
    if state.is_query_due(&state.queries.asked[query]) {
        state.queries.due.insert(query);
    } else {
        state.queries.due.remove(&query);
    }
}

/// The message to the owner has ended, so the query may need another owner.
pub fn message_ended(state: &mut State, message: MessageId) {
    if let Some(query) = state.queries.routed.get(&message).copied() {
        refresh(state, query);
    }
}

/// The turn, the attempt or the worker of the asker has ended.
pub fn asker_changed(state: &mut State, worker: WorkerId) {
    let open = state.queries.askers.get(&worker).into_iter().flat_map(|it| &it.open);
    let open: Vec<QueryId> = open.copied().collect();
    for query in open {
        refresh(state, query);
    }
}

/// The worker asks and answers nothing any more.
pub fn worker_ended(state: &mut State, worker: WorkerId) {
    asker_changed(state, worker);
    forget(state, worker);
    let asked = &state.queries.asked;
    let is_its = |query: &QueryId| asked[*query].owners.last() == Some(&worker);
    state.queries.late.retain(|_, it| !is_its(it));
}
