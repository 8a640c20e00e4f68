//! `OpenAI`'s chat completions, which many other vendors support too.

use super::{Refusal, data, epoch_s, message, pieces, unique};
use crate::model::{
    conversation::{Conversation, Delivery, Item, Tool, text, texts},
    response::Reply,
    script::{Failure, Tokens},
};
use serde_json::{Value, json};

pub fn read(request: &Value) -> Conversation {
    let mut conversation = Conversation {
        model: text(&request["model"]),
        delivery: if request["stream"] == true { Delivery::Streamed } else { Delivery::Whole },
        ..Conversation::default()
    };
    for message in request["messages"].as_array().into_iter().flatten() {
        let said = texts(&message["content"]);
        match message["role"].as_str() {
            Some("system" | "developer") => conversation.system.push_str(&said.join("\n")),
            Some("user") => conversation.items.extend(said.into_iter().map(Item::User)),
            Some("tool" | "function") => conversation.items.push(Item::ToolResult),
            Some(_) | None => {}
        }
    }
    let tools = request["tools"].as_array().into_iter().flatten().map(|it| &it["function"]);
    conversation.tools = tools.map(|it| Tool::new(&it["name"], &it["parameters"])).collect();
    conversation
}

pub fn whole(reply: &Reply, model: &str) -> Value {
    let mut said = json!({ "role": "assistant", "content": reply.text });
    if !reply.thought.is_empty() {
        said["reasoning_content"] = json!(reply.thought);
    }
    if let Some(call) = &reply.call {
        let arguments = call.input.to_string();
        said["tool_calls"] = json!([{
            "id": unique("call"),
            "type": "function",
            "function": { "name": call.name, "arguments": arguments },
        }]);
    }
    let choice = json!({ "index": 0, "message": said, "finish_reason": finish(reply) });
    let (id, created) = (unique("chatcmpl"), epoch_s());
    json!({ "id": id, "object": "chat.completion", "created": created, "model": model,
        "choices": [choice], "usage": usage(reply.tokens) })
}

pub fn streamed(reply: &Reply, model: &str) -> Vec<String> {
    let (id, created) = (unique("chatcmpl"), epoch_s());
    let chunk = |choices: Value, usage: Value| {
        data(&json!({ "id": id, "object": "chat.completion.chunk", "created": created,
            "model": model, "choices": choices, "usage": usage }))
    };
    let delta = |delta: Value, finish: Value| {
        chunk(json!([{ "index": 0, "delta": delta, "finish_reason": finish }]), Value::Null)
    };
    let mut frames = vec![delta(json!({ "role": "assistant", "content": "" }), Value::Null)];
    for piece in pieces(&reply.thought) {
        frames.push(delta(json!({ "reasoning_content": piece }), Value::Null));
    }
    for piece in pieces(&reply.text) {
        frames.push(delta(json!({ "content": piece }), Value::Null));
    }
    if let Some(call) = &reply.call {
        let begin = json!({ "index": 0, "id": unique("call"), "type": "function",
            "function": { "name": call.name, "arguments": "" } });
        frames.push(delta(json!({ "tool_calls": [begin] }), Value::Null));
        for piece in pieces(&call.input.to_string()) {
            let more = json!({ "index": 0, "function": { "arguments": piece } });
            frames.push(delta(json!({ "tool_calls": [more] }), Value::Null));
        }
    }
    frames.push(delta(json!({}), json!(finish(reply))));
    frames.push(chunk(json!([]), usage(reply.tokens)));
    frames.push("data: [DONE]\n\n".to_owned());
    frames
}

fn finish(reply: &Reply) -> &'static str {
    if reply.call.is_some() { "tool_calls" } else { "stop" }
}

fn usage(tokens: Tokens) -> Value {
    json!({
        "prompt_tokens": tokens.input,
        "completion_tokens": tokens.output,
        "total_tokens": tokens.input + tokens.output,
        "prompt_tokens_details": { "cached_tokens": tokens.cached },
    })
}

pub fn refusal(failure: &Failure) -> Refusal {
    let (kind, code) = match failure.status {
        401 | 403 => ("invalid_request_error", "invalid_api_key"),
        404 => ("invalid_request_error", "model_not_found"),
        429 if failure.reset_s.is_none() => ("insufficient_quota", "insufficient_quota"),
        429 => ("requests", "rate_limit_exceeded"),
        400..500 => ("invalid_request_error", "invalid_request"),
        _ => ("server_error", "server_error"),
    };
    let reset = failure.reset_s.map(|it| ("x-ratelimit-reset-requests", format!("{it}s")));
    let error = json!({ "message": message(failure), "type": kind, "code": code, "param": null });
    Refusal { headers: reset.into_iter().collect(), body: json!({ "error": error }) }
}
