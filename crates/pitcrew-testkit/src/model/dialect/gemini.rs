//! Google's generateContent.

use super::{Refusal, data, message, pieces, unique};
use crate::model::{
    conversation::{Conversation, Item, Tool, text, texts},
    response::Reply,
    script::{Failure, Tokens},
};
use serde_json::{Value, json};

/// The URL contains the model and whether the answer is streamed.
pub fn read(request: &Value) -> Conversation {
    let system =
        [&request["systemInstruction"], &request["system_instruction"]].map(|it| &it["parts"]);
    let mut conversation = Conversation {
        system: system.into_iter().flat_map(texts).collect::<Vec<_>>().join("\n"),
        ..Conversation::default()
    };
    for content in request["contents"].as_array().into_iter().flatten() {
        if content["role"] == "model" {
            continue;
        }
        for part in content["parts"].as_array().into_iter().flatten() {
            if part["functionResponse"].is_object() {
                conversation.items.push(Item::ToolResult);
            } else if part["text"].is_string() {
                conversation.items.push(Item::User(text(&part["text"])));
            }
        }
    }
    for tool in request["tools"].as_array().into_iter().flatten() {
        for it in tool["functionDeclarations"].as_array().into_iter().flatten() {
            let schemas = [&it["parametersJsonSchema"], &it["parameters"]];
            let schema = schemas.into_iter().find(|it| it.is_object()).unwrap_or(&Value::Null);
            conversation.tools.push(Tool::new(&it["name"], schema));
        }
    }
    conversation
}

pub fn whole(reply: &Reply, model: &str) -> Value {
    chunk(&parts(reply, |text| vec![text.to_owned()]), Some(reply.tokens), model, &unique("resp"))
}

pub fn streamed(reply: &Reply, model: &str) -> Vec<String> {
    let id = unique("resp");
    let in_pieces = |text: &str| pieces(text).into_iter().map(str::to_owned).collect();
    let parts = parts(reply, in_pieces);
    let mut frames: Vec<String> =
        parts.into_iter().map(|it| data(&chunk(&[it], None, model, &id))).collect();
    frames.push(data(&chunk(&[json!({ "text": "" })], Some(reply.tokens), model, &id)));
    frames
}

fn parts(reply: &Reply, cut: impl Fn(&str) -> Vec<String>) -> Vec<Value> {
    let mut parts = Vec::new();
    if !reply.thought.is_empty() {
        let thoughts = cut(&reply.thought).into_iter();
        parts.extend(thoughts.map(|it| json!({ "text": it, "thought": true })));
    }
    if !reply.text.is_empty() {
        parts.extend(cut(&reply.text).into_iter().map(|it| json!({ "text": it })));
    }
    if let Some(call) = &reply.call {
        let call = json!({ "id": unique("call"), "name": call.name, "args": call.input });
        parts.push(json!({ "functionCall": call, "thoughtSignature": "c2NyaXB0ZWQ=" }));
    }
    parts
}

/// The last chunk contains the finish reason and the usage.
fn chunk(parts: &[Value], tokens: Option<Tokens>, model: &str, id: &str) -> Value {
    let content = json!({ "role": "model", "parts": parts });
    let mut candidate = json!({ "content": content, "index": 0 });
    let mut chunk = json!({ "modelVersion": model, "responseId": id });
    if let Some(tokens) = tokens {
        candidate["finishReason"] = json!("STOP");
        chunk["usageMetadata"] = json!({
            "promptTokenCount": tokens.input,
            "candidatesTokenCount": tokens.output,
            "cachedContentTokenCount": tokens.cached,
            "totalTokenCount": tokens.input + tokens.output,
        });
    }
    chunk["candidates"] = json!([candidate]);
    chunk
}

pub fn refusal(failure: &Failure) -> Refusal {
    let status = match failure.status {
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        400..500 => "INVALID_ARGUMENT",
        503 => "UNAVAILABLE",
        _ => "INTERNAL",
    };
    let retry = failure.reset_s.map(|it| {
        let kind = "type.googleapis.com/google.rpc.RetryInfo";
        json!({ "@type": kind, "retryDelay": format!("{it}s") })
    });
    let details: Vec<Value> = retry.into_iter().collect();
    let error = json!({ "code": failure.status, "message": message(failure), "status": status,
        "details": details });
    Refusal { headers: Vec::new(), body: json!({ "error": error }) }
}
