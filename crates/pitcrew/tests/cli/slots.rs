//! `--max-agents` is about one plan; a variable that has no effect is said.

use crate::support::*;
use pitcrew_testkit::eventually;
use std::fs;

const GATED: &str = r#"
name = "NAME"

[[task]]
id = "one"
region = "core/NAME-1"
command = "until [ -e 'GATE' ]; do sleep 0.02; done; mkdir -p core/NAME-1; echo 1 > core/NAME-1/a"

[[task]]
id = "two"
region = "core/NAME-2"
command = "until [ -e 'GATE' ]; do sleep 0.02; done; mkdir -p core/NAME-2; echo 1 > core/NAME-2/a"
"#;

#[test]
fn max_agents_limits_one_plan() {
    let sandbox = sandbox();
    let gate = sandbox.root().join("gate").display().to_string();
    let plan = |name: &str| {
        let path = sandbox.root().join(format!("{name}.toml"));
        fs::write(&path, GATED.replace("NAME", name).replace("GATE", &gate)).expect("a plan");
        path.display().to_string()
    };
    let small = ["run", &plan("small"), "--yes", "--detach", "--max-agents", "1"];
    sandbox.pitcrew(&small).expect(0);
    sandbox.pitcrew(&["run", &plan("other"), "--yes", "--detach"]).expect(0);
    let running = |plan: &str| {
        let board = sandbox.pitcrew(&["status", plan, "--json"]).expect(0).json();
        let tasks = board["tasks"].as_array().expect("tasks").clone();
        tasks.iter().filter(|it| it["status"] == "running").count()
    };
    eventually("the other plan uses two slots", || (running("plan-2") == 2).then_some(()));
    eventually("the small plan uses one", || (running("plan-1") == 1).then_some(()));
    let status = sandbox.pitcrew(&["status", "plan-1"]).expect(0);
    status.says("waits for a slot of its plan: 1 of 1 are taken");
    open_gate(&sandbox);
    sandbox.pitcrew(&["watch", "plan-1"]).expect(0).says("2 of 2 completed");
    sandbox.pitcrew(&["watch", "plan-2"]).expect(0).says("2 of 2 completed");
}

#[test]
fn a_variable_without_effect_is_said_in_one_line() {
    let mut sandbox = sandbox();
    sandbox.set("PITCREW_MAX_AGENTS", "2");
    sandbox.pitcrew(&["run", &sandbox.plan(TWO_COMMANDS), "--yes"]).expect(0);
    let same = sandbox.pitcrew(&["status"]).expect(0);
    assert!(!same.stderr.contains("no effect"), "{same}");
    sandbox.set("PITCREW_MAX_AGENTS", "3");
    let other = sandbox.pitcrew(&["status"]).expect(0);
    let notes: Vec<&str> = other.stderr.lines().filter(|it| it.contains("no effect")).collect();
    assert_eq!(
        notes,
        [
            "note: PITCREW_MAX_AGENTS has no effect: the orchestrator was started with another value; run `pitcrew stop` first"
        ]
    );
    sandbox.pitcrew(&["stop"]).expect(0);
    let started = sandbox.pitcrew(&["status"]).expect(0);
    assert!(!started.stderr.contains("no effect"), "{started}");
}
