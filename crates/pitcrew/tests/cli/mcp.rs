//! The MCP server and clients that get it wrong: each is told what, and can go on.

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

/// A session of a person's own agent, and what it was told at the beginning.
fn session(sandbox: &Sandbox) -> (Editor, Value) {
    let mut client = sandbox.in_editor(&["mcp"]);
    let told = client.call("initialize", &hello()).expect("a session");
    client.tell("notifications/initialized", &json!({}));
    (client, told)
}

#[test]
fn a_line_that_is_no_message_is_answered_and_the_session_goes_on() {
    let sandbox = sandbox();
    let (mut client, _) = session(&sandbox);
    for (line, code, words) in [
        ("hello", -32700, "no JSON"),
        ("{\"jsonrpc\": \"2.0\", \"id\":", -32700, "no JSON"),
        ("[1]", -32600, "no message"),
    ] {
        client.write(line);
        let answer = client.await_frame(|it| it.get("error").is_some());
        assert_eq!(answer["error"]["code"], code, "{answer}");
        assert_eq!(answer.get("id"), Some(&Value::Null), "{answer}");
        let told = answer["error"]["message"].as_str().expect("words");
        assert!(told.contains(words), "{told}");
    }
    client.write("");
    let tools = client.call("tools/list", &json!({})).expect("tools");
    assert!(tools.to_string().contains("orchestrator_save_plan"), "{tools}");
    assert_eq!(client.close(), Some(0));
}

#[test]
fn an_unknown_method_is_refused_with_what_there_is() {
    let sandbox = sandbox();
    let (mut client, _) = session(&sandbox);
    for method in ["foo/bar", "prompts/get"] {
        let refused = client.call(method, &json!({"name": "x"})).expect_err("no such method");
        assert_eq!(refused["code"], -32601, "{refused}");
        let told = refused["message"].as_str().expect("words");
        assert!(told.contains(&format!("no method `{method}`")), "{told}");
        assert!(told.contains("`tools/list`"), "{told}");
    }
}

#[test]
fn parameters_that_cannot_be_read_are_told_as_such() {
    let sandbox = sandbox();
    let (mut client, _) = session(&sandbox);
    for params in [json!({"arguments": {}}), json!({"name": "x", "arguments": [1]})] {
        let refused = client.call("tools/call", &params).expect_err("bad parameters");
        assert_eq!(refused["code"], -32602, "{refused}");
        let told = refused["message"].as_str().expect("words");
        assert!(told.contains("`arguments`, an object"), "{told}");
    }
}

#[test]
fn an_unknown_tool_is_refused_with_those_of_the_caller() {
    let sandbox = sandbox();
    let (mut client, _) = session(&sandbox);
    let call = json!({"name": "nope", "arguments": {}});
    let told = client.call("tools/call", &call).expect("a result")["content"][0]["text"].clone();
    let told = told.as_str().expect("words");
    assert!(told.starts_with("there is no tool `nope`; your tools are: "), "{told}");
    assert!(told.contains("orchestrator_save_plan"), "{told}");
    // For those who work on a task.
    assert!(!told.contains("orchestrator_complete_task"), "{told}");
}

#[test]
fn an_agent_from_outside_is_told_how_it_drives_plans() {
    let sandbox = sandbox();
    let (_client, told) = session(&sandbox);
    let told = told["instructions"].as_str().expect("instructions");
    for word in [
        "orchestrator_save_plan",
        "orchestrator_deploy_task",
        "a2a_spawn_subtask",
        "a2a_await_subtasks",
        "orchestrator_list_workers",
        "pitcrew land",
    ] {
        assert!(told.contains(word), "no {word}: {told}");
    }
    assert!(!told.contains("orchestrator_complete_task"), "{told}");
}

/// The tools on the loopback: where, the token, and who keeps them there.
fn loopback(sandbox: &Sandbox) -> (u16, String, Running) {
    let serving = sandbox.start(&["mcp", "--http", "--json"]);
    let told: Value = eventually("the address is told", || {
        serving.results().lines().find_map(|it| serde_json::from_str(it).ok())
    });
    let url = told["url"].as_str().expect("an address");
    let port = url.split(['/', ':']).find_map(|it| it.parse().ok()).expect("a port");
    let token = fs::read_to_string(told["token_file"].as_str().expect("a file"));
    (port, token.expect("a token").trim().to_owned(), serving)
}

/// The status and the body of the answer.
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
fn a_body_over_http_that_is_no_message_is_a_bad_request() {
    let sandbox = sandbox();
    let (port, token, _serving) = loopback(&sandbox);
    let as_json = format!("Authorization: Bearer {token}\r\nContent-Type: application/json\r\n");
    for (body, code) in [("{\"jsonrpc\": ", -32700), ("", -32700), ("{\"id\": 7}", -32600)] {
        let (status, told) = post(port, &as_json, body);
        assert_eq!(status, 400, "{body}: {told}");
        let told: Value = serde_json::from_str(&told).expect("JSON");
        assert_eq!(told["error"]["code"], code, "{body}: {told}");
        let id = if body.contains('7') { json!(7) } else { Value::Null };
        assert_eq!(told.get("id"), Some(&id), "{body}: {told}");
    }
    let as_text = as_json.replace("application/json", "text/plain");
    assert_eq!(post(port, &as_text, "{\"jsonrpc\": ").0, 415);
    let (status, told) = post(port, &as_json, &" ".repeat(1_024 * 1_024 + 1));
    assert!(status == 413 && told.contains("longer than"), "{status}: {told}");
    let ask = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    let (status, told) = post(port, &as_json, &ask);
    assert!(status == 200 && told.contains("orchestrator_save_plan"), "{status}: {told}");
}

#[test]
fn who_has_no_token_is_told_where_it_is() {
    let sandbox = sandbox();
    let (port, _, _serving) = loopback(&sandbox);
    let nobodys = format!("Authorization: Bearer {}\r\n", "0".repeat(64));
    for headers in ["", "Authorization: Basic eA==\r\n", &nobodys] {
        let (status, told) = post(port, headers, "{}");
        assert_eq!(status, 401, "{told}");
        let told: Value = serde_json::from_str(&told).expect("JSON");
        let help = told["help"].as_str().expect("what to do");
        assert!(help.contains("pitcrew mcp --http") && help.contains("mcp.token"), "{help}");
    }
}
