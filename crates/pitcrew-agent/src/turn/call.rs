//! Steps that call a tool of the session or use its answer.

use super::{files, step::Stop};
use crate::{
    script::{Answer, ExpectedResult, Memory},
    session::Session,
    wire::ToolKind,
};
use pitcrew_model::{limits, text};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

/// Calls a tool and remembers its answer. A cancelled call is repeated at the next prompt.
pub(super) async fn tool(
    session: &Session,
    name: &str,
    arguments: &Map<String, Value>,
    wanted: ExpectedResult,
    memory: &mut Memory,
    cancel: &CancellationToken,
) -> Result<(), Stop> {
    let arguments = memory.fill_arguments(arguments);
    let input = Value::Object(arguments.clone());
    let doing = session.reporter.begin(ToolKind::Other, &format!("call {name}"), None, input);
    let answer = tokio::select! {
        answer = session.call(name, arguments) => answer,
        () = cancel.cancelled() => {
            session.reporter.failed(&doing, "cancelled");
            return Err(Stop::Cancelled);
        }
    };
    match &answer {
        Ok(answer) => session.reporter.done(&doing, &answer.text),
        Err(refusal) => session.reporter.failed(&doing, &refusal.text),
    }
    let judged = match (&answer, wanted) {
        (Ok(_), ExpectedResult::Answer) | (Err(_), ExpectedResult::Refusal) => Ok(()),
        (Err(refusal), ExpectedResult::Answer) => {
            Err(format!("`{name}` was refused: {}", shown(refusal)))
        }
        (Ok(answer), ExpectedResult::Refusal) => {
            Err(format!("expected `{name}` to be refused, but it returned: {}", shown(answer)))
        }
    };
    memory.answer = Some(answer.unwrap_or_else(|refusal| refusal));
    judged.map_err(Stop::Failed)
}

pub(super) fn expect(memory: &Memory, wanted: &str) -> Result<(), String> {
    let answer = answered(memory)?;
    let wanted = memory.fill(wanted);
    if answer.whole().contains(&wanted) {
        return Ok(());
    }
    Err(format!("the answer does not contain `{wanted}`: {}", shown(answer)))
}

pub(super) fn keep(memory: &mut Memory, name: &str, pointer: &str) -> Result<(), String> {
    let answer = answered(memory)?;
    let Some(value) = answer.part(pointer) else {
        return Err(format!("the answer has nothing at `{pointer}`: {}", shown(answer)));
    };
    memory.keep(name, value);
    Ok(())
}

pub(super) fn save(session: &Session, memory: &Memory, path: &str) -> Result<(), String> {
    let whole = answered(memory)?.whole();
    files::write(session, path, &whole)
}

fn answered(memory: &Memory) -> Result<&Answer, String> {
    let missing = "no tool was called yet; write `tool NAME {...}` before it";
    memory.answer.as_ref().ok_or_else(|| missing.to_owned())
}

fn shown(answer: &Answer) -> String {
    text::cut(answer.whole().trim_end(), limits::OUTPUT_TAIL_BYTES).to_owned()
}
