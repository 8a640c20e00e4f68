//! The MCP server with clients that make mistakes: each mistake is explained, and the session
//! continues.

use crate::support::sandbox;
use pitcrew_testkit::{Editor, Running, Sandbox, eventually};
use serde_json::{Value, json};
use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    time::Duration,
};

fn hello() -> Value {
    json!({"protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}})
}

/// A session of the user's own agent, and the response to its `initialize`.
fn session(sandbox: &Sandbox) -> (Editor, Value) {
    let mut client = sandbox.in_editor(&["mcp"]);
    let reply = client.call("initialize", &hello()).expect("a session");
    client.tell("notifications/initialized", &json!({}));
    (client, reply)
}

#[test]
fn invalid_line_is_answered_and_the_session_continues() {
    let sandbox = sandbox();
    let (mut client, _) = session(&sandbox);
    for (line, code, words) in [
        ("hello", -32700, "not JSON"),
        ("{\"jsonrpc\": \"2.0\", \"id\":", -32700, "not JSON"),
        ("[1]", -32600, "not an MCP message"),
    ] {
        client.write(line);
        let answer = client.await_frame(|it| it.get("error").is_some());
        assert_eq!(answer["error"]["code"], code, "{answer}");
        assert_eq!(answer.get("id"), Some(&Value::Null), "{answer}");
        let reply = answer["error"]["message"].as_str().expect("words");
        assert!(reply.contains(words), "{reply}");
    }
    client.write("");
    let tools = client.call("tools/list", &json!({})).expect("tools");
    assert!(tools.to_string().contains("orchestrator_save_plan"), "{tools}");
    assert_eq!(client.close(), Some(0));
}

#[test]
fn unknown_method_is_refused_with_the_known_ones() {
    let sandbox = sandbox();
    let (mut client, _) = session(&sandbox);
    for method in ["foo/bar", "prompts/get"] {
        let refused = client.call(method, &json!({"name": "x"})).expect_err("no such method");
        assert_eq!(refused["code"], -32601, "{refused}");
        let reply = refused["message"].as_str().expect("words");
        assert!(reply.contains(&format!("no method `{method}`")), "{reply}");
        assert!(reply.contains("`tools/list`"), "{reply}");
    }
}

#[test]
fn invalid_parameters_are_reported() {
    let sandbox = sandbox();
    let (mut client, _) = session(&sandbox);
    for params in [json!({"arguments": {}}), json!({"name": "x", "arguments": [1]})] {
        let refused = client.call("tools/call", &params).expect_err("bad parameters");
        assert_eq!(refused["code"], -32602, "{refused}");
        let reply = refused["message"].as_str().expect("words");
        assert!(reply.contains("`arguments`, an object"), "{reply}");
    }
}

#[test]
fn unknown_tool_is_refused_with_the_callers_tools() {
    let sandbox = sandbox();
    let (mut client, _) = session(&sandbox);
    let call = json!({"name": "nope", "arguments": {}});
    let reply = client.call("tools/call", &call).expect("a result")["content"][0]["text"].clone();
    let reply = reply.as_str().expect("words");
    assert!(reply.starts_with("there is no tool `nope`; your tools are: "), "{reply}");
    assert!(reply.contains("orchestrator_save_plan"), "{reply}");
    // A tool that is only for workers.
    assert!(!reply.contains("orchestrator_complete_task"), "{reply}");
}

#[test]
fn own_agent_gets_instructions_for_plans() {
    let sandbox = sandbox();
    let (_client, reply) = session(&sandbox);
    let reply = reply["instructions"].as_str().expect("instructions");
    for word in [
        "orchestrator_save_plan",
        "orchestrator_deploy_task",
        "a2a_spawn_subtask",
        "a2a_await_subtasks",
        "orchestrator_list_workers",
        "pitcrew land",
    ] {
        assert!(reply.contains(word), "no {word}: {reply}");
    }
    assert!(!reply.contains("orchestrator_complete_task"), "{reply}");
}

/// The tools on the loopback: the port, the token, and the process that keeps the port open.
fn loopback(sandbox: &Sandbox) -> (u16, String, Running) {
    let serving = sandbox.start(&["mcp", "--http", "--json"]);
    let reply: Value = eventually("the address is printed", || {
        serving.results().lines().find_map(|it| serde_json::from_str(it).ok())
    });
    let url = reply["url"].as_str().expect("an address");
    let port = url.split(['/', ':']).find_map(|it| it.parse().ok()).expect("a port");
    let token = fs::read_to_string(reply["token_file"].as_str().expect("a file"));
    (port, token.expect("a token").trim().to_owned(), serving)
}

/// The status and the body of the response.
fn post(port: u16, headers: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("somebody listens");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a time-out");
    let length = body.len();
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\
         Accept: application/json, text/event-stream\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
    )
    .expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let status = answer.split(' ').nth(1).and_then(|it| it.parse().ok()).expect("a status");
    let body = answer.split_once("\r\n\r\n").expect("a body").1;
    (status, body.to_owned())
}

#[test]
fn invalid_http_body_is_a_bad_request() {
    let sandbox = sandbox();
    let (port, token, _serving) = loopback(&sandbox);
    let as_json = format!("Authorization: Bearer {token}\r\nContent-Type: application/json\r\n");
    for (body, code) in [("{\"jsonrpc\": ", -32700), ("", -32700), ("{\"id\": 7}", -32600)] {
        let (status, reply) = post(port, &as_json, body);
        assert_eq!(status, 400, "{body}: {reply}");
        let reply: Value = serde_json::from_str(&reply).expect("JSON");
        assert_eq!(reply["error"]["code"], code, "{body}: {reply}");
        let id = if body.contains('7') { json!(7) } else { Value::Null };
        assert_eq!(reply.get("id"), Some(&id), "{body}: {reply}");
    }
    let as_text = as_json.replace("application/json", "text/plain");
    assert_eq!(post(port, &as_text, "{\"jsonrpc\": ").0, 415);
    let (status, reply) = post(port, &as_json, &" ".repeat(1_024 * 1_024 + 1));
    assert!(status == 413 && reply.contains("longer than"), "{status}: {reply}");
    let ask = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    let (status, reply) = post(port, &as_json, &ask);
    assert!(status == 200 && reply.contains("orchestrator_save_plan"), "{status}: {reply}");
}

#[test]
fn missing_token_error_says_where_it_is() {
    let sandbox = sandbox();
    let (port, _, _serving) = loopback(&sandbox);
    let nobodys = format!("Authorization: Bearer {}\r\n", "0".repeat(64));
    for headers in ["", "Authorization: Basic eA==\r\n", &nobodys] {
        let (status, reply) = post(port, headers, "{}");
        assert_eq!(status, 401, "{reply}");
        let reply: Value = serde_json::from_str(&reply).expect("JSON");
        let help = reply["help"].as_str().expect("what to do");
        assert!(help.contains("pitcrew mcp --http") && help.contains("mcp.token"), "{help}");
    }
}
