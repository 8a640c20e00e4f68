//! Helpers of these tests.

use pitcrew_testkit::{Sandbox, eventually, model::ModelServer};
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
};

pub fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_pitcrew"))
}

/// A sandbox whose built-in agent uses the server's model.
pub fn with_model(server: &ModelServer) -> Sandbox {
    let mut sandbox = sandbox();
    sandbox.set("PITCREW_MODEL", "anthropic/scripted");
    sandbox.set("PITCREW_MODEL_ENDPOINT", &format!("{}/v1", server.url()));
    sandbox.set("PITCREW_MODEL_KEY_ENV", "ANTHROPIC_API_KEY");
    sandbox.set("ANTHROPIC_API_KEY", "the-secret-key");
    sandbox
}

/// Two commands, the second depending on the first.
pub const TWO_COMMANDS: &str = r#"
name = "tidy up"

[[task]]
id = "first"
command = "echo 1 > core/new.txt"
region = "core"
checks = "grep -q 1 core/new.txt"

[[task]]
id = "second"
command = "cat core/new.txt core/new.txt > ui/new.txt"
region = "ui"
depends_on = ["first"]
expected_files = ["ui/new.txt"]
"#;

/// A task that waits for `open_gate`.
pub fn gated(sandbox: &Sandbox, name: &str) -> String {
    let gate = sandbox.root().join("gate");
    format!(
        r#"
name = "{name}"

[[task]]
id = "waits"
region = "core"
script = """
run until [ -e '{}' ]; do sleep 0.02; done
write core/new.txt <<END
through the gate
END
complete went through
"""
"#,
        gate.display()
    )
}

pub fn open_gate(sandbox: &Sandbox) {
    fs::write(sandbox.root().join("gate"), "").expect("a file");
}

/// A task whose check passes once `correct` has been called.
pub fn fallible(sandbox: &Sandbox) -> String {
    let source = sandbox.root().join("source");
    fs::write(&source, "wrong").expect("a file");
    format!(
        r#"
name = "fallible"

[[task]]
id = "copies"
region = "core"
command = "cp '{}' core/copy.txt"
checks = "grep -q right core/copy.txt"
max_attempts = 1
"#,
        source.display()
    )
}

pub fn correct(sandbox: &Sandbox) {
    fs::write(sandbox.root().join("source"), "right").expect("a file");
}

/// The checkout of a task's first attempt.
pub fn checkout(sandbox: &Sandbox, key: &str) -> PathBuf {
    let board = sandbox.pitcrew(&["status", "--all", "--json"]).expect(0).json();
    let tasks = board["tasks"].as_array().expect("tasks");
    let task = tasks.iter().find(|it| it["key"] == key || it["id"] == key).expect("the task");
    PathBuf::from(text(&task["attempts"][0]["path"]))
}

/// The status of a task by its key.
pub fn task_status(sandbox: &Sandbox, key: &str) -> String {
    let board = sandbox.pitcrew(&["status", "--all", "--json"]).expect(0).json();
    let tasks = board["tasks"].as_array().expect("tasks");
    let task = tasks.iter().find(|it| it["key"] == key);
    task.map(|it| text(&it["status"])).unwrap_or_default()
}

pub fn plan_status(sandbox: &Sandbox, plan: &str) -> String {
    let board = sandbox.pitcrew(&["status", plan, "--json"]).expect(0).json();
    text(&board["plans"][0]["status"])
}

pub fn await_task(sandbox: &Sandbox, key: &str, status: &str) {
    eventually(&format!("{key} is {status}"), || {
        (task_status(sandbox, key) == status).then_some(())
    });
}

/// Waits until a request is open.
pub fn await_request(sandbox: &Sandbox) -> Value {
    eventually("a request is open", || {
        let inbox = sandbox.pitcrew(&["inbox", "--json"]).expect(0).json();
        inbox["open"].as_array().and_then(|it| it.first().cloned())
    })
}

pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Whether a process holds a lock on the file. Process ids are not usable across boxes.
pub fn is_locked(lock: &Path) -> bool {
    let Ok(file) = fs::File::open(lock) else { return false };
    rustix::fs::flock(file, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_err()
}
