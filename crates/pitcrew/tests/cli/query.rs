//! `pitcrew query` and `pitcrew symbols`, in the repository and in the copy of a task.

use crate::support::{await_task, checkout, gated, open_gate, sandbox};
use pitcrew_testkit::Sandbox;
use serde_json::Value;
use std::fs;

const AUTH: &str = "/// Checks tokens.\npub struct AuthValidator {\n    pub token: String,\n}\n";

fn with_sources() -> Sandbox {
    let sandbox = sandbox();
    sandbox.write("core/auth.rs", AUTH);
    sandbox.write("ui/auth.rs", "struct AuthValidator;\n");
    sandbox
}

#[test]
fn query_needs_no_plan_and_no_orchestrator() {
    let sandbox = with_sources();
    let found = sandbox.pitcrew(&["query", "AuthValidator"]).expect(0);
    let first = "struct AuthValidator (core/auth.rs:2-4)\n  pub struct AuthValidator\n  \
                 field pub token: String\n  doc: Checks tokens.\n";
    assert!(found.stdout.starts_with(first), "{found}");
    assert!(found.stdout.contains("struct AuthValidator (ui/auth.rs:1-1)"), "{found}");
    let context = ["query", "AuthValidator", "--context", "use crate::ui::auth::AuthValidator;"];
    let found = sandbox.pitcrew(&context).expect(0);
    assert!(found.stdout.starts_with("struct AuthValidator (ui/auth.rs:1-1)"), "{found}");
    assert!(sandbox.orchestrator().is_none(), "no orchestrator is running");

    let json = sandbox.pitcrew(&["query", "core/auth.rs:AuthValidator", "--json"]).expect(0);
    let json: Value = serde_json::from_str(&json.stdout).expect("a document");
    assert_eq!(json["matches"][0]["path"], "core/auth.rs");
    assert_eq!(json["matches"][0]["members"][0]["text"], "pub token: String");
    assert_eq!(json["matches"].as_array().map(Vec::len), Some(1));
}

/// S0-039
#[test]
fn unknown_symbol_lists_the_nearest_names() {
    let sandbox = with_sources();
    sandbox
        .pitcrew(&["query", "AuthValidater"])
        .expect(1)
        .notes("Symbol 'AuthValidater' not found in workspace symbol tree or active agents.")
        .notes("the nearest names are AuthValidator");
    let json = sandbox.pitcrew(&["query", "AuthValidater", "--json"]).expect(1);
    let json: Value = serde_json::from_str(&json.stdout).expect("a document");
    assert_eq!(json["nearest"][0], "AuthValidator");
    sandbox.pitcrew(&["query", "x", "--from", "task-9"]).expect(2).notes("there is no task-9");
    sandbox.pitcrew(&["query", "x", "--from", "unknown"]).expect(2).notes("no task `unknown`");
    let nowhere = Sandbox::without_repository(env!("CARGO_BIN_EXE_pitcrew"));
    nowhere.pitcrew(&["query", "x"]).expect(2).notes("not inside a git repository");
    nowhere.pitcrew(&["symbols", "x.rs"]).expect(2).notes("not inside a git repository");
}

#[test]
fn symbols_lists_the_outline_of_a_file() {
    let sandbox = with_sources();
    let shown = sandbox.pitcrew(&["symbols", "core/auth.rs"]).expect(0);
    assert_eq!(shown.stdout, "core/auth.rs (rust, 4 lines)\n      2-4  pub struct AuthValidator\n");
    let json = sandbox.pitcrew(&["symbols", "./core/../ui/auth.rs", "--json"]).expect(0);
    let json: Value = serde_json::from_str(&json.stdout).expect("a document");
    assert_eq!((&json["path"], &json["language"]), (&"ui/auth.rs".into(), &"rust".into()));
    assert_eq!(json["symbols"][0]["visibility"], "private");
    sandbox.write("notes.txt", "a\nb\n");
    sandbox.pitcrew(&["symbols", "notes.txt"]).expect(0).says("no source that can be read");
    for file in ["none.rs", "core", "../outside.rs", "/etc/passwd"] {
        sandbox.pitcrew(&["symbols", file]).expect(2).notes("there is no file");
    }
}

#[test]
fn query_from_a_task_sees_its_uncommitted_work() {
    let sandbox = with_sources();
    sandbox.commit("sources");
    let plan = sandbox.plan(&gated(&sandbox, "looks"));
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    await_task(&sandbox, "waits", "running");
    let place = checkout(&sandbox, "waits").join("core/auth.rs");
    fs::write(place, "pub struct AuthValidator { pub uncommitted: u8 }\n").expect("a file");
    let asked = ["query", "AuthValidator.uncommitted", "--from", "waits"];
    sandbox.pitcrew(&asked).expect(0).says("field pub uncommitted: u8");
    sandbox.pitcrew(&asked[..2]).expect(1);
    open_gate(&sandbox);
}
