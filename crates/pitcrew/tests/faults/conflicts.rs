//! Two who want the same line, and a user who works on while the plan runs.

use crate::support::*;
use pitcrew_model::{Failure, TaskId, TaskStatus};
use pitcrew_testkit::Sandbox;
use std::fs;

/// S0-069: the conflict names the files and the other task, and the next attempt is told and starts afresh.
#[test]
fn a_conflict_at_integration_is_solved_by_the_next_attempt() {
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

/// S4-013, S1-052: two plans at once, with tasks of the same name; the later landing conflicts and changes nothing.
#[test]
fn two_plans_that_touch_the_same_file_are_landed_one_after_the_other() {
    let sandbox = sandbox();
    for (name, text) in [("one", "first"), ("two", "second")] {
        let plan = sandbox.plan(&edits(name, text));
        sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    }
    sandbox.pitcrew(&["watch"]).expect(0);
    sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(0);
    let before = picture_of_the_user(&sandbox);
    let refused = sandbox.pitcrew(&["land", "plan-2", "--yes"]).expect(8);
    assert!(refused.stderr.contains("conflict in core/one.txt"), "{refused}");
    assert!(refused.stderr.contains("pitcrew diff plan-2 | git apply --3way"), "{refused}");
    assert!(refused.stderr.contains("nothing was changed in your branch"), "{refused}");
    assert_eq!(picture_of_the_user(&sandbox), before);
    let board = board(&sandbox);
    assert_eq!(board.plans[1].landing.status.to_string(), "conflict");
    // When the cause is gone it can be landed after all.
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

/// Lands the plan of `finished`, which must leave the user alone and put the merge at a branch of its own.
#[track_caller]
fn lands_aside(sandbox: &Sandbox, reason: &str) {
    let before = picture_of_the_user(sandbox);
    let landed = sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(0);
    assert!(landed.stdout.contains("pitcrew/plan-1-files"), "{landed}");
    // What is being landed is shown, file by file.
    assert!(landed.stderr.contains("M  core/one.txt  +1  -1"), "{landed}");
    let told = format!("{}{}", landed.stdout, landed.stderr);
    assert!(told.contains(reason), "{landed}");
    assert_eq!(picture_of_the_user(sandbox), before);
    assert_eq!(sandbox.git(&["show", "pitcrew/plan-1-files:core/a.txt"]), "a");
    assert_eq!(sandbox.git(&["show", "pitcrew/plan-1-files:core/one.txt"]), "changed");
}

#[test]
fn a_landing_leaves_a_dirty_tree_alone() {
    let sandbox = sandbox();
    finished(&sandbox);
    sandbox.write("ui/two.txt", "not finished yet\n");
    lands_aside(&sandbox, "uncommitted changes");
}

#[test]
fn a_landing_leaves_a_staged_change_alone() {
    let sandbox = sandbox();
    finished(&sandbox);
    sandbox.write("core/one.txt", "staged\n");
    sandbox.git(&["add", "core/one.txt"]);
    lands_aside(&sandbox, "uncommitted changes");
}

#[test]
fn a_landing_leaves_an_untracked_file_in_the_way_alone() {
    let sandbox = sandbox();
    finished(&sandbox);
    sandbox.write("core/a.txt", "mine\n");
    lands_aside(&sandbox, "core/a.txt");
}

#[test]
fn a_landing_leaves_an_ignored_file_in_the_way_alone() {
    let sandbox = sandbox();
    finished(&sandbox);
    fs::write(sandbox.repo().join(".git/info/exclude"), "a.txt\n").expect("a file");
    sandbox.write("core/a.txt", "mine\n");
    lands_aside(&sandbox, "core/a.txt");
}

/// The branch moves where it is not checked out; the user's tree on another branch does not.
#[test]
fn a_landing_leaves_another_branch_alone() {
    let sandbox = sandbox();
    finished(&sandbox);
    sandbox.git(&["switch", "--quiet", "--create", "feature"]);
    sandbox.write("ui/two.txt", "not finished yet\n");
    let before = picture_of_the_user(&sandbox);
    sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(0).says("landed on main");
    assert_eq!(picture_of_the_user(&sandbox), before);
    assert_eq!(sandbox.git(&["show", "main:core/one.txt"]), "changed");
}

/// The work is tried once more on what the user made of the branch meanwhile.
#[test]
fn a_landing_whose_checks_fail_on_the_result_changes_nothing() {
    let sandbox = sandbox();
    let plan = sandbox.plan(
        "name = \"checked\"\n[[task]]\nid = \"new\"\nregion = \"core\"\ncommand = \"echo a > core/a.txt\"\nchecks = \"grep -q two ui/two.txt\"\n",
    );
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
    sandbox.write("ui/two.txt", "three\n");
    sandbox.commit("three");
    let before = picture_of_the_user(&sandbox);
    let refused = sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(8);
    assert!(refused.stderr.contains("grep -q two ui/two.txt"), "{refused}");
    assert_eq!(picture_of_the_user(&sandbox), before);
}
