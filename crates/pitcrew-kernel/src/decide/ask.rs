//! Questions and answers between workers.

use super::{
    ask_query,
    send_message::{can_read, has_room, same_plan},
};
use crate::{
    State,
    message::{self, Draft},
    query,
};
use alloc::{collections::BTreeSet, format, vec, vec::Vec};
use pitcrew_model::{
    Event, Message, MessageId, MessageKind, Party, Rejection, Timestamp, WorkerId, limits,
};

pub fn ask(
    state: &State,
    at: Timestamp,
    from: WorkerId,
    to: WorkerId,
    words: &str,
) -> Result<Vec<Event>, Rejection> {
    same_plan(state, from, to)?;
    let question = Draft::new(Party::Worker(from), Party::Worker(to), MessageKind::Question, words);
    if question.content.is_empty() {
        return Err(Rejection::EmptyMessage);
    }
    let asked = |it: &(MessageId, WorkerId)| {
        it.1 == to && state.mail.posted[it.0].message.content == question.content
    };
    // A repeated call is the same question: the bridge may have lost the answer.
    if state.waits_for(from).any(|it| asked(&it)) {
        return Ok(Vec::new());
    }
    if state.waits_for(from).count() >= limits::QUESTIONS_OPEN_MAX {
        return Err(Rejection::TooManyQuestions { worker: from });
    }
    can_read(state, Party::Worker(to))?;
    has_room(state, Party::Worker(to))?;
    let Some(cycle) = cycle(state, to, from) else {
        return Ok(message::queue(state, at, [question]));
    };
    let (mut drafts, mut events) =
        (question_and_answers(state, &question, from, to, &cycle), Vec::new());
    for (_, asked, waits_for) in &cycle {
        let Some(query) = state.queries.routed.get(asked) else { continue };
        let query = &state.queries.asked[*query];
        let (event, draft) = query::in_a_circle(state, query, *waits_for);
        events.push(event);
        drafts.extend(draft);
    }
    events.extend(message::queue(state, at, drafts));
    Ok(events)
}

/// Returns the question, and an answer to each question of the cycle that it would close.
fn question_and_answers(
    state: &State,
    question: &Draft,
    from: WorkerId,
    to: WorkerId,
    cycle: &[(WorkerId, MessageId, WorkerId)],
) -> Vec<Draft> {
    let words = |waits_for: WorkerId, theirs: &str| {
        format!(
            "No answer will come: you wait for {waits_for}, and it waits for you.\nIts question: \
             {theirs}\nDo not wait. Decide yourself and state your assumption, or ask a person: \
             call the same tool without `to`."
        )
    };
    let own = state.mail.posted.next_id();
    // The asker already waits for a worker whose last question is in the cycle.
    let theirs = |id: MessageId| state.mail.posted[id].message.content.as_str();
    let last = cycle.last().expect("a cycle has a question");
    let mut answer = Draft::new(Party::Orchestrator, Party::Worker(from), MessageKind::Answer, "");
    answer.content = words(to, theirs(last.1));
    answer.reply_to = Some(own);
    let mut drafts = vec![question.clone(), answer];
    for (index, (_, asked, waits_for)) in cycle.iter().enumerate() {
        if state.queries.routed.contains_key(asked) {
            continue;
        }
        let before = index.checked_sub(1).map(|it| theirs(cycle[it].1));
        let words = words(*waits_for, before.unwrap_or(&question.content));
        drafts.push(Draft::answer(state, *asked, &words));
    }
    drafts
}

/// Returns the questions over which `from` waits for `to`, starting with its own.
fn cycle(
    state: &State,
    from: WorkerId,
    to: WorkerId,
) -> Option<Vec<(WorkerId, MessageId, WorkerId)>> {
    let mut seen = BTreeSet::new();
    let mut paths = vec![(from, Vec::new())];
    while let Some((worker, path)) = paths.pop() {
        if worker == to {
            return Some(path);
        }
        if !seen.insert(worker) {
            continue;
        }
        for (question, asked) in state.waits_for(worker) {
            let mut path = path.clone();
            path.push((worker, question, asked));
            paths.push((asked, path));
        }
    }
    None
}

/// A worker answers a question, or a message of a person.
pub fn answer(
    state: &State,
    at: Timestamp,
    from: WorkerId,
    reply_to: Option<MessageId>,
    words: &str,
) -> Result<Vec<Event>, Rejection> {
    let id = reply_to.or_else(|| only_question(state, from)).ok_or(Rejection::NoReplyTo)?;
    let asked = state.mail.posted.get(id).ok_or(Rejection::NoSuchMessage { message: id })?;
    let task = state.attempts[state.workers[from].attempt].task;
    let is_mine = state.mailbox_of(asked.message.to) == Some(task);
    if is_mine && asked.message.kind == MessageKind::Query {
        return ask_query::answer(state, at, from, id, words);
    }
    let waits = match asked.message.from {
        Party::Worker(asker) => state.is_asking(asker, id),
        Party::Person | Party::Client => true,
        Party::Orchestrator | Party::Task(_) => false,
    };
    if !is_mine || !waits {
        return Err(Rejection::NothingToAnswer { message: id });
    }
    let mut draft = Draft::new(Party::Worker(from), asked.message.from, MessageKind::Answer, words);
    draft.reply_to = Some(id);
    if draft.content.is_empty() {
        return Err(Rejection::EmptyMessage);
    }
    Ok(message::queue(state, at, [draft]))
}

/// Returns the only open question, so that a worker with one need not name it.
fn only_question(state: &State, worker: WorkerId) -> Option<MessageId> {
    let is_open = |it: &&Message| {
        it.kind.is_asked()
            && matches!(it.from, Party::Worker(asker) if state.is_asking(asker, it.id))
    };
    let mut questions = message::in_prompt(state, worker).into_iter().filter(is_open);
    questions.next().filter(|_| questions.next().is_none()).map(|it| it.id)
}
