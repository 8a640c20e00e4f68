//! Ollama's chat.

use super::{Refusal, message, openai_chat, pieces};
use crate::model::{
    conversation::{Conversation, Delivery},
    response::Reply,
    script::Failure,
};
use serde_json::{Value, json};

/// The messages have the format of `OpenAI`. It streams by default.
pub fn read(request: &Value) -> Conversation {
    let delivery = if request["stream"] == false { Delivery::Whole } else { Delivery::Streamed };
    Conversation { delivery, ..openai_chat::read(request) }
}

pub fn whole(reply: &Reply, model: &str) -> Value {
    let mut said = json!({ "role": "assistant", "content": reply.text });
    if !reply.thought.is_empty() {
        said["thinking"] = json!(reply.thought);
    }
    if let Some(call) = &reply.call {
        said["tool_calls"] =
            json!([{ "function": { "name": call.name, "arguments": call.input } }]);
    }
    last(reply, model, &said)
}

pub fn streamed(reply: &Reply, model: &str) -> Vec<String> {
    let line = |mut said: Value| {
        said["role"] = json!("assistant");
        let line = json!({ "model": model, "created_at": TIME, "message": said, "done": false });
        format!("{line}\n")
    };
    let thoughts = pieces(&reply.thought).into_iter();
    let mut lines: Vec<String> =
        thoughts.map(|it| line(json!({ "content": "", "thinking": it }))).collect();
    lines.extend(pieces(&reply.text).into_iter().map(|it| line(json!({ "content": it }))));
    if let Some(call) = &reply.call {
        let call = json!({ "function": { "name": call.name, "arguments": call.input } });
        lines.push(line(json!({ "content": "", "tool_calls": [call] })));
    }
    let end = last(reply, model, &json!({ "role": "assistant", "content": "" }));
    lines.push(format!("{end}\n"));
    lines
}

const TIME: &str = "2026-01-01T00:00:00Z";

fn last(reply: &Reply, model: &str, said: &Value) -> Value {
    json!({ "model": model, "created_at": TIME, "message": said, "done": true,
        "done_reason": "stop", "total_duration": 1, "load_duration": 1,
        "prompt_eval_count": reply.tokens.input, "prompt_eval_duration": 1,
        "eval_count": reply.tokens.output, "eval_duration": 1 })
}

pub fn refusal(failure: &Failure) -> Refusal {
    Refusal { headers: Vec::new(), body: json!({ "error": message(failure) }) }
}
