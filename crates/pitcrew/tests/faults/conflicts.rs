//! Conflicting tasks, and a user who works while the plan runs.

use crate::support::*;
use pitcrew_model::{Failure, TaskId, TaskStatus};
use pitcrew_testkit::Sandbox;
use std::fs;

/// S0-069: the conflict names the files and the other task; the next attempt gets it in its prompt
/// and starts afresh.
#[test]
fn next_attempt_resolves_an_integration_conflict() {
    let sandbox = sandbox();
    let gate = sandbox.root().join("gate");
    let wait = wait_at(&gate);
    let plan = format!(
        r#"
name = "together"
overlap = "allow"

[[task]]
id = "quick"
region = "core"
script = '''
write core/one.txt <<END
quick
END
complete it is quick now
'''

[[task]]
id = "slow"
region = "core"
max_attempts = 2
script = '''
unless "conflict in" run {wait}
unless "conflict in" write core/one.txt <<END
slow
END
when "conflict in core/one.txt with task-1" edit core/one.txt <<OLD
quick
OLD
<<NEW
quick and slow
NEW
complete it is slow now
'''
"#
    );
    sandbox.pitcrew(&["run", &sandbox.plan(&plan), "--yes", "--detach"]).expect(0);
    await_reached(&gate);
    await_task(&sandbox, "quick", TaskStatus::Completed);
    open_gate(&gate);
    sandbox.pitcrew(&["watch", "plan-1"]).expect(0).says("2 of 2 completed");
    let board = board(&sandbox);
    let slow = task_of(&board, "slow");
    let conflict = Failure::Conflict { paths: vec!["core/one.txt".into()], with: vec![TaskId(1)] };
    assert_eq!(slow.attempts[0].failure, Some(conflict));
    assert_eq!(slow.attempts.len(), 2);
    sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(0);
    assert_eq!(sandbox.read("core/one.txt"), "quick and slow\n");
}

fn edits(name: &str, text: &str) -> String {
    format!(
        "name = \"{name}\"\n[[task]]\nid = \"edit\"\nregion = \"core\"\ncommand = \"echo {text} > core/one.txt\"\n"
    )
}

/// S4-013, S1-052: two plans at once, with tasks of the same name; the later landing conflicts and
/// changes nothing.
#[test]
fn two_plans_with_the_same_file_land_in_turn() {
    let sandbox = sandbox();
    for (name, text) in [("one", "first"), ("two", "second")] {
        let plan = sandbox.plan(&edits(name, text));
        sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    }
    sandbox.pitcrew(&["watch"]).expect(0);
    sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(0);
    let before = snapshot_of_the_user(&sandbox);
    let refused = sandbox.pitcrew(&["land", "plan-2", "--yes"]).expect(8);
    assert!(refused.stderr.contains("conflict in core/one.txt"), "{refused}");
    assert!(refused.stderr.contains("pitcrew diff plan-2 | git apply --3way"), "{refused}");
    assert!(refused.stderr.contains("your branch was not changed"), "{refused}");
    assert_eq!(snapshot_of_the_user(&sandbox), before);
    let board = board(&sandbox);
    assert_eq!(board.plans[1].landing.status.to_string(), "conflict");
    // The plan can be landed once the cause is fixed.
    sandbox.write("core/one.txt", "one\n");
    sandbox.commit("as before");
    sandbox.pitcrew(&["land", "plan-2", "--yes"]).expect(0);
    assert_eq!(sandbox.read("core/one.txt"), "second\n");
}

#[track_caller]
fn finished(sandbox: &Sandbox) {
    let plan = sandbox.plan(
        "name = \"files\"\n[[task]]\nid = \"new\"\nregion = \"core\"\ncommand = \"echo a > core/a.txt; echo changed > core/one.txt\"\n",
    );
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
}

/// Lands the plan of `finished`, which must not touch the user's checkout and must put the merge on
/// a separate branch.
#[track_caller]
fn lands_on_a_separate_branch(sandbox: &Sandbox, reason: &str) {
    let before = snapshot_of_the_user(sandbox);
    let landed = sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(10);
    assert!(landed.stdout.contains("pitcrew/plan-1-files"), "{landed}");
    // The review lists the files.
    assert!(landed.stderr.contains("M  core/one.txt  +1  -1"), "{landed}");
    let output = format!("{}{}", landed.stdout, landed.stderr);
    assert!(output.contains(reason), "{landed}");
    assert_eq!(snapshot_of_the_user(sandbox), before);
    assert_eq!(sandbox.git(&["show", "pitcrew/plan-1-files:core/a.txt"]), "a");
    assert_eq!(sandbox.git(&["show", "pitcrew/plan-1-files:core/one.txt"]), "changed");
}

#[test]
fn landing_keeps_a_dirty_tree() {
    let sandbox = sandbox();
    finished(&sandbox);
    sandbox.write("ui/two.txt", "not finished yet\n");
    lands_on_a_separate_branch(&sandbox, "uncommitted changes");
}

#[test]
fn landing_keeps_a_staged_change() {
    let sandbox = sandbox();
    finished(&sandbox);
    sandbox.write("core/one.txt", "staged\n");
    sandbox.git(&["add", "core/one.txt"]);
    lands_on_a_separate_branch(&sandbox, "uncommitted changes");
}

#[test]
fn landing_keeps_an_untracked_file_in_the_way() {
    let sandbox = sandbox();
    finished(&sandbox);
    sandbox.write("core/a.txt", "mine\n");
    lands_on_a_separate_branch(&sandbox, "core/a.txt");
}

#[test]
fn landing_keeps_an_ignored_file_in_the_way() {
    let sandbox = sandbox();
    finished(&sandbox);
    fs::write(sandbox.repo().join(".git/info/exclude"), "a.txt\n").expect("a file");
    sandbox.write("core/a.txt", "mine\n");
    lands_on_a_separate_branch(&sandbox, "core/a.txt");
}

/// The branch moves because it is not checked out; the checkout of another branch does not change.
#[test]
fn landing_keeps_another_checked_out_branch() {
    let sandbox = sandbox();
    finished(&sandbox);
    sandbox.git(&["switch", "--quiet", "--create", "feature"]);
    sandbox.write("ui/two.txt", "not finished yet\n");
    let before = snapshot_of_the_user(&sandbox);
    sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(0).says("landed on main");
    assert_eq!(snapshot_of_the_user(&sandbox), before);
    assert_eq!(sandbox.git(&["show", "main:core/one.txt"]), "changed");
}

/// The merge is verified on top of the user's new commits.
#[test]
fn landing_with_failed_checks_changes_nothing() {
    let sandbox = sandbox();
    let plan = sandbox.plan(
        "name = \"checked\"\n[[task]]\nid = \"new\"\nregion = \"core\"\ncommand = \"echo a > core/a.txt\"\nchecks = \"grep -q two ui/two.txt\"\n",
    );
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
    sandbox.write("ui/two.txt", "three\n");
    sandbox.commit("three");
    let before = snapshot_of_the_user(&sandbox);
    let refused = sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(8);
    assert!(refused.stderr.contains("grep -q two ui/two.txt"), "{refused}");
    assert_eq!(snapshot_of_the_user(&sandbox), before);
}
