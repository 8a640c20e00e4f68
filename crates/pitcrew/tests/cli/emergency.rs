//! The emergency stop.

use crate::support::*;
use pitcrew_testkit::{Sandbox, eventually};
use std::path::PathBuf;

/// A plan whose agent has children that do not exit by themselves and hold a lock until they have
/// exited; one of them has much memory to release first.
fn stubborn(sandbox: &Sandbox, name: &str, region: &str) -> String {
    let lock = lock(sandbox, name);
    format!(
        r#"
name = "{name}"

[[task]]
id = "{name}-works"
region = "{region}"
script = """
run trap '' TERM; exec 9>'{0}'; setsid sleep 600 & dd if=/dev/zero bs=300M count=2 | (head -c 1; flock 9; sleep 600)
complete never
"""
"#,
        lock.display()
    )
}

fn lock(sandbox: &Sandbox, name: &str) -> PathBuf {
    sandbox.root().join(format!("{name}.lock"))
}

fn child(sandbox: &Sandbox, name: &str) -> PathBuf {
    let lock = lock(sandbox, name);
    eventually("the agent has started a child", || is_locked(&lock).then_some(()));
    lock
}

/// S4-125: the task of one worker ends at once, and none of its processes is left when the command
/// returns.
#[test]
fn stopping_a_worker_ends_everything_it_started() {
    let sandbox = sandbox();
    let plan = sandbox.plan(&stubborn(&sandbox, "one", "core"));
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    let lock = child(&sandbox, "one");
    let stopped = sandbox.pitcrew(&["stop", "worker", "worker-1"]).expect(0);
    stopped
        .says("worker-1 is stopped: task-1 is cancelled")
        .says("1 agent ended, no process is left");
    assert!(!is_locked(&lock));
    assert_eq!(task_status(&sandbox, "one-works"), "cancelled");
    let again = sandbox.pitcrew(&["stop", "worker", "worker-1"]).expect(6);
    again.notes("worker-1 has already ended (killed)").notes("pitcrew logs task-1");
    let again = sandbox.pitcrew(&["cancel", "task-1"]).expect(6);
    again.notes("task-1 is already cancelled; `pitcrew retry task-1` starts it again");
    sandbox.pitcrew(&["cancel", "plan-1"]).expect(0);
    sandbox.pitcrew(&["stop", "plan", "plan-1"]).expect(6).notes("run its file again");
}

#[test]
fn plan_and_task_are_stopped_by_name() {
    let sandbox = sandbox();
    for (name, region) in [("one", "core"), ("two", "ui")] {
        let plan = sandbox.plan(&stubborn(&sandbox, name, region));
        sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    }
    let (first, second) = (child(&sandbox, "one"), child(&sandbox, "two"));
    sandbox.pitcrew(&["stop", "plan", "one"]).expect(0).says("plan-1 is cancelled");
    assert!(!is_locked(&first));
    assert_eq!(task_status(&sandbox, "two-works"), "running", "the other plan goes on");
    let stopped = sandbox.pitcrew(&["stop", "subtask", "task-2", "--json"]).expect(0).json();
    assert_eq!(stopped["stopped"].as_array().map(Vec::len), Some(1), "{stopped}");
    assert!(!is_locked(&second));
    assert_eq!(plan_status(&sandbox, "plan-1"), "cancelled");
}

/// Everything stops, nothing starts again, and the plans can be resumed.
#[test]
fn stop_all_pauses_plans_and_keeps_work() {
    let sandbox = sandbox();
    for (name, region) in [("one", "core"), ("two", "ui")] {
        let plan = sandbox.plan(&stubborn(&sandbox, name, region));
        sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    }
    let locks = ["one", "two"].map(|it| child(&sandbox, it));
    let stopped = sandbox.pitcrew(&["stop", "all"]).expect(0);
    stopped.says("2 plans ended as failed, 2 tasks cancelled; 2 agents ended, no process is left");
    for lock in &locks {
        assert!(!is_locked(lock));
    }
    for (name, plan) in [("one", "plan-1"), ("two", "plan-2")] {
        assert_eq!(task_status(&sandbox, &format!("{name}-works")), "cancelled");
        assert_eq!(plan_status(&sandbox, plan), "failed", "nothing of it is left to do");
    }
    sandbox.pitcrew(&["stop", "all"]).expect(0).says("no agent was running");
}

/// The output describes the state of each plan correctly.
#[test]
fn stop_all_reports_the_state_of_each_plan() {
    let sandbox = sandbox();
    let done = "[[task]]\nid = \"done\"\nregion = \"docs\"\ncommand = \"true\"\n";
    let plan = sandbox.plan(&format!("{}\n{done}", stubborn(&sandbox, "one", "core")));
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    let later = "[[task]]\nid = \"later\"\nregion = \"docs\"\ncommand = \"true\"\n";
    let plan = stubborn(&sandbox, "two", "ui").replacen('\n', "\ndeploy = \"manual\"\n", 1);
    let plan = sandbox.plan(&format!("{plan}\n{later}"));
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    sandbox.pitcrew(&["deploy", "two-works"]).expect(0);
    await_task(&sandbox, "done", "completed");
    for name in ["one", "two"] {
        child(&sandbox, name);
    }
    let stopped = sandbox.pitcrew(&["stop", "all"]).expect(0);
    stopped.says("1 plan paused, 1 plan ended as partial, 2 tasks cancelled; 2 agents ended");
    let plans = ["plan-1", "plan-2"].map(|it| plan_status(&sandbox, it));
    assert_eq!(plans, ["partial", "paused"]);
}

/// Running checks end too.
#[test]
fn stop_all_ends_running_checks() {
    let sandbox = sandbox();
    let lock = lock(&sandbox, "check");
    let plan = sandbox.plan(&format!(
        r#"
name = "checked"

[[task]]
id = "slow"
region = "core"
checks = ["test ! -e core/slow.rs || {{ trap '' TERM; exec 9>'{0}'; flock 9; sleep 600; }}"]
script = """
write core/slow.rs <<END
fn slow() {{}}
END
complete done
"""
"#,
        lock.display()
    ));
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    eventually("the check runs", || is_locked(&lock).then_some(()));
    assert_eq!(task_status(&sandbox, "slow"), "verifying");
    sandbox.pitcrew(&["stop", "all"]).expect(0).says("1 task cancelled");
    assert!(!is_locked(&lock));
    assert_eq!(task_status(&sandbox, "slow"), "cancelled");
}

/// S4-125: checks of the base end too, and the plan can start again.
#[test]
fn stop_all_ends_checks_of_the_base() {
    let sandbox = sandbox();
    let (lock, gate) = (lock(&sandbox, "base"), sandbox.root().join("gate"));
    let plan = sandbox.plan(&format!(
        r#"
name = "base"

[[task]]
id = "quick"
region = "core"
checks = ["test -e '{1}' || {{ trap '' TERM; exec 9>'{0}'; flock 9; sleep 600; }}"]
command = "mkdir -p core && echo quick > core/quick.txt"
"#,
        lock.display(),
        gate.display()
    ));
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    eventually("the base is checked", || is_locked(&lock).then_some(()));
    let stopped = sandbox.pitcrew(&["stop", "all"]).expect(0);
    assert!(!is_locked(&lock));
    std::fs::write(&gate, "").expect("a file");
    // Its only task may have started in parallel with the checks.
    let is_paused = plan_status(&sandbox, "plan-1") == "paused";
    stopped.says(if is_paused { "1 plan paused" } else { "1 plan ended as failed" });
    if is_paused {
        sandbox.pitcrew(&["resume", "plan-1"]).expect(0);
    }
    if task_status(&sandbox, "quick") == "cancelled" {
        sandbox.pitcrew(&["retry", "quick"]).expect(0);
    }
    sandbox.pitcrew(&["watch"]).expect(0).says("1 of 1 completed");
    let checked = sandbox.pitcrew(&["audit", "--json"]).expect(0);
    let asked = checked.stdout.matches("checks run on the base").count();
    assert_eq!(asked, 2, "an interrupted check is run again: {checked}");
}

#[test]
fn stop_names_what_does_not_exist() {
    let sandbox = sandbox();
    sandbox
        .pitcrew(&["stop", "worker", "worker-9"])
        .expect(2)
        .notes("there is no worker `worker-9`");
    sandbox.pitcrew(&["stop", "plan", "plan-9"]).expect(2).notes("there is no plan-9");
    sandbox.pitcrew(&["stop", "plan"]).expect(2).notes("pitcrew stop plan plan-1");
    sandbox.pitcrew(&["stop", "all", "plan-1"]).expect(2).notes("takes no id");
    sandbox.pitcrew(&["stop", "planet"]).expect(2);
    sandbox.pitcrew(&["stop", "all"]).expect(0).says("0 plans paused");
    sandbox.pitcrew(&["stop"]).expect(0).says("has stopped");
}
