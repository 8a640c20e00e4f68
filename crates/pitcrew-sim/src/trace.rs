//! Formats inputs and events for people.

use crate::world::PendingInput;
use pitcrew_model::{Entry, InputBody, Signal};
use serde::Serialize;
use serde_json::Value;
use std::fmt::Write;

const TEXT_CHARS_MAX: usize = 40;

/// Formats an input as one line.
pub fn said(said: &PendingInput) -> String {
    let what = match &said.body {
        InputBody::Command(command) => words("command", command),
        InputBody::Signal(signal) => heard(signal),
        InputBody::Tick => "tick".into(),
    };
    format!("{}: {what}", said.actor)
}

fn heard(signal: &Signal) -> String {
    match signal {
        Signal::EffectEnded { effect, result } => {
            format!("{effect} ended: {}", words("result", result))
        }
        Signal::AgentReattached { worker, away_ms } => {
            format!("{worker} is back after {away_ms} ms")
        }
        Signal::AgentExited { worker, exit } => format!("{worker} exited: {exit}"),
        Signal::PermissionAsked { worker, call, tool, .. } => {
            format!("{worker} asks permission: {call}, {}", tool.kind)
        }
        Signal::Activity { worker, note } => format!("{worker} does: {note}"),
        Signal::UsageReported { worker, usage } => format!("{worker} has used: {usage:?}"),
        Signal::AccessBlocked { worker, place, access, path, .. } => {
            format!("{worker} may not {access} {path}, at {place}")
        }
        Signal::NeedLine { worker, nonce, symbol, .. } => {
            format!("{worker} needs {symbol}, nonce {nonce}")
        }
        Signal::EgressDecided(it) => format!("{}, byte {}: {it}", it.whose, it.offset),
        Signal::MergedByHand { plan, branch, landed } => {
            format!("{branch} contains {landed} of {plan}")
        }
        Signal::AgentConfined { worker, confined } => {
            format!("{worker} is confined by {}", confined.tier)
        }
    }
}

/// Formats an entry as one line.
pub fn entry(entry: &Entry) -> String {
    format!("{:>4}  {}", entry.seq.0, words("type", &entry.event))
}

/// Formats the stored form without its punctuation: the kind, then `name=value`.
pub fn words(tag: &str, value: &impl Serialize) -> String {
    let Ok(Value::Object(fields)) = serde_json::to_value(value) else { return "?".into() };
    let mut line = fields.get(tag).and_then(Value::as_str).unwrap_or("?").to_owned();
    for (name, value) in fields.iter().filter(|it| it.0 != tag && !is_empty(it.1)) {
        let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let shown: String = shown.replace('\n', " ").chars().take(TEXT_CHARS_MAX).collect();
        let _ = write!(line, " {name}={shown}");
    }
    line
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    }
}
