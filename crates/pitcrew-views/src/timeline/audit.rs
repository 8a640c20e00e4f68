//! One line for each operation and decision: actor, action and target.
//!
//! The kinds are those of the journal.

use super::line::{About, line};
use crate::{Board, plain};
use pitcrew_model::{Actor, Entry, PlanId, Seq, TaskId, Timestamp};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use std::fmt;

/// Events that are only signs of life.
const NO_OPERATION: [&str; 2] = ["activity_noted", "usage_noted"];
/// Fields with a column of their own.
const COLUMN_FIELDS: [&str; 9] =
    ["type", "result", "effect", "actor", "plan", "task", "attempt", "worker", "request"];

/// One operation or decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditLine {
    pub seq: Seq,
    pub at: Timestamp,
    pub actor: Actor,
    /// The kind in the journal: `task_moved`, `request_moved`, `work_collected`.
    pub kind: String,
    pub plan: Option<PlanId>,
    pub task: Option<TaskId>,
    /// The display name of the target.
    pub target: String,
    pub context: String,
}

/// `worker-3 completion_claimed task-3 core: says: done`
impl fmt::Display for AuditLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { actor, kind, target, context, .. } = self;
        write!(f, "{:<12} {kind:<20} {target}", actor.to_string())?;
        if context.is_empty() { Ok(()) } else { write!(f, ": {context}") }
    }
}

/// Returns the line of an entry; absent if it is neither an operation nor a decision.
pub fn audit(board: &Board, entry: &Entry) -> Option<AuditLine> {
    let event = serde_json::to_value(&entry.event).expect("an event is plain data");
    let Value::Object(mut fields) = event else { unreachable!("an event has a type") };
    // The result says more than the end of the effect.
    if let Some(Value::Object(result)) = fields.remove("result") {
        fields = result;
    }
    let kind = word(&fields, "result").or_else(|| word(&fields, "type"))?.to_owned();
    if NO_OPERATION.contains(&kind.as_str()) {
        return None;
    }
    let said = line(board, entry);
    let subject = about(&fields).resolve(board);
    let actor = said.as_ref().map(|it| it.actor).or_else(|| field(&fields, "actor"));
    let caller = (kind == "call_taken").then(|| field(&fields, "worker").map(Actor::Worker));
    Some(AuditLine {
        seq: entry.seq,
        at: entry.at,
        actor: actor.or(caller.flatten()).unwrap_or(Actor::Orchestrator),
        kind,
        plan: said.as_ref().map_or(subject.plan, |it| it.plan),
        task: said.as_ref().map_or(subject.task, |it| it.task),
        target: said.as_ref().map_or_else(|| plain::line(&subject.name), |it| it.subject.clone()),
        context: said.map_or_else(|| rest(&fields), |it| it.text),
    })
}

fn word<'a>(fields: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    fields.get(key).and_then(Value::as_str)
}

fn field<T: DeserializeOwned>(fields: &Map<String, Value>, key: &str) -> Option<T> {
    fields.get(key).and_then(|it| T::deserialize(it).ok())
}

fn about(fields: &Map<String, Value>) -> About {
    let task = field(fields, "task").map(About::Task);
    task.or_else(|| field(fields, "attempt").map(About::Attempt))
        .or_else(|| field(fields, "worker").map(About::Worker))
        .or_else(|| field(fields, "request").map(About::Request))
        .or_else(|| field(fields, "plan").map(About::Plan))
        .unwrap_or(About::Workspace)
}

/// Returns the remaining fields.
fn rest(fields: &Map<String, Value>) -> String {
    let is_empty = |it: &Value| it.is_null() || it == "" || it == &Value::Array(Vec::new());
    let rest =
        fields.iter().filter(|(key, it)| !COLUMN_FIELDS.contains(&key.as_str()) && !is_empty(it));
    let words = rest.map(|(key, value)| match value {
        Value::String(text) => format!("{key}={text}"),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            format!("{key}={value}")
        }
    });
    plain::line(&words.collect::<Vec<_>>().join(" "))
}
