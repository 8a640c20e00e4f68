//! Dispatches the agent's frames to those who wait for them. Never waits itself.

use super::{Connection, OpenPermission, Request, State};
use crate::{
    events::Permission,
    files::FileCall,
    frame::{self, Answer, Incoming, InvalidFrame, number, take},
    offer::Setting,
    plain, refused_write,
    schema::{
        ContentBlock, PermissionOption, PermissionOptionKind, SessionUpdate, ToolCall,
        ToolCallStatus, ToolCallUpdate,
    },
    tool_use::tool_use,
    turn::is_error,
    usage::TurnKind,
};
use pitcrew_model::{Timestamp, limits};
use serde_json::Value;
use std::collections::BTreeSet;
use tokio::time::Instant;

const NOTE_BYTES_MAX: usize = 200;
/// Markers of a session's state that are kept.
const MARKS_MAX: usize = 16;
const MARK_BYTES_MAX: usize = 100;
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
/// Options of one request that can be chosen.
pub(crate) const OPTIONS_MAX: usize = 16;
/// An id is returned unchanged, so a longer one is dropped, not cut.
pub(crate) const OPTION_ID_BYTES_MAX: usize = 256;

/// A request of the agent.
pub(super) enum AgentRequest {
    Permission(Permission),
    /// The frame that rejects it.
    Refusal(String),
    File {
        id: Value,
        call: FileCall,
    },
    /// The sandbox refused these writes. There is nothing to answer.
    RefusedWrites {
        offset: u64,
        paths: BTreeSet<String>,
    },
}

impl Connection {
    /// Handles a line that the agent sent at `at`. A returned request must be answered.
    pub(super) fn take_line(&self, offset: u64, at: Timestamp, line: &str) -> Option<AgentRequest> {
        {
            let mut state = self.state();
            if line.trim().is_empty() || state.broken.is_some() {
                return None;
            }
            state.heard_at = Some(Instant::now());
            state.heard_at_ms = at;
        }
        match Incoming::parse(line) {
            Ok(Incoming::Answer { id, result }) => self.take_answer(id, at, result),
            Ok(Incoming::Notification { method, params }) => {
                if method == "session/update" {
                    return self.take_update(offset, params);
                } else if method == "_auth/status_update" {
                    self.state().is_logged_out = params["authStatus"]["kind"] == "none";
                }
            }
            Ok(Incoming::Request { id, method, mut params }) => {
                if method == "session/request_permission" {
                    return Some(self.take_permission(offset, id, params));
                }
                let call = self.reach.as_ref().and_then(|_| FileCall::parse(&method, &mut params));
                match call {
                    Some(Ok(call)) => return Some(AgentRequest::File { id, call }),
                    Some(Err(error)) => return Some(AgentRequest::Refusal(error.frame(&id))),
                    None => {}
                }
                let remedy = match method.split('/').next() {
                    Some("fs" | "terminal") => {
                        ": it did not offer this capability; use your own tools"
                    }
                    Some(_) | None => "",
                };
                let refusal = format!("the client has no method `{method}`{remedy}");
                return Some(AgentRequest::Refusal(frame::refusal(
                    &id,
                    METHOD_NOT_FOUND,
                    &refusal,
                )));
            }
            Ok(Incoming::Stray) => {}
            Err(InvalidFrame) => self.take_garbage(&plain::one_line(line, 100)),
        }
        None
    }

    /// Counts lines that are not frames. An agent that sends too many is given up.
    pub(super) fn take_garbage(&self, sample: &str) {
        let mut state = self.state();
        state.garbage_count += 1;
        let count = limits::GARBAGE_LINES_MAX;
        if state.broken.is_none() && state.garbage_count > count {
            let message = format!(
                "more than {count} lines are not protocol frames; the last one: `{sample}`"
            );
            state.broken = Some(message);
            state.forget_open();
        }
    }

    fn take_answer(&self, id: u64, at: Timestamp, mut result: Answer) {
        let mut state = self.state();
        if number::is_usage(id) && state.requests.contains_key(&id) {
            // The answer may contain the whole conversation; only these numbers are needed.
            result = result.map(|answer| {
                state.usage.total(&answer);
                Value::Null
            });
        }
        if state.opened_by.is_some_and(|it| number::new_session(it) == id)
            && let Ok(session) = &result
        {
            let model = Setting::Model { option: self.profile.model_option.as_deref() };
            state.model = model.current(session).map(str::to_owned);
        }
        match state.requests.remove(&id) {
            Some(Request::Waiting(sender)) => drop(sender.send(result)),
            Some(Request::Sent) => {
                state.requests.insert(id, Request::Answered(result));
            }
            // A repeated answer: the first one counts.
            Some(answered @ Request::Answered(_)) => {
                state.requests.insert(id, answered);
            }
            None => {
                if let Some(turn) = state.turn.take_if(|it| number::prompt(it.effect) == id) {
                    let stop = turn.stop(&result, &self.known(state.is_logged_out, at));
                    let kind = if is_error(&stop) { TurnKind::Failed } else { TurnKind::Done };
                    let answer = result.as_ref().unwrap_or(&Value::Null);
                    let usage = state.usage.end_turn(answer, kind);
                    state.end_turn(turn, stop, usage);
                }
            }
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "only a few kinds of update matter here")]
    fn take_update(&self, offset: u64, mut params: Value) -> Option<AgentRequest> {
        // An unknown kind of update is ignored.
        let update = serde_json::from_value(take(&mut params, "update")).ok()?;
        let mut refused = BTreeSet::new();
        let mut state = self.state();
        match update {
            SessionUpdate::AgentMessageChunk(chunk) => {
                let report = chunk.meta.as_ref().and_then(|it| it.get("usage"));
                if let Some(report) = report {
                    state.usage.call(report);
                    self.activity.notify_one();
                }
                if let (ContentBlock::Text(text), Some(turn)) = (chunk.content, &mut state.turn) {
                    turn.say(&text.text);
                }
            }
            SessionUpdate::ToolCall(call) => {
                let note = note_of(&call);
                state.calls.begin(call);
                self.note(&mut state, note);
            }
            SessionUpdate::ToolCallUpdate(update) => {
                let output = update.fields.content.as_deref().unwrap_or_default();
                let named = refused_write::named(output, &self.root);
                let tells = update.fields.title.is_some()
                    || update.fields.status == Some(ToolCallStatus::Failed);
                let call = state.calls.update(update);
                refused = match named {
                    Some(named) if named.is_empty() => refused_write::places(call, &self.root),
                    named => named.unwrap_or_default(),
                };
                let note = note_of(call);
                if tells {
                    self.note(&mut state, note);
                }
            }
            SessionUpdate::UsageUpdate(update) => {
                state.usage.update(&update);
                self.activity.notify_one();
            }
            SessionUpdate::SessionInfoUpdate(update) => {
                if let (Some(meta), Some(turn)) = (update.meta, &mut state.turn) {
                    turn.marks = marks(&meta);
                }
            }
            _ => {}
        }
        (!refused.is_empty()).then_some(AgentRequest::RefusedWrites { offset, paths: refused })
    }

    fn note(&self, state: &mut State, note: String) {
        if let Some(turn) = &mut state.turn {
            turn.end_message();
        }
        if !note.is_empty() {
            state.note = Some(note);
            self.activity.notify_one();
        }
    }

    /// Registers a permission request, or rejects it.
    fn take_permission(&self, offset: u64, id: Value, mut params: Value) -> AgentRequest {
        let call: Result<ToolCallUpdate, _> = serde_json::from_value(take(&mut params, "toolCall"));
        let Ok(call) = call else {
            let reason = "`toolCall` is missing or invalid";
            return AgentRequest::Refusal(frame::refusal(&id, INVALID_PARAMS, reason));
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
        let call = ask_name(offset);
        state.asks.insert(call.clone(), OpenPermission { id, offset });
        AgentRequest::Permission(Permission { call, tool, options })
    }
}

/// The name of a permission request: derived from its offset in the spool, so that it is the same
/// after a restart.
pub(super) fn ask_name(offset: u64) -> String {
    format!("ask-{offset}")
}

/// The strings in an agent's own description of the session state.
fn marks(meta: &serde_json::Map<String, Value>) -> Vec<String> {
    let mut marks = Vec::new();
    let mut open: Vec<&Value> = meta.values().collect();
    while let Some(value) = open.pop()
        && marks.len() < MARKS_MAX
    {
        match value {
            Value::String(text) if text.len() <= MARK_BYTES_MAX => marks.push(text.clone()),
            Value::Object(members) => open.extend(members.values()),
            Value::String(_)
            | Value::Array(_)
            | Value::Null
            | Value::Bool(_)
            | Value::Number(_) => {}
        }
    }
    marks
}

fn note_of(call: &ToolCall) -> String {
    let title = plain::one_line(&call.title, NOTE_BYTES_MAX);
    if call.status == ToolCallStatus::Failed { format!("failed: {title}") } else { title }
}

/// One option, or `None` if its kind is unknown or its id too long: it cannot be chosen then.
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
