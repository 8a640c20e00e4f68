//! Questions about other workers' code. The call waits for the kernel's answer.

use super::{Calling, Refused, quoted::Tag, subtask};
use pitcrew_mcp::ToolAnswer;
use pitcrew_model::{Command, QueryOutcome, QueryVia, Rejection};
use pitcrew_runtime::{QueryAnswer, QueryState};
use serde_json::{Map, json};

pub async fn ask(
    calling: &Calling<'_>,
    symbol: &str,
    context: &str,
) -> Result<ToolAnswer, Refused> {
    let (attempt, nonce) = (subtask::attempt(calling)?, subtask::call(calling)?);
    let handle = calling.doors.orchestrator.handle();
    // The question is identified by its nonce, even after a restart: a repeated call finds it.
    let order = Command::AskQuery {
        attempt,
        nonce: nonce.clone(),
        symbol: symbol.to_owned(),
        context: context.to_owned(),
        via: QueryVia::Tool,
    };
    handle.command(calling.caller.actor(), order).await?;
    let mut changes = handle.changes();
    loop {
        changes.borrow_and_update();
        match handle.query(attempt, nonce.clone()).await {
            Some(QueryState::Open) => subtask::changed(calling, &mut changes).await?,
            Some(QueryState::Ended(told)) => return answer(told),
            Some(QueryState::Unknown) => {
                return Err(Refused::Rejected("the answer has expired; call again".into()));
            }
            None => return Err(Rejection::ShuttingDown.into()),
        }
    }
}

fn answer(told: QueryAnswer) -> Result<ToolAnswer, Refused> {
    let QueryAnswer { query, outcome, text, tokens_spent, tokens_saved } = told;
    let (word, owner) = match outcome {
        QueryOutcome::Indexed => ("indexed", None),
        QueryOutcome::Cached { owner } => ("cached", Some(owner.to_string())),
        QueryOutcome::Answered { owner } => ("answered", Some(owner.to_string())),
        QueryOutcome::Overheard { owner } => ("overheard", Some(owner.to_string())),
        QueryOutcome::NotFound => ("not_found", None),
        QueryOutcome::NotAvailable { owner } => ("not_available", Some(owner.to_string())),
        QueryOutcome::OverBudget { .. } => ("over_budget", None),
        QueryOutcome::TimedOut { owner } => ("timed_out", owner.map(|it| it.to_string())),
        QueryOutcome::Withdrawn => ("withdrawn", None),
    };
    let structured = Map::from_iter([
        ("found".to_owned(), json!(outcome.is_answer())),
        ("query".to_owned(), json!(query)),
        ("answer".to_owned(), json!(text)),
        ("outcome".to_owned(), json!(word)),
        ("owner".to_owned(), json!(owner)),
        ("tokens_spent".to_owned(), json!(tokens_spent)),
        ("tokens_saved".to_owned(), json!(tokens_saved)),
    ]);
    let text = match outcome {
        QueryOutcome::Cached { owner } | QueryOutcome::Answered { owner } => {
            said(&format!("worker=\"{owner}\""), &text)?
        }
        QueryOutcome::Overheard { owner } => {
            let about = format!("worker=\"{owner}\" kind=\"end of its last turn, not an answer\"");
            said(&about, &text)?
        }
        QueryOutcome::Indexed
        | QueryOutcome::NotFound
        | QueryOutcome::NotAvailable { .. }
        | QueryOutcome::OverBudget { .. }
        | QueryOutcome::TimedOut { .. }
        | QueryOutcome::Withdrawn => text,
    };
    Ok(ToolAnswer::new(text, structured))
}

/// The owner's text, quoted.
fn said(about: &str, words: &str) -> Result<String, Refused> {
    let tag = Tag::new()?;
    Ok(tag.notice() + &tag.block(about, words))
}
