//! The vendors' APIs: parsing requests and formatting answers.
//!
//! One file for each. They translate and decide nothing.

mod openai_chat;
mod openai_responses;
mod anthropic;
mod gemini;
mod ollama;

use super::{conversation::Conversation, response::Reply, script::Failure};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    OpenAiChat,
    OpenAiResponses,
    Anthropic,
    Gemini,
    Ollama,
}

/// An error in a vendor's format.
pub(super) struct Refusal {
    pub headers: Vec<(&'static str, String)>,
    pub body: Value,
}

impl Dialect {
    pub fn read(self, request: &Value) -> Conversation {
        match self {
            Self::OpenAiChat => openai_chat::read(request),
            Self::OpenAiResponses => openai_responses::read(request),
            Self::Anthropic => anthropic::read(request),
            Self::Gemini => gemini::read(request),
            Self::Ollama => ollama::read(request),
        }
    }

    pub fn whole(self, reply: &Reply, model: &str) -> Value {
        match self {
            Self::OpenAiChat => openai_chat::whole(reply, model),
            Self::OpenAiResponses => openai_responses::whole(reply, model),
            Self::Anthropic => anthropic::whole(reply, model),
            Self::Gemini => gemini::whole(reply, model),
            Self::Ollama => ollama::whole(reply, model),
        }
    }

    /// The answer as chunks of a body, in order.
    pub fn streamed(self, reply: &Reply, model: &str) -> Vec<String> {
        match self {
            Self::OpenAiChat => openai_chat::streamed(reply, model),
            Self::OpenAiResponses => openai_responses::streamed(reply, model),
            Self::Anthropic => anthropic::streamed(reply, model),
            Self::Gemini => gemini::streamed(reply, model),
            Self::Ollama => ollama::streamed(reply, model),
        }
    }

    pub fn content_type_streamed(self) -> &'static str {
        match self {
            Self::OpenAiChat | Self::OpenAiResponses | Self::Anthropic | Self::Gemini => {
                "text/event-stream"
            }
            Self::Ollama => "application/x-ndjson",
        }
    }

    pub fn refusal(self, failure: &Failure) -> Refusal {
        let mut refusal = match self {
            Self::OpenAiChat | Self::OpenAiResponses => openai_chat::refusal(failure),
            Self::Anthropic => anthropic::refusal(failure),
            Self::Gemini => gemini::refusal(failure),
            Self::Ollama => ollama::refusal(failure),
        };
        if let Some(reset_s) = failure.reset_s {
            refusal.headers.push(("retry-after", reset_s.to_string()));
        }
        refusal
    }
}

/// The default text of a failure.
fn message(failure: &Failure) -> String {
    if !failure.message.is_empty() {
        return failure.message.clone();
    }
    let reason = match failure.status {
        400 => "the request is invalid",
        401 | 403 => "the key is invalid",
        404 => "there is no such model",
        429 => "the quota is used up",
        529 => "the service is overloaded",
        _ => "the service is broken",
    };
    format!("{reason}, as the script says")
}

/// A server-sent event without a name.
fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}

/// A server-sent event named by its `type`.
fn event(value: &Value) -> String {
    format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap_or_default())
}

/// A text in two chunks, so that the stream has several.
fn pieces(text: &str) -> Vec<&str> {
    let middle = (text.len() / 2..text.len()).find(|it| text.is_char_boundary(*it));
    let (first, second) = text.split_at(middle.unwrap_or(text.len()));
    [first, second].into_iter().filter(|it| !it.is_empty()).collect()
}

/// A name that is unique in this process.
fn unique(prefix: &str) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(1);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{prefix}_{}_{count}", std::process::id())
}

fn epoch_s() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |it| it.as_secs())
}

/// The list of models that some agents request first.
pub(super) fn models() -> Value {
    let model = json!({ "id": "scripted", "object": "model", "owned_by": "pitcrew", "created": 0 });
    json!({ "object": "list", "data": [model], "models": [{ "name": "models/scripted" }] })
}
