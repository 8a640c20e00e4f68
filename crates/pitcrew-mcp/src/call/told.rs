//! What a caller is told once its order is taken.

use super::ToolCall;
use crate::ToolAnswer;
use pitcrew_model::{Claim, NoteKind};
use serde_json::{Map, Value, json};

impl ToolCall {
    /// What an order that made nothing is answered with. Reads, and orders that make something, are
    /// answered by whoever carries them out.
    pub fn acknowledgement(&self) -> ToolAnswer {
        match self {
            Self::Complete { claim, .. } => ToolAnswer::last(completed(*claim)),
            Self::Notify { kind: NoteKind::Question, .. } => ToolAnswer::last(
                "The question was passed on. End your turn now: the answer arrives as your next prompt.",
            ),
            Self::Notify { kind: NoteKind::Completion, .. } => ToolAnswer::accepted(
                "Noted. This does not end your task: call `orchestrator_complete_task` for that.",
                json!({}),
            ),
            Self::Notify { kind: NoteKind::Answer, .. } => {
                ToolAnswer::accepted("The answer was passed on. Go on with your task.", json!({}))
            }
            Self::Notify { kind: NoteKind::Status | NoteKind::Error, .. } => {
                ToolAnswer::accepted("Noted. Go on working.", json!({}))
            }
            Self::DeployTask { task } => ToolAnswer::accepted(
                format!(
                    "{task} is deployed. It starts when what it depends on is integrated and a slot is free."
                ),
                json!({ "task": task }),
            ),
            Self::CancelTask { task } => ToolAnswer::accepted(
                format!("{task} is cancelled. What its worker changed is saved."),
                json!({ "task": task }),
            ),
            Self::RetryTask { task, .. } => ToolAnswer::accepted(
                format!("{task} gets one more attempt."),
                json!({ "task": task }),
            ),
            Self::DecidePermissions { requests, .. } => ToolAnswer::accepted(
                "Decided. Your sub-tasks are told.",
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
            "Recorded as done. Your work is now checked and integrated for you. Make no further changes and end your turn."
        }
        Claim::Partial => {
            "Recorded as partly done. A person decides what happens with it. Make no further changes and end your turn."
        }
        Claim::Failed => "Recorded as failed. Make no further changes and end your turn.",
    }
}

impl ToolAnswer {
    /// The order is taken, and the caller goes on.
    pub fn accepted(text: impl Into<String>, more: Value) -> Self {
        Self::next(text, "continue", more)
    }

    /// The order is taken, and the caller's turn should end.
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
