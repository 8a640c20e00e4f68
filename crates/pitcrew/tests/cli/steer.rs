//! Pausing, resuming, cancelling, deploying and accepting.

use crate::support::*;

/// S0-132: cancelling a running task ends it and leaves no process behind.
#[test]
fn running_task_can_be_cancelled() {
    let sandbox = sandbox();
    let plan = sandbox.plan(&gated(&sandbox, "gated"));
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    await_task(&sandbox, "waits", "running");
    sandbox.pitcrew(&["cancel", "waits"]).expect(0).says("task-1 is cancelled");
    sandbox.pitcrew(&["watch", "plan-1"]).expect(5);
    assert_eq!(task_status(&sandbox, "waits"), "cancelled");
    open_gate(&sandbox);
    // The work of the attempt is saved first.
    let retried = pitcrew_testkit::eventually("it can be retried", || {
        let retried = sandbox.pitcrew(&["retry", "waits"]);
        (retried.code != Some(6)).then_some(retried)
    });
    retried.expect(0);
    sandbox.pitcrew(&["watch", "plan-1"]).expect(0);
}

#[test]
fn plan_can_be_cancelled() {
    let sandbox = sandbox();
    let plan = sandbox.plan(&gated(&sandbox, "gated"));
    let running = sandbox.start(&["run", &plan, "--yes"]);
    running.await_note("Starting task-1");
    let cancelled = sandbox.pitcrew(&["cancel", "gated"]).expect(0);
    cancelled.says("plan-1 is cancelled with all unfinished tasks");
    let ran = running.wait().expect(5).says("plan-1 gated: cancelled");
    assert!(!ran.stdout.contains("pitcrew retry"), "{ran}");
    sandbox.pitcrew(&["cancel", "plan-1"]).expect(6);
}

#[test]
fn completed_tasks_of_a_cancelled_plan_can_land() {
    let sandbox = sandbox();
    let quick = "\n[[task]]\nid = \"quick\"\nregion = \"ui\"\ncommand = \"echo 1 > ui/new.txt\"\n";
    let plan = sandbox.plan(&format!("{}{quick}", gated(&sandbox, "half")));
    let running = sandbox.start(&["run", &plan, "--yes"]);
    await_task(&sandbox, "quick", "completed");
    sandbox.pitcrew(&["cancel", "half"]).expect(0).says("pitcrew land plan-1");
    let ran = running.wait().expect(5).says("plan-1 half: cancelled");
    assert!(ran.stdout.contains("next       pitcrew land plan-1"), "{ran}");
    sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(0);
    assert_eq!(sandbox.read("ui/new.txt"), "1\n");
}

#[test]
fn plan_can_be_paused_and_resumed() {
    let sandbox = sandbox();
    let plan = sandbox.plan(&gated(&sandbox, "gated"));
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    await_task(&sandbox, "waits", "running");
    sandbox.pitcrew(&["pause", "plan-1"]).expect(0).says("pitcrew resume plan-1");
    assert_eq!(plan_status(&sandbox, "plan-1"), "paused");
    sandbox.pitcrew(&["pause", "plan-1"]).expect(6).notes("only an active plan");
    open_gate(&sandbox);
    sandbox.pitcrew(&["resume", "gated"]).expect(0);
    sandbox.pitcrew(&["watch"]).expect(0).says("1 of 1 completed");
}

/// Ctrl-C pauses the plan and says how to resume it.
#[test]
fn interrupt_pauses_the_plan() {
    let sandbox = sandbox();
    let plan = sandbox.plan(&gated(&sandbox, "gated"));
    let running = sandbox.start(&["run", &plan, "--yes"]);
    running.await_note("Starting task-1");
    running.interrupt();
    running.wait().expect(130).notes("pitcrew resume plan-1");
    assert_eq!(plan_status(&sandbox, "plan-1"), "paused");
    open_gate(&sandbox);
    sandbox.pitcrew(&["resume", "plan-1"]).expect(0);
    let watching = sandbox.pitcrew(&["watch", "plan-1"]);
    watching.expect(0);
}

/// S1-016: a plan with manual deployment starts nothing by itself.
#[test]
fn manual_task_waits_for_deployment() {
    let sandbox = sandbox();
    let plan = sandbox.plan(
        &TWO_COMMANDS
            .replace("[[task]]\nid = \"first\"", "deploy = \"manual\"\n\n[[task]]\nid = \"first\""),
    );
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    pitcrew_testkit::eventually("it waits for its deployment", || {
        let status = sandbox.pitcrew(&["status"]).expect(0);
        status.stdout.contains("waits for `pitcrew deploy task-1`").then_some(())
    });
    for task in ["first", "second"] {
        sandbox.pitcrew(&["deploy", task]).expect(0);
    }
    sandbox.pitcrew(&["watch"]).expect(0).says("2 of 2 completed");
    sandbox.pitcrew(&["deploy", "first"]).expect(6);
}

#[test]
fn partial_task_can_be_accepted() {
    let sandbox = sandbox();
    let plan = sandbox.plan(
        r#"
name = "partial"

[[task]]
id = "half"
region = "core"
script = """
run echo half > core/half.txt
partial only the first half
"""
"#,
    );
    let ran = sandbox.pitcrew(&["run", &plan, "--yes"]);
    assert!(ran.stdout.contains("pitcrew accept task-1"), "{ran}");
    sandbox.pitcrew(&["accept", "half"]).expect(0);
    await_task(&sandbox, "half", "completed");
}
