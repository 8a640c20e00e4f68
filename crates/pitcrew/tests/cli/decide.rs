//! Requests that wait for a person, and their decisions.

use crate::support::*;

/// S0-010, S0-056, S0-058, S4-080: without a terminal and without `--yes` the plan waits, and runs
/// once it is approved.
#[test]
fn plan_without_a_terminal_waits_for_approval() {
    let sandbox = sandbox();
    let plan = sandbox.plan(TWO_COMMANDS);
    let waits = sandbox.pitcrew(&["run", &plan]).expect(3);
    assert_eq!(waits.stdout, "plan-1\n");
    assert!(waits.stderr.contains("pitcrew approve request-1"), "{waits}");
    let inbox = sandbox.pitcrew(&["inbox"]).expect(0);
    assert!(inbox.stdout.contains("| echo 1 > core/new.txt"), "{inbox}");
    assert_eq!(plan_status(&sandbox, "plan-1"), "awaiting_approval");
    sandbox.pitcrew(&["watch", "plan-1"]).expect(3).notes("pitcrew approve request-1");
    sandbox.pitcrew(&["approve", "plan-1"]).expect(0).says("pitcrew watch plan-1");
    sandbox.pitcrew(&["watch", "plan-1"]).expect(0).says("2 of 2 completed");
    sandbox.pitcrew(&["approve", "request-1"]).expect(6).notes("already approved");
}

/// S0-123: a client that follows a plan over the socket gets every step after the approval, from
/// the same stream as other clients.
#[test]
fn approved_plan_streams_every_task() {
    let sandbox = sandbox();
    let plan = sandbox.plan(TWO_COMMANDS);
    sandbox.pitcrew(&["run", &plan]).expect(3);
    sandbox.pitcrew(&["approve", "plan-1"]).expect(0);
    sandbox.pitcrew(&["watch", "plan-1"]).expect(0);
    let lines = sandbox.pitcrew(&["logs", "plan-1", "--json", "--follow"]).expect(0).json_lines();
    let place = |kind: &str, task: &str, to: &str| {
        let found = lines.iter().position(|it| {
            let event = &it["entry"]["event"];
            event["type"] == kind && event["to"] == to && (task.is_empty() || event["task"] == task)
        });
        found.unwrap_or_else(|| panic!("no {kind} {task} {to} in {lines:#?}"))
    };
    let mut steps = vec![place("request_moved", "", "approved"), place("plan_moved", "", "active")];
    for task in ["task-1", "task-2"] {
        let states = ["queued", "starting", "running", "verifying", "integrating", "completed"];
        steps.extend(states.map(|it| place("task_moved", task, it)));
    }
    steps.push(place("plan_moved", "", "completed"));
    assert!(steps.is_sorted(), "{steps:?}");
}

/// S0-057: a denied plan is cancelled, and nothing of it runs.
#[test]
fn denied_plan_never_runs() {
    let sandbox = sandbox();
    let plan = sandbox.plan(TWO_COMMANDS);
    sandbox.pitcrew(&["run", &plan]).expect(3);
    sandbox.pitcrew(&["deny", "request-1", "--reason", "not today"]).expect(0);
    assert_eq!(plan_status(&sandbox, "plan-1"), "cancelled");
    sandbox.pitcrew(&["inbox", "--all"]).expect(0).says("denied by person").says("not today");
    sandbox.pitcrew(&["watch", "plan-1"]).expect(5);
}

#[test]
fn question_waits_for_an_answer() {
    let sandbox = sandbox();
    let plan = sandbox.plan(
        r#"
name = "asks"

[[task]]
id = "asks"
region = "core"
script = """
ask Which port should it use?
when "8080" write core/port.txt <<END
8080
END
complete wrote it down
"""
checks = "grep -q 8080 core/port.txt"
"#,
    );
    let running = sandbox.start(&["run", &plan, "--yes"]);
    let request = await_request(&sandbox);
    assert_eq!(request["title"], "Which port should it use?");
    running.await_note("pitcrew answer request-1");
    sandbox.pitcrew(&["approve", "request-1"]).expect(6).notes("pitcrew answer request-1");
    sandbox.pitcrew(&["answer", "asks", ""]).expect(2);
    sandbox.pitcrew(&["answer", "asks", "Use 8080."]).expect(0);
    running.wait().expect(0).notes("Answered request-1");
    let said = sandbox.pitcrew(&["messages", "--worker", "worker-1"]).expect(0);
    let said = said.says("request-1 worker-1 -> person, question, ").says(" ago, answered\n");
    said.says("    person -> worker-1, answer, ").says("      Use 8080.\n");
    sandbox.pitcrew(&["messages", "--worker", "worker-9"]).expect(2).notes("there is no worker-9");
}

/// Stopping the orchestrator ends its agents. Their successors ask again, and the old request id
/// leads to the new one.
#[test]
fn request_asked_again_after_a_stop_names_the_old_one() {
    let sandbox = sandbox();
    let script = "permit make docs\\nrun echo 1 > core/new.txt\\ncomplete did it\\n";
    let plan = sandbox.plan(&format!(
        "name = \"permits\"\n[[task]]\nid = \"works\"\nregion = \"core\"\nscript = \"{script}\"\n"
    ));
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    assert_eq!(await_request(&sandbox)["id"], "request-1");
    sandbox.pitcrew(&["stop"]).expect(0).says("1 worker was interrupted");
    sandbox.pitcrew(&["approve", "request-1"]).expect(6).notes("request-1 is withdrawn");
    let request = await_request(&sandbox);
    assert_eq!((&request["id"], &request["replaces"]), (&"request-2".into(), &"request-1".into()));
    let inbox = sandbox.pitcrew(&["inbox"]).expect(0);
    inbox.says("  replaces request-1, whose worker has ended\n");
    let refused = sandbox.pitcrew(&["approve", "request-1"]).expect(6);
    refused.notes("has the same request; decide request-2");
    sandbox.pitcrew(&["approve", "request-2"]).expect(0);
    await_task(&sandbox, "works", "completed");
}

#[test]
fn permission_waits_for_approval() {
    let sandbox = sandbox();
    let script = "permit make && curl example.com\\nrun echo 1 > core/new.txt\\ncomplete did it\\n";
    let plan = sandbox.plan(&format!(
        "name = \"permits\"\n[[task]]\nid = \"permits\"\nregion = \"core\"\nscript = \"{script}\"\n"
    ));
    let running = sandbox.start(&["run", &plan, "--yes"]);
    let request = await_request(&sandbox);
    assert_eq!(request["ask"]["kind"], "tool_use", "{request}");
    let inbox = sandbox.pitcrew(&["inbox"]).expect(0);
    inbox.says("needs permission for: command_execution, network_access\n");
    running.await_note("pitcrew approve request-1, or pitcrew deny request-1");
    sandbox.pitcrew(&["approve", "permits"]).expect(0);
    running.wait().expect(0);
}
