//! Reading a tool call: the one place where a name and JSON become a typed order.

use crate::{
    ToolAnswer,
    catalogue::{COMPLETE_TASK, NOTIFY_ORCHESTRATOR, canonical_name, letters, tools},
};
use pitcrew_model::{AttemptId, Claim, Command, NoteKind, limits, text};
use serde_json::{Map, Value};

/// A tool call that can be carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolCall {
    CompleteTask { claim: Claim, summary: String },
    Notify { kind: NoteKind, message: String },
}

/// A tool call that cannot be read. The caller is a model: every text says what to send instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ToolCallError {
    #[error("there is no tool `{name}`; there are: {known}")]
    UnknownTool { name: String, known: String },
    #[error("the arguments of `{tool}` must be a JSON object, such as {example}")]
    NoObject { tool: &'static str, example: &'static str },
    #[error("`{tool}` needs `{key}`: a text that is not empty, such as {example}")]
    Missing { tool: &'static str, key: &'static str, example: &'static str },
    #[error("`{key}` of `{tool}` is {found}; it must be one of {allowed}")]
    Choice { tool: &'static str, key: &'static str, found: String, allowed: &'static str },
}

const COMPLETE_EXAMPLE: &str = r#"{"summary": "added the parser and its tests"}"#;
const NOTIFY_EXAMPLE: &str = r#"{"kind": "question", "message": "which port should it use?"}"#;

impl ToolCall {
    /// Reads a call. Other spellings of names, keys and values are taken silently: a model that
    /// has once learned `orchestrator_completeTask` should not fail over an underscore.
    pub fn parse(name: &str, arguments: &Value) -> Result<Self, ToolCallError> {
        match canonical_name(name) {
            Some(COMPLETE_TASK) => complete_task(arguments),
            Some(NOTIFY_ORCHESTRATOR) => notify(arguments),
            _ => {
                let known: Vec<&str> = tools().iter().map(|it| it.name).collect();
                Err(ToolCallError::UnknownTool {
                    name: text::cut(name, limits::NAME_BYTES_MAX).to_owned(),
                    known: known.join(", "),
                })
            }
        }
    }

    /// The order that the call is, given by the worker of `attempt`.
    pub fn into_command(self, attempt: AttemptId) -> Command {
        match self {
            Self::CompleteTask { claim, summary } => {
                Command::CompleteTask { attempt, claim, summary, output: None }
            }
            Self::Notify { kind, message } => Command::Notify { attempt, kind, message },
        }
    }

    /// What the caller is told once the order is taken.
    pub fn acknowledgement(&self) -> ToolAnswer {
        let (text, next) = match self {
            Self::CompleteTask { claim: Claim::Success, .. } => (
                "Recorded as done. Your work is now checked and integrated for you. Make no further changes and end your turn.",
                "end_turn",
            ),
            Self::CompleteTask { claim: Claim::Partial, .. } => (
                "Recorded as partly done. A person decides what happens with it. Make no further changes and end your turn.",
                "end_turn",
            ),
            Self::CompleteTask { claim: Claim::Failed, .. } => {
                ("Recorded as failed. Make no further changes and end your turn.", "end_turn")
            }
            Self::Notify { kind: NoteKind::Question, .. } => (
                "The question was passed on. End your turn now: the answer arrives as your next prompt.",
                "end_turn",
            ),
            Self::Notify { kind: NoteKind::Status, .. } => ("Noted. Go on working.", "continue"),
        };
        let mut structured = Map::new();
        structured.insert("accepted".into(), Value::Bool(true));
        structured.insert("next".into(), Value::String(next.into()));
        ToolAnswer { text: text.into(), structured }
    }
}

fn complete_task(arguments: &Value) -> Result<ToolCall, ToolCallError> {
    let tool = COMPLETE_TASK;
    let object =
        arguments.as_object().ok_or(ToolCallError::NoObject { tool, example: COMPLETE_EXAMPLE })?;
    let summary = words(object, &["summary", "result", "message"])
        .ok_or(ToolCallError::Missing { tool, key: "summary", example: COMPLETE_EXAMPLE })?;
    let claim = match find(object, &["outcome", "status"]) {
        None | Some(Value::Null) => Claim::Success,
        Some(value) => match letters(value.as_str().unwrap_or_default()).as_str() {
            "success" | "succeeded" | "completed" | "complete" | "done" => Claim::Success,
            "partial" | "partially" => Claim::Partial,
            "failed" | "failure" | "fail" | "error" => Claim::Failed,
            _ => {
                return Err(ToolCallError::Choice {
                    tool,
                    key: "outcome",
                    found: shown(value),
                    allowed: "`success`, `partial`, `failed`",
                });
            }
        },
    };
    Ok(ToolCall::CompleteTask { claim, summary })
}

fn notify(arguments: &Value) -> Result<ToolCall, ToolCallError> {
    let tool = NOTIFY_ORCHESTRATOR;
    let object =
        arguments.as_object().ok_or(ToolCallError::NoObject { tool, example: NOTIFY_EXAMPLE })?;
    let message = words(object, &["message", "text", "content", "question"])
        .ok_or(ToolCallError::Missing { tool, key: "message", example: NOTIFY_EXAMPLE })?;
    let kind = match find(object, &["kind", "type"]) {
        // Whoever sends a `question` and no kind has said which it is.
        None | Some(Value::Null) if find(object, &["question"]).is_some() => NoteKind::Question,
        None | Some(Value::Null) => {
            return Err(ToolCallError::Missing { tool, key: "kind", example: NOTIFY_EXAMPLE });
        }
        Some(value) => match letters(value.as_str().unwrap_or_default()).as_str() {
            "status" | "statusupdate" | "info" | "progress" => NoteKind::Status,
            "question" | "clarification" | "ask" => NoteKind::Question,
            _ => {
                return Err(ToolCallError::Choice {
                    tool,
                    key: "kind",
                    found: shown(value),
                    allowed: "`status`, `question`",
                });
            }
        },
    };
    Ok(ToolCall::Notify { kind, message })
}

/// The value of the first of `keys` that the object has, in whatever spelling.
fn find<'a>(object: &'a Map<String, Value>, keys: &[&str]) -> Option<&'a Value> {
    keys.iter().find_map(|key| {
        object.iter().find(|(spelling, _)| letters(spelling) == *key).map(|(_, value)| value)
    })
}

/// A text that is not empty, cut to what a summary may be.
fn words(object: &Map<String, Value>, keys: &[&str]) -> Option<String> {
    keys.iter()
        .filter_map(|key| find(object, &[key])?.as_str())
        .map(str::trim)
        .find(|it| !it.is_empty())
        .map(|it| text::cut(it, limits::SUMMARY_BYTES_MAX).to_owned())
}

fn shown(value: &Value) -> String {
    format!("`{}`", text::cut(&value.to_string(), 80))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use serde_json::json;

    fn check(name: &str, arguments: &Value, expect: &Expect) {
        expect.assert_eq(&match ToolCall::parse(name, arguments) {
            Ok(call) => format!("{call:?}"),
            Err(error) => error.to_string(),
        });
    }

    /// S1-067: the completion tool is understood in every spelling that agents use for it.
    #[test]
    fn a_completion_is_read_in_every_spelling() {
        let plain = ToolCall::CompleteTask { claim: Claim::Success, summary: "done it".into() };
        for (name, arguments) in [
            ("orchestrator_complete_task", json!({"summary": "done it"})),
            ("orchestrator_completeTask", json!({"Summary": " done it ", "outcome": "success"})),
            ("completeTask", json!({"result": "done it", "status": "completed", "more": [1]})),
        ] {
            assert_eq!(ToolCall::parse(name, &arguments), Ok(plain.clone()), "{name} {arguments}");
        }
    }

    #[test]
    fn a_bad_call_is_told_what_to_send() {
        check(
            "orchestrator_complete_task",
            &json!({"outcome": "failed"}),
            &expect![[
                r#"`orchestrator_complete_task` needs `summary`: a text that is not empty, such as {"summary": "added the parser and its tests"}"#
            ]],
        );
        check(
            "orchestrator_complete_task",
            &json!("ok"),
            &expect![[
                r#"the arguments of `orchestrator_complete_task` must be a JSON object, such as {"summary": "added the parser and its tests"}"#
            ]],
        );
        check(
            "orchestrator_complete_task",
            &json!({"summary": "x", "outcome": 7}),
            &expect![
                "`outcome` of `orchestrator_complete_task` is `7`; it must be one of `success`, `partial`, `failed`"
            ],
        );
        check(
            "a2a_notify_orchestrator",
            &json!({"message": "x"}),
            &expect![[
                r#"`a2a_notify_orchestrator` needs `kind`: a text that is not empty, such as {"kind": "question", "message": "which port should it use?"}"#
            ]],
        );
        check(
            "rm_rf",
            &json!({}),
            &expect![
                "there is no tool `rm_rf`; there are: orchestrator_complete_task, a2a_notify_orchestrator"
            ],
        );
    }

    #[test]
    fn a_question_names_itself() {
        check(
            "a2a_notifyOrchestrator",
            &json!({"question": "which port?"}),
            &expect![[r#"Notify { kind: Question, message: "which port?" }"#]],
        );
        check(
            "a2a_notify_orchestrator",
            &json!({"type": "status_update", "text": "half"}),
            &expect![[r#"Notify { kind: Status, message: "half" }"#]],
        );
    }

    #[test]
    fn a_long_summary_is_cut_and_not_refused() {
        let long = "ü".repeat(limits::SUMMARY_BYTES_MAX);
        let call = ToolCall::parse(COMPLETE_TASK, &json!({"summary": long})).expect("a call");
        let Command::CompleteTask { summary, .. } = call.into_command(AttemptId(1)) else {
            panic!("a completion");
        };
        assert_eq!(summary.len(), limits::SUMMARY_BYTES_MAX);
    }

    #[test]
    fn every_acknowledgement_says_what_comes_next() {
        for kind in [NoteKind::Status, NoteKind::Question] {
            let answer = ToolCall::Notify { kind, message: "x".into() }.acknowledgement();
            assert!(!answer.text.is_empty() && answer.structured.contains_key("next"));
        }
    }
}
