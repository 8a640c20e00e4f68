//! Saved work can be restored, regardless of the fate of the agent.

use crate::support::*;
use pitcrew_testkit::{Sandbox, eventually};
use serde_json::Value;
use std::fs;

/// A task that writes two files and continues with `steps`.
fn writes(steps: &str) -> String {
    format!(
        r#"
name = "restore"
max_attempts = 1

[[task]]
id = "writes"
region = "core"
script = '''
write "core/new file.txt" <<END
first
END
run printf 'a\000b\377' > core/bytes
{steps}
'''
"#
    )
}

/// Waits for this many snapshots: the last state of an attempt is saved after its end is reported.
fn await_snapshots(sandbox: &Sandbox, count: usize) -> Vec<Value> {
    eventually(&format!("{count} snapshots"), || {
        let list = sandbox.pitcrew(&["restore", "task-1", "--list", "--json"]).expect(0).json();
        let snapshots = list["snapshots"].as_array().cloned().unwrap_or_default();
        (snapshots.len() >= count).then_some(snapshots)
    })
}

/// Restores, and returns the branch.
#[track_caller]
fn restore(sandbox: &Sandbox, more: &[&str]) -> String {
    let arguments = [&["restore", "task-1", "--json"], more].concat();
    text(&sandbox.pitcrew(&arguments).expect(0).json()["branch"])
}

/// Asserts that the branch has the task's files, byte for byte.
#[track_caller]
fn assert_there(sandbox: &Sandbox, branch: &str) {
    assert_eq!(sandbox.git(&["show", &format!("{branch}:core/new file.txt")]), "first");
    sandbox.git(&["worktree", "add", "--quiet", "--detach", "../looked-at", branch]);
    let bytes = fs::read(sandbox.root().join("looked-at/core/bytes")).expect("a file");
    assert_eq!(bytes, b"a\0b\xff");
    sandbox.git(&["worktree", "remove", "../looked-at"]);
}

/// The checkout, index and HEAD of the user.
fn untouched(sandbox: &Sandbox) -> (String, Vec<u8>, String, String) {
    let index = fs::read(sandbox.repo().join(".git/index")).expect("an index");
    let head = sandbox.git(&["symbolic-ref", "HEAD"]);
    (sandbox.git(&["rev-parse", "main"]), index, head, sandbox.read("core/one.txt"))
}

#[test]
fn work_of_a_killed_agent_is_restored_exactly() {
    let sandbox = sandbox();
    let plan = sandbox.plan(&writes("run kill -9 $PPID"));
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(5);
    sandbox.git(&["update-index", "--refresh"]);
    await_snapshots(&sandbox, 1);
    let before = untouched(&sandbox);
    let branch = restore(&sandbox, &[]);
    assert_eq!(branch, "pitcrew/restore/task-1-writes-1");
    assert_eq!(untouched(&sandbox), before);
    assert_there(&sandbox, &branch);
    let left = sandbox.git(&["for-each-ref", "refs/pitcrew"]);
    assert_eq!(left, "", "nothing of ours is left in the user's repository");

    // The same state gives the same branch; a branch with other content is never overwritten.
    assert_eq!(restore(&sandbox, &["--at", "1"]), branch);
    sandbox.git(&["branch", "--force", &branch, "main"]);
    let other = restore(&sandbox, &[]);
    assert_eq!(other, "pitcrew/restore/task-1-writes-1-2");
    assert_eq!(sandbox.git(&["rev-parse", &branch]), sandbox.git(&["rev-parse", "main"]));
    let said = sandbox.pitcrew(&["restore", "writes"]).expect(0);
    said.says("restored snapshot 1 of task-1 as").notes("2 files, +").notes("git merge");
}

/// The agent continues only after the end of its first turn has been saved.
#[test]
fn turn_end_is_saved_before_the_agent_deletes_it() {
    let sandbox = sandbox();
    let steps = "ask May I go on?\nrun rm -rf core .git\nexit 1";
    let plan = sandbox.plan(&writes(steps));
    let running = sandbox.start(&["run", &plan, "--yes"]);
    await_request(&sandbox);
    sandbox.pitcrew(&["answer", "request-1", "yes"]).expect(0);
    running.wait().expect(5);
    let kept = await_snapshots(&sandbox, 2);
    assert_eq!((&kept[0]["kind"], &kept[1]["kind"]), (&"snapshot".into(), &"saved".into()));
    assert_there(&sandbox, &restore(&sandbox, &["--at", "1"]));
    let last = restore(&sandbox, &[]);
    assert_eq!(sandbox.git(&["ls-tree", "-r", "--name-only", &last]), "ui/two.txt");
    sandbox.pitcrew(&["restore", "task-1", "--list"]).expect(0).says("taken during the attempt");
}

#[test]
fn cancelled_and_abandoned_work_can_be_restored() {
    let sandbox = sandbox();
    let plan = sandbox.plan(&writes("run until [ -e core/go ]; do sleep 0.02; done"));
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    await_task(&sandbox, "writes", "running");
    let path = checkout(&sandbox, "task-1").display().to_string();
    eventually("the agent has written", || {
        (fs::read(format!("{path}/core/bytes")).ok()? == b"a\0b\xff").then_some(())
    });
    sandbox.pitcrew(&["cancel", "plan-1"]).expect(0);
    await_snapshots(&sandbox, 1);
    sandbox.pitcrew(&["watch", "plan-1"]).says("pitcrew logs task-1; pitcrew restore task-1");
    eventually("the work is saved", || {
        let given_up = sandbox.pitcrew(&["abandon", "task-1"]);
        (given_up.code == Some(0)).then_some(())
    });
    eventually("the checkout is removed", || (!std::path::Path::new(&path).exists()).then_some(()));
    assert_there(&sandbox, &restore(&sandbox, &[]));
}

#[test]
fn missing_snapshots_are_reported() {
    let sandbox = sandbox();
    sandbox.pitcrew(&["restore", "task-1"]).expect(2).notes("there is no task-1");
    let plan = sandbox.plan(
        "name = \"two\"\n[[task]]\nid = \"idle\"\nregion = \"ui\"\ncommand = \"true\"\n\
         [[task]]\nid = \"busy\"\nregion = \"core\"\ncommand = \"echo 2 > core/two.txt\"\n",
    );
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
    sandbox.pitcrew(&["restore", "idle"]).expect(6).notes("nothing of task-1 is kept");
    sandbox
        .pitcrew(&["restore", "idle", "--list"])
        .expect(0)
        .says("nothing of task-1 has been saved");
    let range = sandbox.pitcrew(&["restore", "busy", "--at", "7"]).expect(2);
    range.notes("task-2 has no snapshot 7: there is only number 1");
    // Submitted work can be restored too.
    let branch = sandbox.pitcrew(&["restore", "busy", "--json"]).expect(0).json();
    assert_eq!(branch["snapshot"]["files_count"], 1);
    let shown = sandbox.git(&["show", &format!("{}:core/two.txt", text(&branch["branch"]))]);
    assert_eq!(shown, "2");
}
