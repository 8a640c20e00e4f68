//! Agents that use their tools over HTTP, each with its own token.

use crate::support::*;
use pitcrew_testkit::{Sandbox, python};
use serde_json::Value;
use std::fs;

/// Completes with the server that its session was given, and writes to a file how it did so.
const AGENT: &str = r#"
import json, subprocess, sys, urllib.error, urllib.request

def ask(server, bearer, method, params):
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    if bearer:
        headers["Authorization"] = bearer
    request = urllib.request.Request(server["url"], json.dumps(body).encode(), headers)
    try:
        return urllib.request.urlopen(request, timeout=30).read().decode()
    except urllib.error.HTTPError as error:
        return str(error.code)
    except OSError:
        return "unreachable"

def work(server):
    report = {"kind": server.get("type", "stdio")}
    summary = {"summary": "asked"}
    if report["kind"] == "http":
        bearer = server["headers"][0]["value"]
        report["anonymous"] = ask(server, None, "tools/list", {})
        report["stranger"] = ask(server, "Bearer " + "0" * 64, "tools/list", {})
        tools = lambda: ask(server, bearer, "tools/list", {})
        report["tools"] = "orchestrator_complete_task" in tools()
        if WAITS:
            while tools() != "unreachable": pass
            while tools() == "unreachable": pass
    open("core/report.json", "w").write(json.dumps(report))
    if report["kind"] == "http":
        call = {"name": "orchestrator_complete_task", "arguments": summary}
        ask(server, bearer, "tools/call", call)
    else:
        subprocess.run(["pitcrew", "tool", "orchestrator_complete_task", "--json", json.dumps(summary)],
            stdout=subprocess.DEVNULL)

server = None
for line in sys.stdin:
    message = json.loads(line)
    result = {}
    if message.get("method") == "initialize":
        result = {"protocolVersion": 1, "agentCapabilities": {"mcpCapabilities": {"http": CAN}}}
    elif message.get("method") == "session/new":
        server = message["params"]["mcpServers"][0]
        result = {"sessionId": "s"}
    elif message.get("method") == "session/prompt":
        work(server)
        result = {"stopReason": "end_turn"}
    elif "id" not in message:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"#;

/// A repository with such an agent, `mcp = "http"` for its backend, and a plan for it.
fn scene(can: &str, waits: &str) -> (Sandbox, String) {
    let sandbox = sandbox();
    let program = sandbox.root().join("asks.py");
    fs::write(&program, AGENT.replace("CAN", can).replace("WAITS", waits)).expect("a program");
    let folder = sandbox.home().join(".config/pitcrew/backends");
    fs::create_dir_all(&folder).expect("a folder");
    let command = [python(), program.display().to_string()];
    let backend = format!("command = {command:?}\nmcp = \"http\"\n");
    fs::write(folder.join("asks.toml"), backend).expect("a backend");
    let task = "[[task]]\nid = \"asks\"\nregion = \"core\"\nagent = \"asks\"\nprompt = \"ask\"\n";
    let plan = sandbox.plan(&format!("name = \"ask\"\nmax_attempts = 1\n{task}"));
    (sandbox, plan)
}

fn report(sandbox: &Sandbox) -> Value {
    sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(0);
    serde_json::from_str(&sandbox.read("core/report.json")).expect("json")
}

/// A worker's own token opens the tools on the loopback, from inside its box; no other token does.
#[test]
fn capable_agent_gets_its_tools_over_http() {
    let (sandbox, plan) = scene("True", "False");
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
    let report = report(&sandbox);
    assert_eq!((&report["kind"], &report["tools"]), (&"http".into(), &true.into()));
    assert_eq!((&report["anonymous"], &report["stranger"]), (&"401".into(), &"401".into()));
}

#[test]
fn incapable_agent_starts_its_server_over_stdio() {
    let (sandbox, plan) = scene("False", "False");
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
    assert_eq!(report(&sandbox), serde_json::json!({"kind": "stdio"}));
}

/// The address that an agent was given stays valid after the orchestrator is killed.
#[test]
fn next_orchestrator_uses_the_same_port() {
    let (sandbox, plan) = scene("True", "True");
    let running = sandbox.start(&["run", &plan, "--yes"]);
    await_task(&sandbox, "asks", "running");
    sandbox.kill_orchestrator();
    running.wait().expect(0);
    assert_eq!(report(&sandbox)["kind"], "http");
}
