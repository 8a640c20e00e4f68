//! Answers a worker's question without a person if possible: from the matrix, or from the index.
//!
//! Only a question of a clear form is answered. A person who misses a question is worse than a
//! person who gets one too many.

use super::{
    ask_query::{self, Ask},
    send_message::has_room,
};
use crate::{
    State,
    message::{self, Draft},
    permit::{self, Judgment},
    state::Attempt,
};
use alloc::{format, string::String, vec, vec::Vec};
use pitcrew_model::{
    Event, MessageKind, Party, QueryVia, Rejection, RequestId, RequestKind, Rule, Timestamp,
    limits, text,
};

/// Prefixes of questions for permission to run a command.
const PERMISSION_PREFIXES: [&str; 6] = [
    "may i run `",
    "may i execute `",
    "can i run `",
    "can i execute `",
    "am i allowed to run `",
    "is it ok to run `",
];

/// Prefixes of questions for a fact.
const FACTS: [&str; 4] = ["what ", "which ", "where ", "how is "];

/// Words for properties that the index knows.
const KNOWN: [&str; 11] = [
    "argument",
    "declared",
    "declaration",
    "defined",
    "definition",
    "field",
    "member",
    "method",
    "parameter",
    "signature",
    "variant",
];

pub fn decide(
    state: &State,
    at: Timestamp,
    it: &Attempt,
    words: &str,
) -> Result<Vec<Event>, Rejection> {
    let question: String = text::cut(words, limits::SUMMARY_BYTES_MAX).into();
    let asked = |request: &&RequestId| {
        state.requests[**request].kind == RequestKind::Question { question: question.clone() }
    };
    let worker = &state.workers[it.worker];
    // A repeated call is the same question: the bridge may have lost the answer.
    if worker.requests.iter().any(|it| asked(&it)) {
        return Ok(Vec::new());
    }
    if let Some(events) = answer_from_matrix(state, at, it, &question) {
        return events;
    }
    if let Some(events) = ask_index(state, at, it, &question) {
        return Ok(events);
    }
    if worker.requests_count >= limits::REQUESTS_PER_WORKER_MAX {
        return Err(Rejection::TooManyRequests { worker: it.worker });
    }
    Ok(vec![open_question(state, it, question)])
}

/// Opens a request to a person on behalf of an attempt.
pub fn open_question(state: &State, it: &Attempt, question: String) -> Event {
    Event::RequestOpened {
        request: state.requests.next_id(),
        plan: state.tasks[it.task].plan,
        task: Some(it.task),
        worker: Some(it.worker),
        kind: RequestKind::Question { question },
    }
}

/// Answers from the matrix. A command that the matrix would ask about goes to a person.
fn answer_from_matrix(
    state: &State,
    at: Timestamp,
    it: &Attempt,
    question: &str,
) -> Option<Result<Vec<Event>, Rejection>> {
    let asks = begins_with(question, &PERMISSION_PREFIXES);
    let command = only_quoted(question).filter(|_| asks)?;
    let tool = permit::command(command, command);
    let Judgment { rule, action, .. } = state.judge(it.task, &tool);
    let why = action.as_ref().map(|it| state.matrix.source(it).denies(it)).unwrap_or_default();
    let action = action.map(|it| format!(" ({it})")).unwrap_or_default();
    let answer = match rule {
        Rule::AskUser => return None,
        Rule::AutoApprove => format!("Yes, you may run `{command}`{action}."),
        Rule::AutoDeny => format!(
            "No, `{command}` is not for you: {why}. Find another way, or complete your task and \
             say what is missing."
        ),
    };
    let mailbox = state.mailbox(it.worker);
    let is_on_its_way = |it| state.mail.posted[it].message.content == answer;
    if mailbox.is_some_and(|it| it.queued().any(is_on_its_way)) {
        return Some(Ok(Vec::new()));
    }
    let to = Party::Worker(it.worker);
    if let Err(full) = has_room(state, to) {
        return Some(Err(full));
    }
    let mut draft = Draft::new(Party::Orchestrator, to, MessageKind::Answer, &answer);
    draft.key = Some(format!("{}: {question}", it.worker));
    // A repeated question goes to a person.
    let events = message::queue(state, at, [draft]);
    (!events.is_empty()).then_some(Ok(events))
}

/// Asks the index. A repeated question goes to a person.
fn ask_index(state: &State, at: Timestamp, it: &Attempt, question: &str) -> Option<Vec<Event>> {
    let lower = question.to_lowercase();
    let asks = begins_with(question, &FACTS) && KNOWN.iter().any(|it| lower.contains(it));
    let symbol = only_quoted(question).filter(|it| asks && is_name(it))?;
    if question.len() > limits::QUERY_CONTEXT_BYTES_MAX || question.contains('\n') {
        return None;
    }
    let nonce = format!("question: {question}");
    let nonce = text::cut(&nonce, limits::NAME_BYTES_MAX);
    if let Some(known) = state.query_named(it.worker, nonce) {
        return (!known.has_ended()).then(Vec::new);
    }
    let ask = Ask { nonce, symbol, context: question, via: QueryVia::Question };
    ask_query::decide(state, at, it.id, &ask).ok().filter(|it| !it.is_empty())
}

fn begins_with(question: &str, beginnings: &[&str]) -> bool {
    let question = question.trim_start();
    beginnings.iter().any(|it| question.get(..it.len()).is_some_and(|b| b.eq_ignore_ascii_case(it)))
}

/// Returns the text in backquotes, if there is exactly one.
fn only_quoted(question: &str) -> Option<&str> {
    let parts: Vec<&str> = question.split('`').collect();
    match parts[..] {
        [_, quoted, _] if !quoted.trim().is_empty() => Some(quoted.trim()),
        _ => None,
    }
}

fn is_name(words: &str) -> bool {
    words.chars().all(|it| it.is_alphanumeric() || "_:./#-".contains(it))
}
