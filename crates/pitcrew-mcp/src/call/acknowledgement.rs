//! The answers to commands that were accepted.

use super::ToolCall;
use crate::ToolAnswer;
use pitcrew_model::{Claim, NoteKind};
use serde_json::{Map, Value, json};

impl ToolCall {
    /// Returns the answer to a command that creates nothing. The server answers queries, and
    /// commands that create something, by itself.
    pub fn acknowledgement(&self) -> ToolAnswer {
        match self {
            Self::Complete { claim, .. } => ToolAnswer::last(completed(*claim)),
            Self::Notify { kind: NoteKind::Question, .. } => ToolAnswer::last(
                "The question was sent. End your turn now. The answer is in your next prompt.",
            ),
            Self::Notify { kind: NoteKind::Completion, .. } => ToolAnswer::accepted(
                "The note was sent. This does not end your task: call `orchestrator_complete_task` for that.",
                json!({}),
            ),
            Self::Notify { kind: NoteKind::Answer, .. } => {
                ToolAnswer::accepted("The answer was sent. Continue your task.", json!({}))
            }
            Self::Notify { kind: NoteKind::Status | NoteKind::Error, .. } => {
                ToolAnswer::accepted("The note was sent. Continue your task.", json!({}))
            }
            Self::DeployTask { task } => ToolAnswer::accepted(
                format!(
                    "{task} is deployed. It starts when its dependencies are integrated and a slot is free."
                ),
                json!({ "task": task }),
            ),
            Self::CancelTask { task } => ToolAnswer::accepted(
                format!("{task} is cancelled. The changes of its worker are saved."),
                json!({ "task": task }),
            ),
            Self::RetryTask { task, .. } => ToolAnswer::accepted(
                format!("{task} gets one more attempt."),
                json!({ "task": task }),
            ),
            Self::DecidePermissions { requests, .. } => ToolAnswer::accepted(
                "Decided. Your sub-tasks get the decision.",
                json!({ "requests": requests }),
            ),
            Self::SavePlan { .. }
            | Self::AddPlanTask { .. }
            | Self::ListWorkers { .. }
            | Self::ListAgents
            | Self::Spawn(_)
            | Self::AwaitSubtasks { .. }
            | Self::SubtaskResults { .. }
            | Self::Query { .. }
            | Self::PullSubtask { .. } => ToolAnswer::accepted("Done.", json!({})),
        }
    }
}

fn completed(claim: Claim) -> &'static str {
    match claim {
        Claim::Success => {
            "Recorded as done. Your work is now checked and integrated. Change nothing and end your turn."
        }
        Claim::Partial => {
            "Recorded as partly done. A person decides how to continue. Change nothing and end your turn."
        }
        Claim::Failed => "Recorded as failed. Change nothing and end your turn.",
    }
}

impl ToolAnswer {
    /// The command was accepted, and the caller continues.
    pub fn accepted(text: impl Into<String>, more: Value) -> Self {
        Self::next(text, "continue", more)
    }

    /// The command was accepted, and the caller should end its turn.
    pub fn last(text: impl Into<String>) -> Self {
        Self::next(text, "end_turn", json!({}))
    }

    fn next(text: impl Into<String>, next: &str, more: Value) -> Self {
        let mut structured = Map::from_iter([
            ("accepted".to_owned(), Value::Bool(true)),
            ("next".to_owned(), next.into()),
        ]);
        if let Value::Object(more) = more {
            structured.extend(more);
        }
        Self::new(text, structured)
    }
}
