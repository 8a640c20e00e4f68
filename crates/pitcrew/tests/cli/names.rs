//! Files with names that are not UTF-8, and words about commands.

use crate::support::*;
use std::{ffi::OsStr, fs, os::unix::ffi::OsStrExt, path::Path};

#[test]
fn a_file_whose_name_is_not_utf8_can_be_changed() {
    let sandbox = sandbox();
    let name = OsStr::from_bytes(b"core/caf\xe9.txt");
    fs::write(sandbox.repo().join(name), "one\n").expect("a file");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "an old name"]);
    let plan = "name = \"latin\"\n[[task]]\nid = \"menu\"\nregion = \"core\"\ncommand = \"for it in core/caf*; do echo two >> \\\"$it\\\"; done\"\n";
    let ran = sandbox.pitcrew(&["run", &sandbox.plan(plan), "--yes"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    sandbox.pitcrew(&["diff", "plan-1"]).expect(0).says("+two");
    sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(0);
    assert_eq!(
        fs::read_to_string(sandbox.repo().join(Path::new(name))).expect("it is there"),
        "one\ntwo\n"
    );
    // A new name of this kind is refused, as on machines that cannot have it.
    let plan = "name = \"new\"\n[[task]]\nid = \"menu\"\nregion = \"core\"\nmax_attempts = 1\ncommand = \"touch \\\"core/$(printf 'th\\\\351')\\\"\"\n";
    let refused = sandbox.pitcrew(&["run", &sandbox.plan(plan), "--yes"]).expect(5);
    refused.says("not a portable file name");
}

#[test]
fn a_failed_command_is_called_a_command() {
    let sandbox = sandbox();
    let plan = "name = \"fails\"\n[[task]]\nid = \"make\"\nregion = \"core\"\nmax_attempts = 1\ncommand = \"exit 7\"\n";
    let ran = sandbox.pitcrew(&["run", &sandbox.plan(plan), "--yes"]).expect(5);
    let all = format!("{}{}", ran.stdout, ran.stderr);
    assert!(all.contains("the command failed: `exit 7`"), "{ran}");
    assert!(!all.contains("agent gave up"), "{ran}");
}

#[test]
fn a_paused_command_has_not_failed() {
    let sandbox = sandbox();
    let gate = sandbox.root().join("gate");
    let plan = format!(
        "name = \"pauses\"\n[[task]]\nid = \"waits\"\nregion = \"core\"\ncommand = \"until [ -e '{}' ]; do sleep 0.02; done; echo 1 > core/new.txt\"\n",
        gate.display()
    );
    sandbox.pitcrew(&["run", &sandbox.plan(&plan), "--yes", "--detach"]).expect(0);
    await_task(&sandbox, "waits", "running");
    sandbox.pitcrew(&["pause", "plan-1"]).expect(0);
    await_task(&sandbox, "waits", "pending");
    let logs = sandbox.pitcrew(&["logs", "task-1"]).expect(0);
    assert!(logs.stdout.contains("interrupted: it starts over"), "{logs}");
    let steps: Vec<&str> = logs.stdout.lines().filter(|it| !it.contains("prompt |")).collect();
    assert!(!steps.iter().any(|it| it.contains("failed")), "{logs}");
    open_gate(&sandbox);
    sandbox.pitcrew(&["resume", "plan-1"]).expect(0);
    let watched = sandbox.pitcrew(&["watch", "plan-1"]).expect(0);
    assert!(!format!("{}{}", watched.stdout, watched.stderr).contains("Failed"), "{watched}");
}

/// Every task and attempt meets the same failing setup: `run` shows one retry, and the log of an
/// attempt shows the command once.
#[test]
fn a_setup_failure_is_said_once() {
    let sandbox = sandbox();
    let task = |id: &str| {
        format!(
            "[[task]]\nid = \"{id}\"\nregion = \"{id}\"\nmax_attempts = 2\ncommand = \"true\"\n"
        )
    };
    let setup = "name = \"setup\"\nsetup = [\"echo broken tool chain; exit 4\"]\n";
    let plan = format!("{setup}{}{}", task("one"), task("two"));
    let ran = sandbox.pitcrew(&["run", &sandbox.plan(&plan), "--yes"]).expect(5);
    assert_eq!(ran.stderr.matches("Retrying").count(), 1, "{ran}");
    let logs = sandbox.pitcrew(&["logs", "task-1"]).expect(0);
    assert_eq!(logs.stdout.matches("failed with exit code 4").count(), 2, "{logs}");
    assert_eq!(logs.stdout.matches("failed: the setup").count(), 2, "{logs}");
}
