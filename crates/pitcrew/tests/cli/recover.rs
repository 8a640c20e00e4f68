//! The orchestrator goes away, and nothing is lost.

use crate::support::*;

/// A crash loses no acknowledged state, and the next command continues.
#[test]
fn status_is_correct_after_a_kill() {
    let sandbox = sandbox();
    let plan = sandbox.plan(TWO_COMMANDS);
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
    let before = sandbox.pitcrew(&["status", "--json"]).expect(0).json();
    sandbox.kill_orchestrator();
    let after = sandbox.pitcrew(&["status", "--json"]).expect(0).json();
    for part in ["plans", "tasks", "workers"] {
        assert_eq!(before[part], after[part], "{part}");
    }
    sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(0);
}

/// A client that follows a plan reconnects, and the plan continues.
#[test]
fn run_continues_after_a_kill() {
    let sandbox = sandbox();
    let plan = sandbox.plan(&gated(&sandbox, "gated"));
    let running = sandbox.start(&["run", &plan, "--yes"]);
    running.await_note("Starting task-1");
    await_task(&sandbox, "waits", "running");
    sandbox.kill_orchestrator();
    open_gate(&sandbox);
    let ran = running.wait().expect(0);
    assert!(ran.stdout.contains("1 of 1 completed"), "{ran}");
}

#[test]
fn waiting_plan_still_waits_after_a_crash() {
    let sandbox = sandbox();
    let plan = sandbox.plan(TWO_COMMANDS);
    sandbox.pitcrew(&["run", &plan]).expect(3);
    sandbox.kill_orchestrator();
    sandbox.pitcrew(&["approve", "request-1"]).expect(0);
    sandbox.pitcrew(&["watch"]).expect(0).says("2 of 2 completed");
}

#[test]
fn stop_ends_the_orchestrator() {
    let sandbox = sandbox();
    sandbox.pitcrew(&["stop"]).expect(0).says("no orchestrator is running");
    sandbox.pitcrew(&["status"]).expect(0);
    let (health, _) = sandbox.orchestrator().expect("it runs");
    let stopped = sandbox.pitcrew(&["stop", "--json"]).expect(0).json();
    assert_eq!(stopped["stopped"], health.pid);
    assert!(sandbox.orchestrator().is_none());
    sandbox.pitcrew(&["status"]).expect(0);
}

/// Agents outlive a killed orchestrator for a while; `stop` ends them too.
#[test]
fn stop_ends_agents_of_a_killed_orchestrator() {
    let sandbox = sandbox();
    let plan = sandbox.plan(&gated(&sandbox, "gated"));
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    await_task(&sandbox, "waits", "running");
    sandbox.kill_orchestrator();
    sandbox.pitcrew(&["stop"]).expect(0).says("has stopped; 1 worker was interrupted");
    assert!(sandbox.orchestrator().is_none());
    sandbox.pitcrew(&["stop"]).expect(0).says("no orchestrator is running");
}

/// Many concurrent commands start only one orchestrator.
#[test]
fn concurrent_commands_start_one_orchestrator() {
    let sandbox = sandbox();
    let commands: Vec<_> = (0..8).map(|_| sandbox.start(&["status"])).collect();
    for command in commands {
        command.wait().expect(0);
    }
    let serving = pitcrew_testkit::Process::naming(&sandbox.root().display().to_string());
    assert_eq!(serving.len(), 1, "{serving:?}");
}

#[test]
fn serve_runs_one_orchestrator_in_the_foreground() {
    let sandbox = sandbox();
    let serving = sandbox.start(&["serve"]);
    serving.await_note("press Ctrl-C to stop");
    sandbox.pitcrew(&["status"]).expect(0);
    sandbox.pitcrew(&["serve"]).expect(6).notes("only one orchestrator works on a workspace");
    serving.interrupt();
    serving.wait().expect(0);
}

/// The client prints the last output of the failed orchestrator.
#[test]
fn failed_start_reports_the_cause() {
    let sandbox = sandbox();
    sandbox.pitcrew(&["status"]).expect(0);
    sandbox.pitcrew(&["stop"]).expect(0);
    sandbox.write(".pitcrew/config.toml", "max_agnets = 2\n");
    let refused = sandbox.pitcrew(&["status"]).expect(7);
    assert!(refused.stderr.contains("failed to start"), "{refused}");
    assert!(refused.stderr.contains("did you mean `max_agents`?"), "{refused}");
}

/// An interrupted command starts over from its original state, not in its own half-finished work.
#[test]
fn interrupted_command_starts_over_in_a_clean_tree() {
    let sandbox = sandbox();
    let gate = sandbox.root().join("gate").display().to_string();
    let plan = sandbox.plan(&format!(
        r#"
name = "twice"

[[task]]
id = "adds"
region = "core"
command = "echo a >> core/log.txt; until [ -e '{gate}' ]; do sleep 0.02; done; echo b >> core/log.txt"
"#
    ));
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    let path = || sandbox.pitcrew(&["path", "adds"]).stdout.trim().to_owned() + "/core/log.txt";
    pitcrew_testkit::eventually("it has begun", || std::fs::read_to_string(path()).ok());
    sandbox.kill_orchestrator();
    await_task(&sandbox, "adds", "running");
    sandbox.pitcrew(&["pause", "plan-1"]).expect(0);
    sandbox.pitcrew(&["resume", "plan-1"]).expect(0);
    open_gate(&sandbox);
    sandbox.pitcrew(&["watch"]).expect(0);
    sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(0);
    assert_eq!(sandbox.read("core/log.txt"), "a\nb\n");
}

/// A client that follows a plan does not restart an orchestrator that was stopped on purpose.
#[test]
fn followers_do_not_restart_a_stopped_orchestrator() {
    let sandbox = sandbox();
    let plan = sandbox.plan(&gated(&sandbox, "gated"));
    let running = sandbox.start(&["run", &plan, "--yes"]);
    await_task(&sandbox, "waits", "running");
    sandbox.pitcrew(&["stop"]).expect(0);
    running.wait().expect(7).notes("the orchestrator was stopped");
    assert!(sandbox.orchestrator().is_none(), "it was started again");
    open_gate(&sandbox);
    sandbox.pitcrew(&["watch"]).expect(0).says("1 of 1 completed");
}

/// An interrupted attempt does not use up the limit, and it is counted on both sides.
#[test]
fn interrupted_attempts_do_not_use_up_the_limit() {
    let sandbox = sandbox();
    let plan = gated(&sandbox, "gated").replacen("[[task]]", "max_attempts = 1\n\n[[task]]", 1);
    let plan = sandbox.plan(&plan);
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    await_task(&sandbox, "waits", "running");
    sandbox.pitcrew(&["status"]).expect(0).says("  1/1  ");
    sandbox.pitcrew(&["stop"]).expect(0);
    pitcrew_testkit::eventually("the second attempt is one of two", || {
        sandbox.pitcrew(&["status"]).expect(0).stdout.contains("  2/2  ").then_some(())
    });
    open_gate(&sandbox);
    sandbox.pitcrew(&["watch"]).expect(0).says("1 of 1 completed");
}
