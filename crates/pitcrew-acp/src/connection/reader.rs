//! Reads what the agent says, and files it where it is waited for.

use super::{Ask, Connection, State, lost};
use crate::{
    events::Permission,
    frame::{self, Incoming, NoFrame, RpcError, number, take},
    plain,
    schema::{
        ContentBlock, PermissionOption, PermissionOptionKind, SessionUpdate, ToolCall,
        ToolCallStatus, ToolCallUpdate,
    },
    tool_use::tool_use,
};
use pitcrew_model::limits;
use pitcrew_process::{ShimEvent, ShimEvents};
use serde_json::Value;
use std::sync::Arc;
use tokio::sync::mpsc;

const NOTE_BYTES_MAX: usize = 200;
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
/// Options of one request that can be chosen.
pub(crate) const OPTIONS_MAX: usize = 16;
/// An id goes back as it came, so a longer one is left out, not cut.
pub(crate) const OPTION_ID_BYTES_MAX: usize = 256;

/// Reads the agent's frames until its process tree is gone.
pub(crate) async fn read(
    connection: Arc<Connection>,
    mut events: ShimEvents,
    permissions: mpsc::Sender<Permission>,
) {
    loop {
        match events.next().await {
            Some(ShimEvent::Frame { offset, line }) => {
                connection.take_line(offset, &line, &permissions).await;
            }
            Some(ShimEvent::Sent { .. }) => {}
            Some(ShimEvent::Garbage { reason, .. }) => connection.count_garbage(&reason).await,
            Some(ShimEvent::Exited(exit)) => return connection.end(exit),
            None => return connection.end(lost()),
        }
    }
}

impl Connection {
    async fn take_line(&self, offset: u64, line: &str, permissions: &mpsc::Sender<Permission>) {
        if line.trim().is_empty() || self.state().broken.is_some() {
            return;
        }
        match Incoming::parse(line) {
            Ok(Incoming::Answer { id, result }) => self.take_answer(id, result),
            Ok(Incoming::Notification { method, params }) => {
                if method == "session/update" {
                    self.take_update(params);
                }
            }
            Ok(Incoming::Request { id, method, params }) => {
                let asked = method == "session/request_permission";
                if !asked {
                    let refusal = format!("the client has no method `{method}`");
                    let frame = frame::refusal(&id, METHOD_NOT_FOUND, &refusal);
                    return self.send_small(number::answer(offset), &frame).await;
                }
                match self.take_permission(offset, id, params) {
                    // Whoever reads the events decides; while nobody does, nothing more is read.
                    Ok(permission) => {
                        permissions.send(permission).await.ok();
                    }
                    Err(frame) => self.send_small(number::answer(offset), &frame).await,
                }
            }
            Ok(Incoming::Stray) => {}
            Err(NoFrame) => self.count_garbage(&plain::one_line(line, 100)).await,
        }
    }

    async fn count_garbage(&self, sample: &str) {
        {
            let mut state = self.state();
            state.garbage_count += 1;
            if state.broken.is_some() || state.garbage_count <= limits::GARBAGE_LINES_MAX {
                return;
            }
        }
        let count = limits::GARBAGE_LINES_MAX;
        let message =
            format!("more than {count} lines are no protocol frames; the last: `{sample}`");
        self.give_up(message).await;
    }

    fn take_answer(&self, id: u64, result: Result<Value, RpcError>) {
        let mut state = self.state();
        if let Some(sender) = state.pending.remove(&id) {
            sender.send(result).ok();
        } else if let Some(turn) = state.turn.take_if(|it| number::prompt(it.effect) == id) {
            let usage = state.usage.end_turn(result.as_ref().unwrap_or(&Value::Null));
            state.asks.clear();
            turn.finish(&result, usage);
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "only a few kinds of update matter here")]
    fn take_update(&self, mut params: Value) {
        // A kind that nobody knows is no reason to give anything up.
        let Ok(update) = serde_json::from_value(take(&mut params, "update")) else { return };
        let mut state = self.state();
        match update {
            SessionUpdate::AgentMessageChunk(chunk) => {
                if let (ContentBlock::Text(text), Some(turn)) = (chunk.content, &mut state.turn) {
                    turn.words.say(&text.text);
                }
            }
            SessionUpdate::ToolCall(call) => {
                let note = note_of(&call);
                state.calls.begin(call);
                self.note(&mut state, note);
            }
            SessionUpdate::ToolCallUpdate(update) => {
                let tells = update.fields.title.is_some()
                    || update.fields.status == Some(ToolCallStatus::Failed);
                let note = note_of(state.calls.update(update));
                if tells {
                    self.note(&mut state, note);
                }
            }
            SessionUpdate::UsageUpdate(update) => state.usage.update(&update),
            _ => {}
        }
    }

    fn note(&self, state: &mut State, note: String) {
        if let Some(turn) = &mut state.turn {
            turn.words.supersede();
        }
        if !note.is_empty() {
            state.note = Some(note);
            self.activity.notify_one();
        }
    }

    /// Files a request for permission; the error is the frame that refuses it.
    fn take_permission(
        &self,
        offset: u64,
        id: Value,
        mut params: Value,
    ) -> Result<Permission, String> {
        let call: Result<ToolCallUpdate, _> = serde_json::from_value(take(&mut params, "toolCall"));
        let Ok(call) = call else {
            return Err(frame::refusal(&id, INVALID_PARAMS, "`toolCall` is missing or unreadable"));
        };
        let options = match take(&mut params, "options") {
            Value::Array(options) => {
                options.into_iter().filter_map(option).take(OPTIONS_MAX).collect()
            }
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Object(_) => Vec::new(),
        };
        let mut state = self.state();
        let tool = tool_use(state.calls.update(call), &self.root);
        let name = format!("ask-{offset}");
        state.asks.insert(name.clone(), Ask { id, offset });
        Ok(Permission { call: name, tool, options })
    }
}

fn note_of(call: &ToolCall) -> String {
    let title = plain::one_line(&call.title, NOTE_BYTES_MAX);
    if call.status == ToolCallStatus::Failed { format!("failed: {title}") } else { title }
}

/// One option as we know it; a kind that nobody knows cannot be chosen, nor can an endless id.
fn option(option: Value) -> Option<pitcrew_model::PermissionOption> {
    use pitcrew_model::PermissionOptionKind as Ours;
    let option: PermissionOption = serde_json::from_value(option).ok()?;
    if option.option_id.0.len() > OPTION_ID_BYTES_MAX {
        return None;
    }
    let kind = match option.kind {
        PermissionOptionKind::AllowOnce => Ours::AllowOnce,
        PermissionOptionKind::AllowAlways => Ours::AllowAlways,
        PermissionOptionKind::RejectOnce => Ours::RejectOnce,
        PermissionOptionKind::RejectAlways => Ours::RejectAlways,
        _ => return None,
    };
    Some(pitcrew_model::PermissionOption { id: option.option_id.to_string(), kind })
}
