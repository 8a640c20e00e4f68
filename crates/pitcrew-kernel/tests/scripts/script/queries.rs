//! `query attempt-1 AuthValidator use core::auth`, `need attempt-1 AuthValidator`, and how the index
//! answers: `indexed query-1 400 struct AuthValidator`, `unknown query-1 core/auth.rs near=AuthValid`.

use super::{Script, plan::milliseconds};
use pitcrew_model::{
    Actor, AttemptId, Command, Effect, EffectResult, InputBody, OracleAnswer, QueryId, QueryLimits,
    QueryVia,
};

pub fn of_worker(verb: &str, subject: &str, words: &str) -> Option<Command> {
    let via = match verb {
        "query" => QueryVia::Tool,
        "need" => QueryVia::Need,
        "reads" => QueryVia::Read,
        _ => return None,
    };
    let attempt: AttemptId = subject.parse().ok()?;
    // The same text is the same query, unless it ends with `again`.
    let (words, again) = words.strip_suffix(" again").map_or((words, ""), |it| (it, "2"));
    let (symbol, context) = words.split_once(' ').unwrap_or((words, ""));
    Some(Command::AskQuery {
        attempt,
        nonce: format!("{verb} {words}{again}"),
        symbol: symbol.into(),
        context: context.into(),
        via,
    })
}

/// `100 1000 5s`: tokens for a worker, tokens for a plan, and the time.
pub fn limits(words: &str) -> Command {
    let mut words = words.split_whitespace();
    let mut next = || words.next().expect("three limits");
    let tokens = |it: &str| it.parse().expect("a number");
    let limits = QueryLimits {
        worker_tokens: tokens(next()),
        plan_tokens: tokens(next()),
        deadline_ms: milliseconds(next()),
    };
    Command::ApplyQueryLimits { limits }
}

pub fn for_query(
    script: &Script,
    verb: &str,
    query: QueryId,
    words: &str,
) -> Option<(Actor, InputBody)> {
    let consult =
        |it: &Effect| matches!(it, Effect::ConsultOracle { query: of, .. } if *of == query);
    let answer = match verb {
        "indexed" => {
            let (bytes, text) = words.split_once(' ').expect("a size and a text");
            OracleAnswer {
                found: true,
                text: text.into(),
                bytes_saved: bytes.parse().expect("a number"),
                digest: Some("5f3a".into()),
                ..OracleAnswer::default()
            }
        }
        "unknown" => {
            let mut answer = OracleAnswer::default();
            for word in words.split_whitespace() {
                match word.split_once('=') {
                    Some(("near", name)) => answer.nearest.push(name.into()),
                    Some(("skipped", path)) => answer.text = format!("Not indexed: {path}\n"),
                    Some(_) | None => answer.owner_hint_path = Some(word.into()),
                }
            }
            answer
        }
        _ => return None,
    };
    Some(Script::ended(script.effect(consult), EffectResult::OracleAnswered { query, answer }))
}
