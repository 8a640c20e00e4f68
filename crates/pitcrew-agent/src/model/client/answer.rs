//! A model's answer.

use crate::model::{Failure, Tokens};
use genai::chat::{ContentPart, MessageContent, StopReason, StreamEnd, Usage};
use serde_json::{Map, Value};

pub(crate) struct Answer {
    pub calls: Vec<Call>,
    pub stop: Stop,
    pub tokens: Tokens,
    pub(super) content: MessageContent,
}

/// Why the model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    Done,
    OutOfTokens,
    Refused,
}

pub(crate) struct Call {
    pub(super) id: String,
    pub name: String,
    /// The arguments, or the text in their place.
    pub arguments: Result<Map<String, Value>, String>,
}

pub(super) fn answer_of(end: StreamEnd) -> Result<Answer, Failure> {
    let StreamEnd { captured_usage, captured_stop_reason, captured_content, .. } = end;
    let mut content = captured_content.unwrap_or_default();
    if content.is_empty() && captured_stop_reason.is_none() {
        return Err(Failure::Passing { reason: "the answer broke off".to_owned() });
    }
    if !content.contains_reasoning_content()
        && content.contains_tool_call()
        && let Some(reasoning) = end.captured_reasoning_content
    {
        content.push(ContentPart::ReasoningContent(reasoning));
    }
    let mut calls = Vec::new();
    for part in &mut content {
        let ContentPart::ToolCall(call) = part else { continue };
        let arguments = match &call.fn_arguments {
            Value::Object(arguments) => Ok(arguments.clone()),
            Value::Null => Ok(Map::new()),
            Value::String(other) => Err(other.clone()),
            other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_)) => Err(other.to_string()),
        };
        if arguments.is_err() {
            // It is sent back to the provider, which accepts only objects.
            call.fn_arguments = Value::Object(Map::new());
        }
        calls.push(Call { id: call.call_id.clone(), name: call.fn_name.clone(), arguments });
    }
    let stop = match captured_stop_reason {
        Some(StopReason::MaxTokens(_)) => Stop::OutOfTokens,
        Some(StopReason::ContentFilter(_)) => Stop::Refused,
        Some(
            StopReason::Completed(_)
            | StopReason::ToolCall(_)
            | StopReason::StopSequence(_)
            | StopReason::Other(_),
        )
        | None => Stop::Done,
    };
    let tokens = captured_usage.map(|it| tokens_of(&it)).unwrap_or_default();
    Ok(Answer { calls, stop, tokens, content })
}

/// The library counts cached tokens as input too.
fn tokens_of(usage: &Usage) -> Tokens {
    let count = |it: Option<i32>| it.and_then(|it| u64::try_from(it).ok()).unwrap_or(0);
    let details = usage.prompt_tokens_details.as_ref();
    let cached = count(details.and_then(|it| it.cached_tokens));
    let stored = count(details.and_then(|it| it.cache_creation_tokens));
    Tokens {
        input: count(usage.prompt_tokens).saturating_sub(cached).saturating_sub(stored),
        output: count(usage.completion_tokens),
        cached,
        stored,
    }
}
