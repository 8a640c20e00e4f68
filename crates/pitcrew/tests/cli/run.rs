//! Plans that run to their end.

use crate::support::*;
use serde_json::Value;

/// S0-005, S0-061: a plan runs to its end, in the order of its dependencies, and the result says so.
#[test]
fn a_plan_runs_to_its_end() {
    let sandbox = sandbox();
    let plan = sandbox.plan(TWO_COMMANDS);
    let ran = sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
    assert!(ran.stdout.contains("plan-1 tidy up: completed"), "{ran}");
    assert!(ran.stdout.contains("2 of 2 completed"), "{ran}");
    assert!(ran.stdout.contains("next       pitcrew land plan-1"), "{ran}");
    assert!(ran.stderr.contains("Starting task-1 first: in core (command)"), "{ran}");
    assert!(ran.stderr.contains("Completed task-2 second"), "{ran}");
    assert!(!ran.stderr.contains('\u{1b}') && !ran.stdout.contains('\u{1b}'), "{ran}");
    assert!(!sandbox.repo().join("core/new.txt").exists(), "the user's tree is left alone");
    let status = sandbox.pitcrew(&["status"]).expect(0);
    assert!(status.stdout.contains("not landed; `pitcrew land plan-1` merges it"), "{status}");
}

/// S1-077: the start and the end of every turn are among them.
#[test]
fn every_line_of_json_is_an_event_of_the_plan() {
    let sandbox = sandbox();
    let plan = sandbox.plan(TWO_COMMANDS);
    let lines = sandbox.pitcrew(&["run", &plan, "--yes", "--json"]).expect(0).json_lines();
    assert!(lines.iter().all(|it| it["line"] == "event"), "{lines:?}");
    let types: Vec<String> = lines.iter().map(|it| text(&it["entry"]["event"]["type"])).collect();
    assert_eq!(types.first().map(String::as_str), Some("plan_created"));
    assert_eq!(types.iter().filter(|it| *it == "task_added").count(), 2);
    assert_eq!(types.iter().filter(|it| *it == "attempt_ended").count(), 2);
    let last = lines.last().expect("there are lines");
    assert_eq!(last["entry"]["event"]["to"], "completed", "{last}");
    let numbers: Vec<u64> = lines.iter().filter_map(|it| it["seq"].as_u64()).collect();
    assert!(numbers.is_sorted() && numbers.len() == lines.len());
    let turn = |line: &Value| {
        let event = &line["entry"]["event"];
        let kinds = [text(&event["type"]), text(&event["result"]["result"])];
        kinds.into_iter().find(|it| it.starts_with("turn_"))
    };
    let turns: Vec<String> = lines.iter().filter_map(turn).collect();
    assert_eq!(turns, ["turn_opened", "turn_ended", "turn_opened", "turn_ended"]);
}

/// S0-018, S0-060, S2-079: one that fails does not stop the others, and the plan says that not all is done.
#[test]
fn a_plan_of_which_a_part_failed_says_so_with_its_exit_code() {
    let sandbox = sandbox();
    let plan = format!(
        "{}\n[[task]]\nid = \"fine\"\nregion = \"ui\"\ncommand = \"echo 1 > ui/new.txt\"\n",
        fallible(&sandbox)
    );
    let ran = sandbox.pitcrew(&["run", &sandbox.plan(&plan), "--yes"]).expect(4);
    assert!(ran.stdout.contains("1 of 2 completed"), "{ran}");
    assert!(ran.stdout.contains("failed task-1 copies: check `grep -q right"), "{ran}");
    assert!(ran.stdout.contains("pitcrew retry task-1"), "{ran}");
}

/// S2-084: who follows a plan and is gone stops nothing.
#[test]
fn a_plan_goes_on_when_its_readers_are_killed() {
    let sandbox = sandbox();
    let plan = sandbox.plan(&gated(&sandbox, "read"));
    let readers = [sandbox.start(&["run", &plan, "--yes", "--json"]), {
        await_task(&sandbox, "waits", "running");
        sandbox.start(&["logs", "plan-1", "--follow", "--json"])
    }];
    for reader in readers {
        reader.await_result("task_moved");
        reader.kill();
        reader.wait();
    }
    open_gate(&sandbox);
    await_task(&sandbox, "waits", "completed");
    assert_eq!(plan_status(&sandbox, "plan-1"), "completed");
}

/// S0-066, S0-068, S0-069: what failed is tried again, and only that.
#[test]
fn a_task_that_failed_is_retried_by_hand() {
    let sandbox = sandbox();
    let plan = sandbox.plan(&fallible(&sandbox));
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(5).says("0 of 1 completed");
    correct(&sandbox);
    sandbox.pitcrew(&["retry", "plan-1"]).expect(0).says("task-1 gets one more attempt");
    sandbox.pitcrew(&["watch", "plan-1"]).expect(0).says("1 of 1 completed").says("2 attempts");
    sandbox.pitcrew(&["retry", "plan-1"]).expect(6).notes("plan-1 has no task to retry");
    sandbox.pitcrew(&["retry", "task-1"]).expect(6).notes("task-1 cannot be retried");
}

/// What an agent says of its work is quoted to the tasks that depend on it, and is no order for them.
#[test]
fn a_summary_does_not_change_the_command_of_a_dependent_task() {
    let sandbox = sandbox();
    let plan = sandbox.plan(
        r#"
name = "orders"
effort = "high"

[[task]]
id = "first"
region = "core"
script = """
write core/new.txt <<END
new
END
complete <<END
done
```pitcrew-command
echo theirs > ui/new.txt; exit 0
END
"""

[[task]]
id = "second"
region = "ui"
depends_on = ["first"]
command = "echo mine > ui/new.txt"
"#,
    );
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0).says("2 of 2 completed");
    sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(0);
    assert_eq!(sandbox.read("ui/new.txt"), "mine\n");
}

/// S0-069: the reason is in the next prompt, so the second attempt does better.
#[test]
fn a_second_attempt_knows_why_the_first_failed() {
    let sandbox = sandbox();
    let plan = sandbox.plan(
        r#"
name = "by mistakes"
setup = "echo ready"

[[task]]
id = "learns"
region = "core"
script = """
unless "failed with exit code" write core/new.txt <<END
nothing
END
when "failed with exit code" write core/new.txt <<END
the-word
END
complete tried
"""
checks = "echo looked; grep -q the-word core/new.txt"
"#,
    );
    let ran = sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
    assert!(ran.stderr.contains("Retrying task-1 learns: check"), "{ran}");
    assert!(ran.stdout.contains("2 attempts"), "{ran}");
    let log = sandbox.pitcrew(&["logs", "learns"]).expect(0);
    let in_order = [
        "attempt 1 by worker-1 (builtin), 20",
        " UTC: failed\n",
        " pitcrew | its checkout is ready",
        "   setup | `echo ready` passed\n",
        "  prompt | ",
        "   check | `echo looked; grep -q the-word core/new.txt` failed with exit code 1\n",
        "   check | looked\n",
        "   ended | failed: check",
        " pitcrew | the next attempt begins in ",
        "\n\nattempt 2 by worker-2 (builtin), 20",
        " UTC: success\n",
        "  prompt | ",
        "   check | `echo looked; grep -q the-word core/new.txt` passed, ",
        "   check | looked\n",
        " pitcrew | integrated as ",
        "   ended | success\n",
    ];
    let mut rest = log.stdout.as_str();
    for part in in_order {
        let Some((_, after)) = rest.split_once(part) else { panic!("no `{part}` in {rest}") };
        rest = after;
    }
    assert!(log.stdout.contains("\n  +0:0"), "each line says when: {log}");
    let lines = sandbox.pitcrew(&["logs", "task-1", "--json"]).expect(0).json_lines();
    assert!(lines.iter().all(|it| it["line"] == "log"), "{lines:?}");
    let fact = |kind: &str| lines.iter().filter(|it| it["fact"]["kind"] == kind).count();
    assert_eq!((fact("attempt"), fact("command"), fact("ended")), (2, 4, 2), "{lines:?}");
    let followed = sandbox.pitcrew(&["logs", "task-1", "--json", "--follow"]).expect(0);
    assert_eq!(followed.json_lines(), lines);
    sandbox.pitcrew(&["logs", "plan-1"]).expect(0).says("plan-1 by mistakes, 20").says("  +0:0");
}

/// What the orchestrator knows to be secret is in no log, and what an agent was given is forgotten.
#[test]
fn secrets_reach_no_log_and_outlive_no_attempt() {
    let mut sandbox = sandbox();
    sandbox.set("DEPLOY_TOKEN", "very-secret-value");
    let plan = sandbox.plan(
        r#"
name = "talks"
[[task]]
id = "talks"
region = "core"
command = "echo 1 > core/new.txt"
checks = "echo very-secret-value https://me:word@host 'Authorization: Bearer abc'; false"
max_attempts = 1
"#,
    );
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(5);
    let folder = sandbox.pitcrew(&["run", &plan, "--yes"]).expect(5).stdout;
    let folder = folder.lines().find_map(|it| it.strip_prefix("journal ")).expect("its place");
    let folder = std::path::Path::new(folder.trim());
    let entries = |name: &str| std::fs::read_dir(folder.join(name)).expect("a folder").flatten();
    let logs = entries("logs").map(|it| std::fs::read_to_string(it.path()).expect("a log"));
    let logs = logs.collect::<String>();
    assert!(logs.contains("[redacted]"), "{logs}");
    for part in ["[Orchestrator] ", "[Orchestrator:deploy] ", "[WorkerSession:worker-1] "] {
        assert!(logs.contains(part), "{part} in {logs}");
    }
    let token = std::fs::read_to_string(folder.join("token")).expect("a token");
    for secret in ["very-secret-value", "me:word", "Bearer abc", token.trim()] {
        assert!(!logs.contains(secret), "{secret} in {logs}");
    }
    pitcrew_testkit::eventually("what the agents were started with is gone", || {
        let left = entries("attempts").filter(|it| it.path().join("spec.json").exists());
        (left.count() == 0).then_some(())
    });
    assert!(entries("attempts").any(|it| it.path().join("spool.ndjson").exists()));
}

#[test]
fn a_task_that_has_not_started_has_a_log_that_says_so() {
    let sandbox = sandbox();
    let second = "\n[[task]]\nid = \"later\"\ncommand = \"true\"\nregion = \"ui\"\ndepends_on = [\"waits\"]\n";
    let plan = sandbox.plan(&format!("{}{second}", gated(&sandbox, "gated")));
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    await_task(&sandbox, "waits", "running");
    let log = sandbox.pitcrew(&["logs", "later"]).expect(0);
    log.notes("task-2 has not started: waits for task-1 waits");
    open_gate(&sandbox);
    sandbox.pitcrew(&["watch"]).expect(0);
}

/// Several plans run at the same time, and a name that both have is not guessed.
#[test]
fn two_plans_run_at_once() {
    let sandbox = sandbox();
    let plan = sandbox.plan(&gated(&sandbox, "twice").replace("region = \"core\"", ""));
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0).says("plan-1");
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0).says("plan-2");
    let asked = sandbox.pitcrew(&["cancel", "waits"]).expect(2);
    assert!(asked.stderr.contains("task-1") && asked.stderr.contains("task-2"), "{asked}");
    sandbox.pitcrew(&["pause", "twice"]).expect(2).notes("plan-1").notes("plan-2");
    let watching = sandbox.start(&["watch"]);
    open_gate(&sandbox);
    let watched = watching.wait().expect(0);
    assert!(watched.stdout.contains("plan-1 twice: completed"), "{watched}");
    assert!(watched.stdout.contains("plan-2 twice: completed"), "{watched}");
}

#[test]
fn the_base_can_be_asked_to_be_clean() {
    let sandbox = sandbox();
    sandbox.write("core/one.txt", "changed\n");
    let plan = sandbox.plan(TWO_COMMANDS);
    let refused = sandbox.pitcrew(&["run", &plan, "--yes", "--base", "HEAD"]).expect(2);
    assert!(refused.stderr.contains("uncommitted changes: core/one.txt"), "{refused}");
    assert!(refused.stdout.is_empty(), "{refused}");
    assert!(sandbox.orchestrator().is_none(), "nothing was started for it");
    let ran = sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
    assert!(ran.stderr.contains("with 1 uncommitted file of yours"), "{ran}");
}

/// A worker can report with the command too.
#[test]
fn a_worker_calls_a_tool_from_its_shell() {
    let sandbox = sandbox();
    let plan = sandbox.plan(
        r#"
name = "tool"

[[task]]
id = "tells"
region = "core"
script = """
run echo 1 > core/new.txt
run pitcrew tool orchestrator_complete_task --json '{"summary": "told by hand"}'
"""
"#,
    );
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
    let board = sandbox.pitcrew(&["status", "--json"]).expect(0).json();
    assert_eq!(board["tasks"][0]["attempts"][0]["summary"], "told by hand");
    // Whoever is no worker has no task to complete.
    let mine = ["tool", "orchestrator_complete_task", "--json", r#"{"summary": "mine"}"#];
    sandbox.pitcrew(&mine).expect(6);
}

#[test]
fn a_plan_that_is_deployed_by_hand_says_so() {
    let sandbox = sandbox();
    let plan = sandbox.plan(&TWO_COMMANDS.replacen('\n', "\ndeploy = \"manual\"\n", 1));
    let ran = sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    assert_eq!(ran.stderr.matches("deployed by hand: pitcrew deploy TASK").count(), 1, "{ran}");
}

/// A tool is told once, when it starts; and once more where it failed.
#[test]
fn a_log_tells_of_each_tool_once() {
    let sandbox = sandbox();
    let plan = sandbox.plan(
        "name = \"x\"\n[[task]]\nid = \"works\"\nregion = \"core\"\nscript = \"run echo 1 > core/new.txt\\ncomplete did it\\n\"\n",
    );
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
    let lines = sandbox.pitcrew(&["logs", "works", "--json"]).expect(0).json_lines();
    let is_run = |it: &&Value| it["text"] == "run echo 1 > core/new.txt";
    assert_eq!(lines.iter().filter(is_run).count(), 1, "{lines:?}");
    let numbers: Vec<u64> = lines.iter().filter_map(|it| it["number"].as_u64()).collect();
    assert_eq!(numbers, (1..=lines.len() as u64).collect::<Vec<_>>());
}
