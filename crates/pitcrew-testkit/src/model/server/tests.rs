//! Each dialect on the wire: raw requests, raw responses.

use super::*;
use std::{
    io::{Read, Write},
    net::TcpStream,
};

struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|it| panic!("{it} in {}", self.body))
    }

    /// The documents of a stream of server-sent events.
    fn events(&self) -> Vec<Value> {
        let data = self.body.lines().filter_map(|it| it.strip_prefix("data: "));
        let data = data.filter(|it| *it != "[DONE]");
        data.map(|it| serde_json::from_str(it).unwrap_or_else(|e| panic!("{e} in {it}"))).collect()
    }
}

fn ask(server: &ModelServer, path: &str, request: &Value) -> Answer {
    let body = request.to_string();
    let mut stream = TcpStream::connect(server.address).expect("it listens");
    let length = body.len();
    let request = format!(
        "POST {path} HTTP/1.0\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    let (head, body) = answer.split_once("\r\n\r\n").expect("an answer has a head");
    let status = head.split(' ').nth(1).and_then(|it| it.parse().ok()).expect("a status");
    Answer { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
}

const SCRIPT: &str = "@usage 100 20 30\n@think hm\n@say going\n@bash ls -l";

fn openai_tools() -> Value {
    let function = json!({ "name": "bash", "parameters": { "type": "object",
        "properties": { "command": { "type": "string" } }, "required": ["command"] } });
    json!([{ "type": "function", "function": function }])
}

fn chat(prompt: &str, stream: bool) -> Value {
    json!({ "model": "m", "stream": stream, "tools": openai_tools(),
        "messages": [{ "role": "user", "content": [{ "type": "text", "text": prompt }] }] })
}

#[test]
fn openai_chat_is_answered_whole() {
    let server = ModelServer::start();
    let answer = ask(&server, "/v1/chat/completions", &chat(SCRIPT, false)).json();
    let said = &answer["choices"][0]["message"];
    assert_eq!((&said["content"], &said["reasoning_content"]), (&json!("going"), &json!("hm")));
    let call = &said["tool_calls"][0]["function"];
    assert_eq!(call, &json!({ "name": "bash", "arguments": r#"{"command":"ls -l"}"# }));
    assert_eq!(answer["choices"][0]["finish_reason"], "tool_calls");
    assert_eq!(answer["usage"]["prompt_tokens"], 100);
    assert_eq!(answer["usage"]["prompt_tokens_details"]["cached_tokens"], 30);
    assert_eq!(server.calls_count(), 1);
    assert_eq!(server.calls()[0].0, "/v1/chat/completions");
}

#[test]
fn openai_chat_is_streamed() {
    let server = ModelServer::start();
    let answer = ask(&server, "/v1/chat/completions", &chat(SCRIPT, true));
    assert!(answer.head.contains("text/event-stream"), "{}", answer.head);
    assert!(answer.body.ends_with("data: [DONE]\n\n"), "{}", answer.body);
    let events = answer.events();
    let deltas = || events.iter().map(|it| &it["choices"][0]["delta"]);
    let text: String = deltas().filter_map(|it| it["content"].as_str()).collect();
    let arguments: String =
        deltas().filter_map(|it| it["tool_calls"][0]["function"]["arguments"].as_str()).collect();
    assert_eq!((text.as_str(), arguments.as_str()), ("going", r#"{"command":"ls -l"}"#));
    assert_eq!(events.last().expect("events")["usage"]["completion_tokens"], 20);
}

fn responses(stream: bool) -> Value {
    let tools = json!([{ "type": "function", "name": "other", "parameters": {} },
        { "type": "namespace", "name": "mcp__pitcrew", "tools": [
            { "type": "function", "name": "orchestrator_complete_task", "parameters": {} }] }]);
    let input = json!([
        { "type": "message", "role": "user", "content": [{ "type": "input_text",
            "text": "@tool other {}\n@usage 100 20 30\n@say going\n@complete it" }] },
        { "type": "function_call", "name": "other", "call_id": "1", "arguments": "{}" },
        { "type": "function_call_output", "call_id": "1", "output": "ok" },
    ]);
    json!({ "model": "m", "stream": stream, "instructions": "be nice", "input": input, "tools": tools })
}

#[test]
fn openai_responses_are_answered_whole() {
    let server = ModelServer::start();
    let answer = ask(&server, "/v1/responses", &responses(false)).json();
    assert_eq!(answer["status"], "completed");
    assert_eq!(answer["output"][0]["content"][0]["text"], "going");
    let call = &answer["output"][1];
    assert_eq!(
        (&call["type"], &call["namespace"]),
        (&json!("function_call"), &json!("mcp__pitcrew"))
    );
    assert_eq!(call["arguments"], r#"{"summary":"it"}"#);
    assert_eq!(answer["usage"]["input_tokens_details"]["cached_tokens"], 30);
}

#[test]
fn openai_responses_are_streamed() {
    let server = ModelServer::start();
    let events = ask(&server, "/v1/responses", &responses(true)).events();
    let text_of = |kind: &str| -> String {
        let deltas = events.iter().filter(|it| it["type"] == kind);
        deltas.filter_map(|it| it["delta"].as_str()).collect()
    };
    assert_eq!(text_of("response.output_text.delta"), "going");
    assert_eq!(text_of("response.function_call_arguments.delta"), r#"{"summary":"it"}"#);
    let last = events.last().expect("events");
    assert_eq!(
        (&last["type"], &last["response"]["usage"]["total_tokens"]),
        (&json!("response.completed"), &json!(120))
    );
    let numbers = events.iter().map(|it| it["sequence_number"].as_u64());
    assert!(numbers.eq((0..).map(Some).take(events.len())));
}

fn messages(stream: bool) -> Value {
    let tool = json!({ "name": "Bash", "input_schema": { "type": "object",
        "properties": { "command": { "type": "string" } }, "required": ["command"] } });
    json!({ "model": "m", "stream": stream, "max_tokens": 9, "tools": [tool],
        "system": [{ "type": "text", "text": "be nice" }],
        "messages": [
            { "role": "user", "content": "@bash first\n@usage 100 20 30\n@think hm\n@say going\n@bash ls -l" },
            { "role": "assistant", "content": [{ "type": "tool_use", "id": "1", "name": "Bash", "input": {} }] },
            { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "1", "content": "ok" },
                { "type": "text", "text": "<system-reminder>" }] }] })
}

#[test]
fn anthropic_is_answered_whole() {
    let server = ModelServer::start();
    let answer = ask(&server, "/v1/messages?beta=true", &messages(false)).json();
    let blocks = answer["content"].as_array().expect("blocks");
    let kinds: Vec<&str> = blocks.iter().filter_map(|it| it["type"].as_str()).collect();
    assert_eq!(kinds, ["thinking", "text", "tool_use"]);
    assert_eq!(blocks[2]["input"], json!({ "command": "ls -l" }));
    assert_eq!(answer["stop_reason"], "tool_use");
    let usage = &answer["usage"];
    assert_eq!(
        (&usage["input_tokens"], &usage["cache_read_input_tokens"]),
        (&json!(70), &json!(30))
    );
    let count = ask(&server, "/v1/messages/count_tokens", &messages(false)).json();
    assert!(count["input_tokens"].as_u64() > Some(0), "{count}");
}

#[test]
fn anthropic_is_streamed() {
    let server = ModelServer::start();
    let events = ask(&server, "/v1/messages", &messages(true)).events();
    let pieces = |key: &str| -> String {
        events.iter().filter_map(|it| it["delta"][key].as_str()).collect()
    };
    assert_eq!((pieces("thinking"), pieces("text")), ("hm".into(), "going".into()));
    assert_eq!(pieces("partial_json"), r#"{"command":"ls -l"}"#);
    assert_eq!(pieces("stop_reason"), "tool_use");
    assert_eq!(events[0]["type"], "message_start");
    assert_eq!(events.last().expect("events")["type"], "message_stop");
}

fn contents(script: &str) -> Value {
    let tool = json!({ "name": "run_shell_command", "parametersJsonSchema": {
        "properties": { "command": { "type": "string" } }, "required": ["command"] } });
    json!({ "systemInstruction": { "parts": [{ "text": "be nice" }] },
        "tools": [{ "functionDeclarations": [tool] }],
        "contents": [{ "role": "user", "parts": [{ "text": script }] }] })
}

#[test]
fn gemini_is_answered_whole_and_streamed() {
    let server = ModelServer::start();
    let at = |verb: &str| format!("/v1beta/models/m-1:{verb}");
    let whole = ask(&server, &at("generateContent"), &contents(SCRIPT)).json();
    let parts = &whole["candidates"][0]["content"]["parts"];
    assert_eq!((&parts[0]["thought"], &parts[1]["text"]), (&json!(true), &json!("going")));
    assert_eq!(parts[2]["functionCall"]["args"], json!({ "command": "ls -l" }));
    assert_eq!(whole["usageMetadata"]["cachedContentTokenCount"], 30);
    assert_eq!(whole["modelVersion"], "m-1");
    let streamed = ask(&server, &at("streamGenerateContent?alt=sse"), &contents(SCRIPT)).events();
    let parts = || streamed.iter().map(|it| &it["candidates"][0]["content"]["parts"][0]);
    let text: String =
        parts().filter(|it| it["thought"] != true).filter_map(|it| it["text"].as_str()).collect();
    assert_eq!(text, "going");
    assert!(parts().any(|it| it["functionCall"]["name"] == "run_shell_command"));
    assert_eq!(streamed.last().expect("events")["usageMetadata"]["totalTokenCount"], 120);
    let listed = ask(&server, &at("streamGenerateContent"), &contents(SCRIPT)).json();
    assert_eq!(listed.as_array().map(Vec::len), Some(1));
    let count = ask(&server, &at("countTokens"), &contents(SCRIPT)).json();
    assert!(count["totalTokens"].as_u64() > Some(0), "{count}");
}

#[test]
fn ollama_streams_by_default() {
    let server = ModelServer::start();
    let mut request = chat(SCRIPT, false);
    request["messages"][0]["content"] = json!(SCRIPT);
    let whole = ask(&server, "/api/chat", &request).json();
    assert_eq!(whole["message"]["content"], "going");
    let call = &whole["message"]["tool_calls"][0]["function"];
    assert_eq!(call, &json!({ "name": "bash", "arguments": { "command": "ls -l" } }));
    assert_eq!((&whole["prompt_eval_count"], &whole["done"]), (&json!(100), &json!(true)));
    request.as_object_mut().expect("an object").remove("stream");
    let body = ask(&server, "/api/chat", &request).body;
    let lines: Vec<Value> =
        body.lines().map(|it| serde_json::from_str(it).expect("a document a line")).collect();
    let text: String = lines.iter().filter_map(|it| it["message"]["content"].as_str()).collect();
    assert_eq!(text, "going");
    assert_eq!(lines.last().expect("lines")["eval_count"], 20);
}

#[test]
fn errors_have_each_vendors_format() {
    let server = ModelServer::start();
    let failing = |fail: &str| format!("@fail {fail}");
    let answer = ask(&server, "/v1/chat/completions", &chat(&failing("401"), true));
    assert_eq!((answer.status, &answer.json()["error"]["code"]), (401, &json!("invalid_api_key")));
    let answer = ask(&server, "/v1/chat/completions", &chat(&failing("429 reset=30s"), true));
    assert!(answer.head.contains("retry-after: 30\r\n"), "{}", answer.head);
    let mut request = messages(true);
    request["messages"] = json!([{ "role": "user", "content": failing("429 reset=1m gone") }]);
    let answer = ask(&server, "/v1/messages", &request);
    assert_eq!(answer.json()["error"], json!({ "type": "rate_limit_error", "message": "gone" }));
    assert!(answer.head.contains("anthropic-ratelimit-unified-reset: "), "{}", answer.head);
    let path = "/v1beta/models/m:streamGenerateContent?alt=sse";
    let answer = ask(&server, path, &contents(&failing("429 reset=30s")));
    assert_eq!(answer.json()["error"]["status"], "RESOURCE_EXHAUSTED");
    assert_eq!(answer.json()["error"]["details"][0]["retryDelay"], "30s");
    let answer = ask(&server, "/api/chat", &chat(&failing("500"), false));
    assert_eq!(answer.status, 500);
    assert!(answer.json()["error"].is_string());
    let answer = ask(&server, "/v1/nothing", &json!({}));
    assert_eq!(answer.status, 404);
}

#[test]
fn a_failure_that_occurs_once_is_over_at_the_second_call() {
    let server = ModelServer::start();
    let request = chat("@fail 500 once\n@bash ls", false);
    assert_eq!(ask(&server, "/v1/chat/completions", &request).status, 500);
    assert_eq!(ask(&server, "/v1/chat/completions", &request).status, 200);
    let other = chat("Another session.\n@fail 500 once\n@bash ls", false);
    assert_eq!(ask(&server, "/v1/chat/completions", &other).status, 500);
}

#[test]
fn a_quota_is_available_again_after_its_time() {
    let server = ModelServer::start();
    let asked = || {
        let request = chat("@fail 429 reset=1s\n@bash ls", false);
        ask(&server, "/v1/chat/completions", &request).status
    };
    assert_eq!(asked(), 429);
    crate::eventually("the quota is filled", || (asked() == 200).then_some(()));
}

#[test]
fn a_dropped_server_stops() {
    let server = ModelServer::start();
    let address = server.address;
    drop(server);
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn a_response_is_held_until_it_is_released() {
    let server = ModelServer::start();
    let prompt = chat("@hold gate\n@bash ls", false);
    let answer = std::thread::scope(|scope| {
        let asked = scope.spawn(|| ask(&server, "/v1/chat/completions", &prompt).json());
        crate::eventually("the answer is held", || server.has_held("gate").then_some(()));
        assert!(!asked.is_finished());
        server.release("gate");
        asked.join().expect("an answer")
    });
    assert!(answer.to_string().contains("ls"), "{answer}");
}

#[test]
fn prompts_and_tokens_are_counted() {
    let server = ModelServer::start();
    let mut conversation = chat("@usage 100 20\n@bash ls\n@usage 7 3\n@bash pwd", false);
    ask(&server, "/v1/chat/completions", &conversation);
    let result = json!({ "role": "tool", "tool_call_id": "1", "content": "done" });
    conversation["messages"].as_array_mut().expect("a list").push(result);
    ask(&server, "/v1/chat/completions", &conversation);
    assert_eq!((server.begun_count("bash ls"), server.begun_count("else")), (1, 0));
    assert_eq!(server.tokens_reported("bash ls"), (107, 23));
    assert_eq!(server.tokens_reported("else"), (0, 0));
    ask(&server, "/v1/chat/completions", &chat("@bash ls", false));
    assert_eq!(server.begun_count("bash ls"), 2);
}
