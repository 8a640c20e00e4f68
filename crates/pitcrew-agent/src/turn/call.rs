//! Steps that call a tool of the session, and those that use its answer.

use super::{files, step::Stop};
use crate::{
    script::{Answer, Memory, Wanted},
    session::Session,
    wire::ToolKind,
};
use pitcrew_model::{limits, text};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

/// Calls a tool and remembers its answer. A call that is cancelled is made again by the next prompt.
pub(super) async fn tool(
    session: &Session,
    name: &str,
    arguments: &Map<String, Value>,
    wanted: Wanted,
    memory: &mut Memory,
    cancel: &CancellationToken,
) -> Result<(), Stop> {
    let arguments = memory.fill_arguments(arguments);
    let input = Value::Object(arguments.clone());
    let doing = session.teller.begin(ToolKind::Other, &format!("call {name}"), None, input);
    let answer = tokio::select! {
        answer = session.call(name, arguments) => answer,
        () = cancel.cancelled() => {
            session.teller.failed(&doing, "cancelled");
            return Err(Stop::Cancelled);
        }
    };
    match &answer {
        Ok(answer) => session.teller.done(&doing, &answer.text),
        Err(refusal) => session.teller.failed(&doing, &refusal.text),
    }
    let judged = match (&answer, wanted) {
        (Ok(_), Wanted::Answer) | (Err(_), Wanted::Refusal) => Ok(()),
        (Err(refusal), Wanted::Answer) => Err(format!("`{name}` was refused: {}", shown(refusal))),
        (Ok(answer), Wanted::Refusal) => {
            Err(format!("`{name}` was to be refused and said: {}", shown(answer)))
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
    Err(format!("the answer does not have `{wanted}`: {}", shown(answer)))
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
