//! A service that returns prepared bytes, valid or not, in the format of `OpenAI`.

use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    sync::{Arc, Mutex},
};

pub struct Canned {
    address: String,
    heard: Arc<Mutex<Vec<Value>>>,
}

impl Canned {
    /// Answers one call after the other, and then stops.
    pub fn start(answers: Vec<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let log = heard.clone();
        std::thread::spawn(move || {
            for answer in answers {
                let (stream, _) = listener.accept().expect("a caller");
                let mut reader = BufReader::new(stream);
                let mut length = 0;
                loop {
                    let mut line = String::new();
                    reader.read_line(&mut line).expect("a header");
                    let line = line.trim().to_ascii_lowercase();
                    if let Some(count) = line.strip_prefix("content-length:") {
                        length = count.trim().parse().expect("a count");
                    }
                    if line.is_empty() {
                        break;
                    }
                }
                let mut body = vec![0; length];
                reader.read_exact(&mut body).expect("a body");
                log.lock().expect("the log").push(serde_json::from_slice(&body).expect("JSON"));
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
                let mut stream = reader.into_inner();
                // A caller that has read enough disconnects.
                stream.write_all(head.as_bytes()).ok();
                stream.write_all(answer.as_bytes()).ok();
            }
        });
        Self { address, heard }
    }

    pub fn setup(&self) -> Value {
        let endpoint = format!("http://{}/v1", self.address);
        json!({ "provider": "openai", "endpoint": endpoint, "key": "k" })
    }

    /// The messages of the newest call.
    pub fn heard(&self) -> Vec<Value> {
        let heard = self.heard.lock().expect("the log");
        heard.last().expect("a call")["messages"].as_array().expect("messages").clone()
    }

    pub fn calls_count(&self) -> usize {
        self.heard.lock().expect("the log").len()
    }
}

fn event(delta: &Value, finish: &Value) -> String {
    format!("data: {}\n\n", json!({ "choices": [{ "delta": delta, "finish_reason": finish }] }))
}

pub fn said(text: &str) -> String {
    let stop = event(&json!({}), &json!("stop"));
    format!("{}{stop}data: [DONE]\n\n", event(&json!({ "content": text }), &Value::Null))
}

/// An answer with calls: names and arbitrary argument text.
pub fn called(calls: &[(&str, &str)]) -> String {
    let calls = calls.iter().enumerate().map(|(index, (name, arguments))| {
        let function = json!({ "name": name, "arguments": arguments });
        json!({ "index": index, "id": format!("call-{index}"), "function": function })
    });
    let delta = json!({ "tool_calls": calls.collect::<Vec<_>>() });
    format!("{}data: [DONE]\n\n", event(&delta, &json!("tool_calls")))
}

/// The start of an answer whose end is missing.
pub fn broken_off(text: &str) -> String {
    event(&json!({ "content": text }), &Value::Null)
}
