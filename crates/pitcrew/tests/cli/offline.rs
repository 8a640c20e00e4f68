//! No network: agents wait until their provider can be reached, and no attempt is spent.

use crate::support::*;
use pitcrew_testkit::{eventually, model::ModelServer};

const PLAN: &str = r#"
name = "offline"

[[task]]
id = "port"
agent = "builtin"
region = "core"
max_attempts = 1
prompt = """
Write down the port.
@write core/port.txt 8080
@complete wrote the port
"""
"#;

#[test]
fn an_unreachable_provider_is_waited_for_and_a_retry_tries_at_once() {
    let server = ModelServer::start();
    let port: u16 = server.url().rsplit(':').next().and_then(|it| it.parse().ok()).expect("a port");
    let sandbox = with_model(&server);
    drop(server);
    sandbox.pitcrew(&["run", &sandbox.plan(PLAN), "--yes", "--detach"]).expect(0);
    let board = eventually("the agent waits", || {
        let board = sandbox.pitcrew(&["status", "plan-1", "--json"]).expect(0).json();
        (board["workers"][0]["status"] == "waiting_quota").then_some(board)
    });
    let reason = text(&board["tasks"][0]["reason"]);
    assert!(reason.starts_with("cannot reach 127.0.0.1: "), "{board}");
    let status = sandbox.pitcrew(&["status", "plan-1"]).expect(0);
    status.says("cannot reach 127.0.0.1");
    let _server = ModelServer::at_port(port).expect("the port is free again");
    sandbox.pitcrew(&["retry", "plan-1"]).expect(0).says("task-1 tries again now");
    await_task(&sandbox, "port", "completed");
    let board = sandbox.pitcrew(&["status", "plan-1", "--json"]).expect(0).json();
    assert_eq!(board["tasks"][0]["attempts"].as_array().map(Vec::len), Some(1), "{board}");
}

/// A second plan that starts meanwhile says so.
#[test]
fn a_new_plan_says_that_it_waits_for_the_network() {
    let server = ModelServer::start();
    let sandbox = with_model(&server);
    drop(server);
    let plan = sandbox.plan(PLAN);
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    eventually("the backend is held", || {
        let board = sandbox.pitcrew(&["status", "plan-1", "--json"]).expect(0).json();
        board["unreachable"]["builtin"].is_string().then_some(())
    });
    let second = sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    assert!(second.stderr.contains("waiting for builtin"), "{second}");
    assert!(second.stderr.contains("cannot reach 127.0.0.1"), "{second}");
}
