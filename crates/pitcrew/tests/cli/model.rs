//! The built-in agent with a model, in a plan.

use crate::support::*;
use pitcrew_testkit::{Sandbox, model::ModelServer};

const PLAN: &str = r#"
name = "by a model"

[[task]]
id = "port"
agent = "builtin"
region = "core"
checks = "grep -q 8080 core/port.txt"
prompt = """
Write down the port.
@say I look first
@usage 500 50
@read core/one.txt
@usage 1000 100
@write core/port.txt 8081
@usage 2000 200
@complete wrote the port
@when did not succeed
@usage 3000 300
@edit core/port.txt 8081 => 8080
@usage 4000 400
@complete mended the port
"""

[[task]]
id = "note"
depends_on = ["port"]
region = "ui"
command = "cp core/port.txt ui/port.txt"
"#;

fn with_model(server: &ModelServer) -> Sandbox {
    let mut sandbox = sandbox();
    sandbox.set("PITCREW_MODEL", "anthropic/scripted");
    sandbox.set("PITCREW_MODEL_ENDPOINT", &format!("{}/v1", server.url()));
    sandbox.set("PITCREW_MODEL_KEY_ENV", "ANTHROPIC_API_KEY");
    sandbox.set("ANTHROPIC_API_KEY", "the-secret-key");
    sandbox
}

/// A plan with words only needs no other program: the model works, a failed check is mended by the
/// next attempt, and the result lands.
#[test]
fn a_plan_with_a_model_lands() {
    let server = ModelServer::start();
    let sandbox = with_model(&server);
    let ran = sandbox.pitcrew(&["run", &sandbox.plan(PLAN), "--yes"]).expect(0);
    assert!(ran.stdout.contains("2 of 2 completed"), "{ran}");
    sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(0);
    assert_eq!(sandbox.read("ui/port.txt").trim(), "8080");
    let logs = sandbox.pitcrew(&["logs", "task-1"]).expect(0);
    assert!(logs.stdout.contains("I look first"), "{logs}");
    assert!(!logs.stdout.contains("the-secret-key"), "{logs}");
    let board = sandbox.pitcrew(&["status", "--all", "--json"]).expect(0).json();
    let attempts = board["tasks"][0]["attempts"].as_array().expect("attempts").iter();
    let tokens: Vec<(u64, u64)> = attempts
        .map(|it| &it["usage"])
        .filter_map(|it| Some((it["tokens_in"].as_u64()?, it["tokens_out"].as_u64()?)))
        .collect();
    assert_eq!(tokens, [(3_500, 350), (7_000, 700)], "{board}");
}

#[test]
fn without_a_model_words_are_refused_before_anything_starts() {
    let sandbox = sandbox();
    let plan = sandbox.plan(PLAN);
    for words in [&["plan", "check", &plan][..], &["run", &plan, "--yes"][..]] {
        let refused = sandbox.pitcrew(words).expect(2);
        refused.notes("no model is set that could do it").notes("PITCREW_MODEL=provider/name");
    }
    assert!(!sandbox.pitcrew(&["status", "--all"]).expect(0).stdout.contains("plan-1"));
}

/// A wrong key is no fault of the task.
#[test]
fn a_missing_key_is_named() {
    let server = ModelServer::start();
    let mut sandbox = with_model(&server);
    sandbox.unset("ANTHROPIC_API_KEY");
    sandbox.set("PITCREW_MODEL_KEY_ENV", "MY_OWN_KEY");
    let plan =
        sandbox.plan(&PLAN.replace("region = \"core\"", "region = \"core\"\nmax_attempts = 1"));
    let ran = sandbox.pitcrew(&["run", &plan, "--yes"]).expect(5);
    assert!(ran.stdout.contains("`MY_OWN_KEY` is not set"), "{ran}");
    assert_eq!(server.calls_count(), 0);
}
