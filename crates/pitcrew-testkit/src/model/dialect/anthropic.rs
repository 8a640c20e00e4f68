//! Anthropic's messages.

use super::{Refusal, epoch_s, event, message, pieces, unique};
use crate::model::{
    conversation::{Conversation, Delivery, Item, Tool, text, texts},
    response::Reply,
    script::{Failure, Tokens},
};
use serde_json::{Value, json};

pub fn read(request: &Value) -> Conversation {
    let mut conversation = Conversation {
        model: text(&request["model"]),
        system: texts(&request["system"]).join("\n"),
        delivery: if request["stream"] == true { Delivery::Streamed } else { Delivery::Whole },
        ..Conversation::default()
    };
    for message in request["messages"].as_array().into_iter().flatten() {
        if message["role"] != "user" {
            continue;
        }
        if let Some(prompt) = message["content"].as_str() {
            conversation.items.push(Item::User(prompt.to_owned()));
        }
        for part in message["content"].as_array().into_iter().flatten() {
            match part["type"].as_str() {
                Some("text") => conversation.items.push(Item::User(text(&part["text"]))),
                Some("tool_result") => conversation.items.push(Item::ToolResult),
                Some(_) | None => {}
            }
        }
    }
    let tools = request["tools"].as_array().into_iter().flatten();
    conversation.tools = tools.map(|it| Tool::new(&it["name"], &it["input_schema"])).collect();
    conversation
}

pub fn whole(reply: &Reply, model: &str) -> Value {
    json!({ "id": unique("msg"), "type": "message", "role": "assistant", "model": model,
        "content": blocks(reply), "stop_reason": stop(reply), "stop_sequence": null,
        "usage": usage(reply.tokens, reply.tokens.output) })
}

pub fn streamed(reply: &Reply, model: &str) -> Vec<String> {
    let begun = json!({ "id": unique("msg"), "type": "message", "role": "assistant",
        "model": model, "content": [], "stop_reason": null, "stop_sequence": null,
        "usage": usage(reply.tokens, 1) });
    let mut events = vec![json!({ "type": "message_start", "message": begun })];
    for (index, block) in blocks(reply).into_iter().enumerate() {
        let mut opened = block.clone();
        let deltas: Vec<Value> = match block["type"].as_str() {
            Some("thinking") => {
                (opened["thinking"], opened["signature"]) = (json!(""), json!(""));
                let more = pieces(&reply.thought).into_iter();
                let more = more.map(|it| json!({ "type": "thinking_delta", "thinking": it }));
                let sign = json!({ "type": "signature_delta", "signature": block["signature"] });
                more.chain([sign]).collect()
            }
            Some("text") => {
                opened["text"] = json!("");
                let more = pieces(&reply.text).into_iter();
                more.map(|it| json!({ "type": "text_delta", "text": it })).collect()
            }
            Some(_) | None => {
                opened["input"] = json!({});
                let input = block["input"].to_string();
                let more = pieces(&input).into_iter();
                more.map(|it| json!({ "type": "input_json_delta", "partial_json": it })).collect()
            }
        };
        let begin =
            json!({ "type": "content_block_start", "index": index, "content_block": opened });
        events.push(begin);
        for delta in deltas {
            events.push(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        }
        events.push(json!({ "type": "content_block_stop", "index": index }));
    }
    let delta = json!({ "stop_reason": stop(reply), "stop_sequence": null });
    let usage = usage(reply.tokens, reply.tokens.output);
    events.push(json!({ "type": "message_delta", "delta": delta, "usage": usage }));
    events.push(json!({ "type": "message_stop" }));
    events.iter().map(event).collect()
}

fn blocks(reply: &Reply) -> Vec<Value> {
    let mut blocks = Vec::new();
    if !reply.thought.is_empty() {
        let signature = "c2NyaXB0ZWQ=";
        let thinking = &reply.thought;
        blocks.push(json!({ "type": "thinking", "thinking": thinking, "signature": signature }));
    }
    if !reply.text.is_empty() {
        blocks.push(json!({ "type": "text", "text": reply.text }));
    }
    if let Some(call) = &reply.call {
        let id = unique("toolu");
        blocks
            .push(json!({ "type": "tool_use", "id": id, "name": call.name, "input": call.input }));
    }
    blocks
}

fn stop(reply: &Reply) -> &'static str {
    if reply.call.is_some() { "tool_use" } else { "end_turn" }
}

/// Cached tokens are not counted as input again.
fn usage(tokens: Tokens, output: u64) -> Value {
    json!({
        "input_tokens": tokens.input.saturating_sub(tokens.cached),
        "output_tokens": output,
        "cache_read_input_tokens": tokens.cached,
        "cache_creation_input_tokens": 0,
    })
}

pub fn refusal(failure: &Failure) -> Refusal {
    let kind = match failure.status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        400..500 => "invalid_request_error",
        _ => "api_error",
    };
    let mut headers = vec![("request-id", unique("req"))];
    if let Some(reset_s) = failure.reset_s {
        headers.push(("anthropic-ratelimit-unified-status", "rejected".to_owned()));
        let reset = (epoch_s() + reset_s).to_string();
        headers.push(("anthropic-ratelimit-unified-reset", reset));
    }
    let error = json!({ "type": kind, "message": message(failure) });
    Refusal { headers, body: json!({ "type": "error", "error": error }) }
}
