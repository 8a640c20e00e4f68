//! Logs, as a person reads them.

use crate::support::*;

/// A command that prints a line before and after the gate.
fn talkative(sandbox: &pitcrew_testkit::Sandbox) -> String {
    let gate = sandbox.root().join("gate");
    sandbox.plan(&format!(
        "name = \"talks\"\n[[task]]\nid = \"talks\"\nregion = \"core\"\ncommand = \"\"\"\n\
         echo first words; until [ -e '{}' ]; do sleep 0.02; done; echo last words; echo 1 > core/new.txt\n\
         \"\"\"\n",
        gate.display()
    ))
}

#[test]
fn output_of_a_command_is_followed_while_it_runs() {
    let sandbox = sandbox();
    let plan = talkative(&sandbox);
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    await_task(&sandbox, "talks", "running");
    let follower = sandbox.start(&["logs", "task-1", "--follow"]);
    follower.await_result("tool | first words");
    assert!(!follower.results().contains("tool | last words"), "{}", follower.results());
    open_gate(&sandbox);
    let followed = follower.wait().expect(0);
    assert_eq!(followed.stdout.matches("| first words").count(), 1, "{followed}");
    assert_eq!(followed.stdout.matches("| last words").count(), 1, "{followed}");
    let read = sandbox.pitcrew(&["logs", "task-1"]).expect(0);
    assert_eq!(read.stdout.matches("| first words").count(), 1, "{read}");
}

#[test]
fn output_of_an_attempt_that_timed_out_is_kept() {
    let sandbox = sandbox();
    let plan = sandbox.plan(
        "name = \"hangs\"\n[[task]]\nid = \"hangs\"\nregion = \"core\"\ntimeout = \"2s\"\nmax_attempts = 1\n\
         command = \"echo before the hang; printf half; sleep 600\"\n",
    );
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(5);
    let log = sandbox.pitcrew(&["logs", "task-1"]).expect(0);
    assert_eq!(log.stdout.matches("| before the hang").count(), 1, "{log}");
    assert_eq!(log.stdout.matches("| half").count(), 1, "{log}");
}

#[test]
fn prompts_are_folded() {
    let sandbox = sandbox();
    let plan = sandbox.plan(TWO_COMMANDS);
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
    let folded = sandbox.pitcrew(&["logs", "first"]).expect(0);
    let folded = folded.says(" more lines: --prompt shows them]");
    let whole = sandbox.pitcrew(&["logs", "first", "--prompt"]).expect(0);
    assert!(whole.stdout.lines().count() > folded.stdout.lines().count(), "{whole}");
    assert!(!whole.stdout.contains("--prompt"), "{whole}");
}

#[test]
fn run_and_status_show_the_end_of_a_failed_check() {
    let sandbox = sandbox();
    let plan = sandbox.plan(
        "name = \"fails\"\n[[task]]\nid = \"fails\"\nregion = \"core\"\nmax_attempts = 1\n\
         command = \"echo 1 > core/new.txt\"\nchecks = \"seq 100; echo it is 4 and not 5; false\"\n",
    );
    let end = "      | it is 4 and not 5\n";
    let ran = sandbox.pitcrew(&["run", &plan, "--yes"]).expect(5);
    let ran = ran.says(end).says("      | 100\n");
    assert!(!ran.stdout.contains("| 90\n"), "{ran}");
    sandbox.pitcrew(&["status"]).expect(0).says(end);
}
