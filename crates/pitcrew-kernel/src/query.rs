//! Queries about code outside a worker's region: who answers, and what the asker gets.
//!
//! First the index, which is free; then the worker that owns the code, between two of its turns and
//! for a few tokens; otherwise "not found" with the nearest names.

mod owners;

use crate::{
    State,
    decide::{auto_answer, send_message},
    evolve::spent_on_last,
    message::{self, Draft},
    state::{Process, Query, QueryStage},
};
use alloc::{format, string::String, vec, vec::Vec};
use pitcrew_model::{
    Event, MessageKind, OracleAnswer, Party, Priority, QueryBudget, QueryOutcome, QueryOwner,
    QueryVia, Timestamp, WorkerId, about_tokens, limits, text,
};

/// Returns the events of a query that needs a decision.
pub fn next(state: &State, now: Timestamp, it: &Query) -> Vec<Event> {
    if state.is_query_lost(it) {
        return deliver(state, now, end(state, it, QueryOutcome::Withdrawn, String::new(), 0));
    }
    match (&it.oracle, it.via) {
        (Some(OracleAnswer { found: true, text, bytes_saved, .. }), _) => {
            let text = text::cut(text, limits::QUERY_TEXT_BYTES_MAX).into();
            let (mut event, draft) = end(state, it, QueryOutcome::Indexed, text, 0);
            if let Event::QueryEnded { tokens_saved, .. } = &mut event {
                *tokens_saved = about_tokens(*bytes_saved);
            }
            deliver(state, now, (event, draft))
        }
        // A refused read needs no more than the index, and disturbs no worker.
        (_, QueryVia::Read) => deliver(state, now, not_found(state, it)),
        (_, QueryVia::Question) => ask_person(state, now, it, QueryOutcome::NotFound),
        (_, QueryVia::Tool | QueryVia::Need) => match waiting_owner(state, it) {
            Some(owner) => deliver(state, now, in_a_circle(state, it, owner)),
            None => ask_owner(state, now, it),
        },
    }
}

/// The index does not know the symbol, so a person gets the agent's question.
fn ask_person(state: &State, now: Timestamp, it: &Query, outcome: QueryOutcome) -> Vec<Event> {
    let worker = &state.workers[it.worker];
    if worker.requests_count >= limits::REQUESTS_PER_WORKER_MAX {
        let text =
            format!("{}{} You have sent too many questions to people.", missing(it), nearest(it));
        return deliver(state, now, end(state, it, outcome, text, 0));
    }
    let text = format!("{}{}", missing(it), nearest(it));
    let (ended, _) = end(state, it, outcome, text, 0);
    // The asker cannot read the answer any more.
    if worker.process != Process::Alive {
        return vec![ended];
    }
    vec![
        ended,
        auto_answer::open_question(state, &state.attempts[worker.attempt], it.context.clone()),
    ]
}

/// Returns the current owner if it has begun to wait for the asker.
fn waiting_owner(state: &State, it: &Query) -> Option<WorkerId> {
    let QueryStage::AtOwner { owner, message } = it.stage else { return None };
    let is_read = state.mail.posted[message].status.has_ended();
    (!is_read && state.is_waiting_for(owner, it.worker)).then_some(owner)
}

/// Asks the next live owner of the likely path, if there is one.
fn ask_owner(state: &State, now: Timestamp, it: &Query) -> Vec<Event> {
    let Some(path) = it.path() else { return deliver(state, now, not_found(state, it)) };
    if let Some(saying) = state.said(&it.symbol, path).filter(|said| said.owner != it.worker) {
        let outcome = QueryOutcome::Cached { owner: saying.owner };
        return deliver(state, now, end(state, it, outcome, saying.text.clone(), 0));
    }
    let owners = owners::of(state, it, path);
    if let Some(owner) = owners.iter().find_map(owners::Owner::to_be_asked) {
        let spent = spent_on_last(state, it.id);
        return match over_budget(state, it, spent) {
            Some(budget) => {
                let (outcome, text) =
                    (QueryOutcome::OverBudget { budget }, over(state, it, budget));
                deliver(state, now, end(state, it, outcome, text, 0))
            }
            None => put_to(state, now, it, owner),
        };
    }
    let Some(owner) = owners.first() else { return deliver(state, now, not_found(state, it)) };
    let outcome = QueryOutcome::NotAvailable { owner: owner.who };
    let text = format!("{} {}.{}", not_available(owner.who), owner.why(), nearest(it));
    deliver(state, now, end(state, it, outcome, text, 0))
}

fn put_to(state: &State, now: Timestamp, it: &Query, owner: WorkerId) -> Vec<Event> {
    let message = state.mail.posted.next_id();
    let (from, to) = (Party::Worker(it.worker), Party::Worker(owner));
    let draft = Draft::new(from, to, MessageKind::Query, &it.question());
    let mut events = vec![Event::QueryRouted { query: it.id, worker: it.worker, owner, message }];
    events.extend(message::queue(state, now, [draft]));
    events
}

/// Returns the budget that another owner would exceed.
fn over_budget(state: &State, it: &Query, spent: u64) -> Option<QueryBudget> {
    let (worker, plan) = state.query_tokens_left(it.worker);
    // The reservation for the current owner is free for the next.
    let own = it.reserved().saturating_sub(it.spent);
    let wanted = spent + it.asking_tokens_max();
    if worker + own < wanted {
        Some(QueryBudget::Worker)
    } else if plan + own < wanted {
        Some(QueryBudget::Plan)
    } else {
        None
    }
}

/// The owner has answered.
pub fn answered(
    state: &State,
    now: Timestamp,
    it: &Query,
    owner: WorkerId,
    words: &str,
) -> Vec<Event> {
    deliver(state, now, answer(state, it, QueryOutcome::Answered { owner }, words))
}

/// The owner's turn ended without an answer. Its last text may contain one.
pub fn overheard(
    state: &State,
    it: &Query,
    owner: WorkerId,
    last_words: &str,
) -> Option<(Event, Option<Draft>)> {
    let words = text::tail(last_words.trim(), limits::QUERY_ANSWER_BYTES_MAX);
    let outcome = QueryOutcome::Overheard { owner };
    (!words.is_empty()).then(|| answer(state, it, outcome, words))
}

fn answer(state: &State, it: &Query, outcome: QueryOutcome, words: &str) -> (Event, Option<Draft>) {
    let words = text::cut(words, limits::QUERY_ANSWER_BYTES_MAX);
    let tokens = about_tokens(words.len() as u64);
    end(state, it, outcome, words.into(), tokens)
}

/// The owner answers after the end of the query: the asker gets a message, and the answer is kept.
/// Nothing happens if the budgets do not allow it.
pub fn late(
    state: &State,
    now: Timestamp,
    it: &Query,
    owner: WorkerId,
    words: &str,
) -> Option<Vec<Event>> {
    let (worker, plan) = state.query_tokens_left(it.worker);
    let bytes_left = worker.min(plan).saturating_mul(4);
    let room = usize::try_from(bytes_left).unwrap_or(usize::MAX);
    let words = text::cut(words, limits::QUERY_ANSWER_BYTES_MAX.min(room));
    if words.is_empty() {
        return None;
    }
    let (query, worker, text) = (it.id, it.worker, words.into());
    let tokens_spent = about_tokens(words.len() as u64);
    let mut events = vec![Event::QueryAnsweredLate { query, worker, owner, text, tokens_spent }];
    let (from, to) = (Party::Worker(owner), Party::Worker(worker));
    if send_message::can_read(state, to).is_ok() {
        let content = format!("Late answer to your query for `{}`: {words}", it.symbol);
        let draft = Draft::new(from, to, MessageKind::Update, &content);
        events.extend(message::queue(state, now, [draft]));
    }
    Some(events)
}

/// The query has timed out. Both sides are informed.
pub fn time_out(state: &State, now: Timestamp, it: &Query) -> Vec<Event> {
    let seconds = state.queries.limits.deadline_ms.div_ceil(1_000);
    let QueryStage::AtOwner { owner, message } = it.stage else {
        let outcome = QueryOutcome::TimedOut { owner: None };
        if it.via == QueryVia::Question {
            return ask_person(state, now, it, outcome);
        }
        let text = format!("The index did not answer within {seconds} seconds.");
        return deliver(state, now, end(state, it, outcome, text, 0));
    };
    let is_read = state.mail.posted[message].tries_count > 0;
    // An unread question is withdrawn.
    let later = if is_read { "; you get a late answer as a message" } else { "" };
    let text = format!(
        "{} It did not answer within {seconds} seconds{later}.{}",
        not_available(QueryOwner::Worker(owner)),
        nearest(it)
    );
    let outcome = QueryOutcome::TimedOut { owner: Some(owner) };
    let (event, draft) = end(state, it, outcome, text, 0);
    let to = Party::Worker(owner);
    let word = (is_read && send_message::can_read(state, to).is_ok()).then(|| {
        let words = format!(
            "{} continued without your answer to {message}. If you know the answer, send it anyway: \
             it is kept for later queries.",
            it.worker
        );
        let mut draft = Draft::new(Party::Orchestrator, to, MessageKind::Update, &words);
        draft.priority = Some(Priority::Low);
        draft
    });
    let mut events = vec![event];
    events.extend(message::queue(state, now, draft.into_iter().chain(word)));
    events
}

/// The owner waits for the asker, so no answer can come.
pub fn in_a_circle(state: &State, it: &Query, owner: WorkerId) -> (Event, Option<Draft>) {
    let owner = QueryOwner::Worker(owner);
    let text = format!("{} It waits for you.{}", not_available(owner), nearest(it));
    end(state, it, QueryOutcome::NotAvailable { owner }, text, 0)
}

fn not_found(state: &State, it: &Query) -> (Event, Option<Draft>) {
    let text = format!("{}{}", missing(it), nearest(it));
    end(state, it, QueryOutcome::NotFound, text, 0)
}

fn missing(it: &Query) -> String {
    format!("Symbol '{}' not found in workspace symbol tree or active agents.", it.symbol)
}

fn not_available(owner: QueryOwner) -> String {
    format!("Agent {owner} not available for cross-region query.")
}

fn over(state: &State, it: &Query, budget: QueryBudget) -> String {
    let limits = &state.queries.limits;
    let (whose, tokens) = match budget {
        QueryBudget::Worker => ("one worker", limits.worker_tokens),
        QueryBudget::Plan => ("a plan", limits.plan_tokens),
    };
    format!(
        "{} Its owner was not asked: the {tokens} tokens that the questions of {whose} may cost \
         are used up.{}",
        missing(it),
        nearest(it)
    )
}

/// What the index says where it does not know the name: the nearest names, then the files that
/// are not indexed.
fn nearest(it: &Query) -> String {
    let Some(oracle) = &it.oracle else { return String::new() };
    let mut lines = String::new();
    if !oracle.nearest.is_empty() {
        lines = format!("\nNearest names: {}.", oracle.nearest.join(", "));
    }
    let text = text::cut(oracle.text.trim_end(), limits::QUERY_TEXT_BYTES_MAX);
    if !oracle.found && !text.is_empty() {
        lines.push('\n');
        lines.push_str(text);
    }
    lines
}

/// Ends a query, and writes the answer for the next prompt if its asker waits for that.
fn end(
    state: &State,
    it: &Query,
    outcome: QueryOutcome,
    text: String,
    answer_tokens: u64,
) -> (Event, Option<Draft>) {
    let to = Party::Worker(it.worker);
    let is_told = matches!(it.via, QueryVia::Need | QueryVia::Question)
        && outcome != QueryOutcome::Withdrawn
        && send_message::can_read(state, to).is_ok();
    let draft = is_told.then(|| {
        let words = if it.via == QueryVia::Question && outcome.is_answer() {
            format!(
                "You asked: {}\nThe index of the code answers:\n{text}\nIf that is not what you \
                 wanted to know, ask again in the same words: then a person is asked.",
                it.context
            )
        } else if outcome.is_answer() {
            format!(
                "Here is the information you requested:\n{text}\nContinue with your implementation."
            )
        } else {
            format!(
                "About `{}`, which you need: {text}\nContinue with your implementation, and say \
                 what you assumed.",
                it.symbol
            )
        };
        Draft::new(Party::Orchestrator, to, MessageKind::Answer, &words)
    });
    let event = Event::QueryEnded {
        query: it.id,
        worker: it.worker,
        outcome,
        text,
        tokens_spent: it.spent + spent_on_last(state, it.id) + answer_tokens,
        tokens_saved: 0,
    };
    (event, draft)
}

fn deliver(state: &State, now: Timestamp, (event, draft): (Event, Option<Draft>)) -> Vec<Event> {
    let mut events = vec![event];
    events.extend(message::queue(state, now, draft));
    events
}
