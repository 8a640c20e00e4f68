//! Queries: samples of all their events and values.

use crate::{
    golden,
    values::{ATTEMPT, MESSAGE, PLAN, TASK, WORKER, path, strings},
};
use pitcrew_model::{
    Command, Effect, EffectResult, Event, OracleAnswer, QueryBudget, QueryId, QueryLimits,
    QueryOutcome, QueryOwner, QueryVia, Timestamp, WorkerId,
};

const QUERY: QueryId = QueryId(9);
const OWNER: WorkerId = WorkerId(13);

fn limits() -> QueryLimits {
    QueryLimits { worker_tokens: 2_000, plan_tokens: 20_000, deadline_ms: 60_000 }
}

pub fn commands() -> Vec<Command> {
    let ask = |via| Command::AskQuery {
        attempt: ATTEMPT,
        nonce: "a1".into(),
        symbol: "AuthValidator".into(),
        context: "use core::auth::AuthValidator;".into(),
        via,
    };
    vec![ask(QueryVia::Tool), ask(QueryVia::Need), Command::ApplyQueryLimits { limits: limits() }]
}

pub fn effects() -> Vec<Effect> {
    let consult = |region| Effect::ConsultOracle {
        query: QUERY,
        attempt: ATTEMPT,
        path: "/checkouts/task-392".into(),
        symbol: "AuthValidator".into(),
        context: "use core::auth::AuthValidator;".into(),
        region,
    };
    vec![consult(vec![path("ui")]), consult(Vec::new())]
}

pub fn results() -> Vec<EffectResult> {
    let found = OracleAnswer {
        found: true,
        text: "struct AuthValidator (core/auth.rs:3-9)\npub struct AuthValidator".into(),
        bytes_saved: 4_096,
        digest: Some("5f3a".into()),
        nearest: Vec::new(),
        owner_hint_path: Some("core/auth.rs".into()),
    };
    let missing = OracleAnswer {
        nearest: strings(&["AuthValidator"]),
        owner_hint_path: Some("core/auth.rs".into()),
        ..OracleAnswer::default()
    };
    let answered = |answer| EffectResult::OracleAnswered { query: QUERY, answer };
    vec![answered(found), answered(missing), answered(OracleAnswer::default())]
}

pub fn events() -> Vec<Event> {
    let asked = |via| Event::QueryAsked {
        query: QUERY,
        worker: WORKER,
        symbol: "AuthValidator".into(),
        context: "core/auth.rs".into(),
        via,
        until: Timestamp(61_000),
        nonce: "a1".into(),
    };
    let ended = |outcome| Event::QueryEnded {
        query: QUERY,
        worker: WORKER,
        outcome,
        text: "pub struct AuthValidator".into(),
        tokens_spent: 60,
        tokens_saved: 1_024,
    };
    let text = "pub struct AuthValidator".to_owned();
    let mut events = vec![
        Event::QueryLimitsApplied { limits: limits() },
        asked(QueryVia::Tool),
        asked(QueryVia::Read),
        Event::QueryRouted { query: QUERY, worker: WORKER, owner: OWNER, message: MESSAGE },
        Event::QueryAnsweredLate {
            query: QUERY,
            worker: WORKER,
            owner: OWNER,
            text,
            tokens_spent: 6,
        },
    ];
    events.extend(outcomes().into_iter().map(ended));
    events.push(asked(QueryVia::Question));
    events
}

fn outcomes() -> Vec<QueryOutcome> {
    vec![
        QueryOutcome::Indexed,
        QueryOutcome::Cached { owner: OWNER },
        QueryOutcome::Answered { owner: OWNER },
        QueryOutcome::Overheard { owner: OWNER },
        QueryOutcome::NotFound,
        QueryOutcome::NotAvailable { owner: QueryOwner::Worker(OWNER) },
        QueryOutcome::NotAvailable { owner: QueryOwner::Task(TASK) },
        QueryOutcome::OverBudget { budget: QueryBudget::Plan },
        QueryOutcome::TimedOut { owner: Some(OWNER) },
        QueryOutcome::TimedOut { owner: None },
        QueryOutcome::Withdrawn,
    ]
}

golden!(
    outcomes_of_queries_are_stored_as_ever,
    QueryOutcome,
    "query_outcome.ndjson",
    outcomes(),
    [Indexed, Cached, Answered, Overheard, NotFound, NotAvailable, OverBudget, TimedOut, Withdrawn,]
);

golden!(
    owners_of_code_are_stored_as_ever,
    QueryOwner,
    "query_owner.ndjson",
    vec![QueryOwner::Worker(OWNER), QueryOwner::Task(TASK)],
    [Worker, Task]
);

/// None of these contains the plan: a worker belongs to one plan.
#[test]
fn a_query_prints_as_it_is_read() {
    assert_eq!(QUERY.to_string(), "query-9");
    assert_eq!("query-9".parse(), Ok(QUERY));
    assert!(PLAN.to_string().parse::<QueryId>().is_err());
}
