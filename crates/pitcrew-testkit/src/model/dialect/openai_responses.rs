//! `OpenAI`'s responses.

use super::{epoch_s, event, pieces, unique};
use crate::model::{
    conversation::{Conversation, Delivery, Item, Tool, text, texts},
    response::Reply,
    script::Tokens,
};
use serde_json::{Value, json};

pub fn read(request: &Value) -> Conversation {
    let mut conversation = Conversation {
        model: text(&request["model"]),
        system: text(&request["instructions"]),
        delivery: if request["stream"] == true { Delivery::Streamed } else { Delivery::Whole },
        ..Conversation::default()
    };
    if let Some(prompt) = request["input"].as_str() {
        conversation.items.push(Item::User(prompt.to_owned()));
    }
    for item in request["input"].as_array().into_iter().flatten() {
        let kind = item["type"].as_str().unwrap_or("message");
        match (kind, item["role"].as_str()) {
            ("message", Some("system" | "developer")) => {
                conversation.system.push_str(&texts(&item["content"]).join("\n"));
            }
            ("message", Some("user")) => {
                conversation.items.extend(texts(&item["content"]).into_iter().map(Item::User));
            }
            (kind, _) if kind.ends_with("_output") => conversation.items.push(Item::ToolResult),
            (_, _) => {}
        }
    }
    for tool in request["tools"].as_array().into_iter().flatten() {
        match tool["type"].as_str() {
            Some("function") => {
                conversation.tools.push(Tool::new(&tool["name"], &tool["parameters"]));
            }
            Some("namespace") => {
                for inner in tool["tools"].as_array().into_iter().flatten() {
                    let namespace = tool["name"].as_str().map(str::to_owned);
                    let inner = Tool::new(&inner["name"], &inner["parameters"]);
                    conversation.tools.push(Tool { namespace, ..inner });
                }
            }
            Some(_) | None => {}
        }
    }
    conversation
}

pub fn whole(reply: &Reply, model: &str) -> Value {
    response(&unique("resp"), model, "completed", &items(reply), Some(reply.tokens))
}

pub fn streamed(reply: &Reply, model: &str) -> Vec<String> {
    let (id, items) = (unique("resp"), items(reply));
    let begun = response(&id, model, "in_progress", &[], None);
    let mut events = vec![
        json!({ "type": "response.created", "response": begun }),
        json!({ "type": "response.in_progress", "response": begun }),
    ];
    for (index, item) in items.iter().enumerate() {
        let place = json!({ "item_id": item["id"], "output_index": index });
        let events_of_item = item_events(item).into_iter();
        events.extend(events_of_item.map(|(kind, fields)| joined(kind, [&place, &fields])));
    }
    let ended = response(&id, model, "completed", &items, Some(reply.tokens));
    events.push(json!({ "type": "response.completed", "response": ended }));
    numbered(events)
}

/// The events of one item, without its index.
fn item_events(item: &Value) -> Vec<(&'static str, Value)> {
    let mut opened = item.clone();
    opened["status"] = json!("in_progress");
    let (begin, delta, end, text, at) = match item["type"].as_str() {
        Some("message") => {
            opened["content"] = json!([]);
            let part = json!({ "type": "output_text", "text": "", "annotations": [] });
            (
                vec![("response.content_part.added", json!({ "content_index": 0, "part": part }))],
                "response.output_text.delta",
                vec![
                    ("response.output_text.done", json!({ "text": item["content"][0]["text"] })),
                    ("response.content_part.done", json!({ "part": item["content"][0] })),
                ],
                &item["content"][0]["text"],
                json!({ "content_index": 0 }),
            )
        }
        Some("reasoning") => {
            opened["summary"] = json!([]);
            let part = json!({ "summary_index": 0, "part": item["summary"][0] });
            let text = json!({ "text": item["summary"][0]["text"] });
            (
                vec![("response.reasoning_summary_part.added", part)],
                "response.reasoning_summary_text.delta",
                vec![("response.reasoning_summary_text.done", text)],
                &item["summary"][0]["text"],
                json!({ "summary_index": 0 }),
            )
        }
        Some(_) | None => {
            opened["arguments"] = json!("");
            let arguments = json!({ "arguments": item["arguments"] });
            (
                Vec::new(),
                "response.function_call_arguments.delta",
                vec![("response.function_call_arguments.done", arguments)],
                &item["arguments"],
                json!({}),
            )
        }
    };
    let mut events = vec![("response.output_item.added", json!({ "item": opened }))];
    events.extend(begin);
    let text = text.as_str().unwrap_or_default();
    let more = pieces(text).into_iter().map(|it| (delta, json!({ "delta": it })));
    events.extend(more.chain(end).map(|(kind, fields)| (kind, joined(kind, [&at, &fields]))));
    events.push(("response.output_item.done", json!({ "item": item })));
    events
}

fn joined(kind: &str, parts: [&Value; 2]) -> Value {
    let mut event = json!({ "type": kind });
    for (key, value) in parts.into_iter().filter_map(Value::as_object).flatten() {
        event[key] = value.clone();
    }
    event
}

fn numbered(events: Vec<Value>) -> Vec<String> {
    let numbered = events.into_iter().enumerate().map(|(number, mut it)| {
        it["sequence_number"] = json!(number);
        event(&it)
    });
    numbered.collect()
}

fn items(reply: &Reply) -> Vec<Value> {
    let mut items = Vec::new();
    if !reply.thought.is_empty() {
        let summary = json!([{ "type": "summary_text", "text": reply.thought }]);
        items.push(json!({ "type": "reasoning", "id": unique("rs"), "summary": summary }));
    }
    if !reply.text.is_empty() {
        let part = json!({ "type": "output_text", "text": reply.text, "annotations": [] });
        items.push(json!({ "type": "message", "id": unique("msg"), "role": "assistant",
            "status": "completed", "content": [part] }));
    }
    if let Some(call) = &reply.call {
        let mut item = json!({ "type": "function_call", "id": unique("fc"),
            "call_id": unique("call"), "status": "completed", "name": call.name,
            "arguments": call.input.to_string() });
        if let Some(namespace) = &call.namespace {
            item["namespace"] = json!(namespace);
        }
        items.push(item);
    }
    items
}

fn response(
    id: &str,
    model: &str,
    status: &str,
    output: &[Value],
    tokens: Option<Tokens>,
) -> Value {
    let usage = tokens.map(|it| {
        json!({
            "input_tokens": it.input,
            "input_tokens_details": { "cached_tokens": it.cached },
            "output_tokens": it.output,
            "output_tokens_details": { "reasoning_tokens": 0 },
            "total_tokens": it.input + it.output,
        })
    });
    json!({ "id": id, "object": "response", "created_at": epoch_s(), "status": status,
        "model": model, "output": output, "usage": usage, "error": null,
        "incomplete_details": null, "parallel_tool_calls": false, "tools": [] })
}
