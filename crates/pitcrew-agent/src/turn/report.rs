//! Reports to the orchestrator through the session's tools.

use super::outcome;
use crate::{session::Session, wire::ToolKind};
use pitcrew_model::Claim;
use serde_json::{Map, Value, json};

/// The tools are known only by name, as to any other agent.
pub(super) const COMPLETE_TASK: &str = "orchestrator_complete_task";
pub(super) const NOTIFY: &str = "a2a_notify_orchestrator";

/// Reports the end of the task; false if no tool accepted the report.
///
/// The message has only the first paragraph: the conversation contains the output of commands
/// already.
pub(super) async fn complete(session: &Session, claim: Claim, summary: &str) -> bool {
    let arguments = json!({ "summary": summary, "outcome": outcome(claim) });
    let title = format!("report {}: {}", outcome(claim), first_line(summary));
    let words = summary.split("\n\n").next().unwrap_or_default();
    call(session, COMPLETE_TASK, &title, arguments, words).await
}

pub(super) async fn fail(session: &Session, reason: &str) -> bool {
    complete(session, Claim::Failed, reason).await
}

/// Asks a person; false if no tool accepted the question.
pub(super) async fn ask(session: &Session, question: &str) -> bool {
    let arguments = json!({ "kind": "question", "message": question });
    let title = format!("ask: {}", first_line(question));
    call(session, NOTIFY, &title, arguments, question).await
}

/// Calls a tool; `words` are the agent's message if it succeeds.
async fn call(
    session: &Session,
    tool: &'static str,
    title: &str,
    arguments: Value,
    words: &str,
) -> bool {
    let doing = session.reporter.begin(ToolKind::Other, title, None, arguments.clone());
    let arguments = match arguments {
        Value::Object(arguments) => arguments,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Map::new()
        }
    };
    match session.call(tool, arguments).await {
        Ok(answer) => {
            session.reporter.done(&doing, &answer.text);
            session.reporter.say(words);
            true
        }
        Err(refusal) => {
            let reason = refusal.text;
            session.reporter.failed(&doing, &reason);
            session.reporter.say(&format!("`{tool}` was refused: {reason}\n\n{words}"));
            false
        }
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
