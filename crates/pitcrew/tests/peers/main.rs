//! Our MCP server with other programs: the inspector and the conformance suites of the protocol.
//!
//! `cargo xtask test` installs them if npm can be reached; otherwise the tests are skipped.

use pitcrew_testkit::{Finished, Running, Sandbox, eventually, peer, skipped};
use serde_json::Value;
use std::{fs, path::PathBuf};

fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_pitcrew"))
}

/// A sandbox and the program of a peer; `None` if it is not installed.
fn with_peer(test: &str, name: &str) -> Option<(Sandbox, String)> {
    match peer(name) {
        Ok((program, interpreter)) => {
            let mut sandbox = sandbox();
            sandbox.prepend_to_path(&interpreter);
            Some((sandbox, program.display().to_string()))
        }
        Err(reason) => {
            skipped(test, &reason);
            None
        }
    }
}

/// The tools on the loopback, as the user's own agent gets them.
struct Loopback {
    url: String,
    token: String,
    serving: Running,
}

fn loopback(sandbox: &Sandbox) -> Loopback {
    let serving = sandbox.start(&["mcp", "--http", "--json"]);
    serving.await_result("token_file");
    let address: Value = eventually("the address is printed", || {
        serving.results().lines().find_map(|it| serde_json::from_str(it).ok())
    });
    let file = PathBuf::from(address["token_file"].as_str().expect("a file"));
    let token = fs::read_to_string(file).expect("a token").trim().to_owned();
    Loopback { url: address["url"].as_str().expect("an address").to_owned(), token, serving }
}

impl Loopback {
    fn end(self) {
        self.serving.interrupt();
        self.serving.wait().expect(130);
    }
}

fn inspect(sandbox: &Sandbox, program: &str, server: &[&str], asks: &[&str]) -> Finished {
    let words = [&["--cli"], server, asks].concat();
    sandbox.start_program(program, &words).wait()
}

/// S1-022, S1-024: the inspector lists and calls the tools over standard input and output.
#[test]
fn inspector_lists_and_calls_over_stdio() {
    let test = "inspector_lists_and_calls_over_stdio";
    let Some((sandbox, program)) = with_peer(test, "inspector") else { return };
    // The inspector passes on little of its environment.
    let folder = format!("XDG_RUNTIME_DIR={}", sandbox.environment()["XDG_RUNTIME_DIR"]);
    let server = ["-e", &folder, env!("CARGO_BIN_EXE_pitcrew"), "mcp"];
    let listed = inspect(&sandbox, &program, &server, &["--method", "tools/list"]).expect(0);
    let tools = listed.json()["tools"].as_array().cloned().expect("tools");
    let names: Vec<&str> = tools.iter().filter_map(|it| it["name"].as_str()).collect();
    assert!(names.contains(&"orchestrator_save_plan"), "{names:?}");
    let plan = "name = \"x\"\n\n[[task]]\nid = \"a\"\ncommand = \"true\"\n";
    let plan = format!("plan={plan}");
    let call = ["--method", "tools/call", "--tool-name", "orchestrator_save_plan", "--tool-arg"];
    let called = inspect(&sandbox, &program, &server, &[&call[..], &[&plan]].concat()).expect(0);
    assert_eq!(called.json()["structuredContent"]["plan"], "plan-1", "{called}");
}

/// The same over streamable HTTP; without the token, requests are refused.
#[test]
fn inspector_lists_and_calls_over_http() {
    let test = "inspector_lists_and_calls_over_http";
    let Some((sandbox, program)) = with_peer(test, "inspector") else { return };
    let loopback = loopback(&sandbox);
    let server = [loopback.url.as_str(), "--transport", "http"];
    let header = format!("Authorization: Bearer {}", loopback.token);
    let call = ["--method", "tools/call", "--tool-name", "orchestrator_list_workers", "--header"];
    let called = inspect(&sandbox, &program, &server, &[&call[..], &[&header]].concat()).expect(0);
    assert_eq!(called.json()["structuredContent"]["slots"]["taken"], 0, "{called}");
    let refused = inspect(&sandbox, &program, &server, &["--method", "tools/list"]);
    assert_ne!(refused.code, Some(0), "{refused}");
    loopback.end();
}

/// The suite cannot send a token, so a relay adds it.
fn relay(sandbox: &Sandbox, loopback: &Loopback) -> (Running, String) {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/with_token.mjs");
    let relay = sandbox.start_program("node", &[script, &loopback.url, &loopback.token]);
    relay.await_result("/mcp\n");
    let url = relay.results().trim().to_owned();
    (relay, url)
}

fn conforms(test: &str, name: &str, expected: &str, more: &[&str]) {
    let Some((sandbox, program)) = with_peer(test, name) else { return };
    let loopback = loopback(&sandbox);
    let (relay, url) = relay(&sandbox, &loopback);
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/");
    let expected = format!("{folder}{expected}");
    let words = ["server", "--url", url.as_str(), "--expected-failures", expected.as_str()];
    sandbox.start_program(&program, &[&words[..], more].concat()).wait().expect(0);
    relay.kill();
    loopback.end();
}

/// Up to 2025-11-25: with a handshake. The expected failures need tools that we do not offer.
#[test]
fn conformance_suite_passes() {
    conforms("conformance_suite_passes", "conformance", "conformance.yml", &[]);
}

/// 2026-07-28: without a handshake.
#[test]
fn next_conformance_suite_passes() {
    let era = ["--suite", "all", "--spec-version", "2026-07-28"];
    conforms("next_conformance_suite_passes", "conformance-next", "conformance-next.yml", &era);
}
