//! Agents that delegate parts of their work, end to end with the real binary.

use crate::support::*;
use pitcrew_testkit::{Finished, Sandbox, eventually};
use serde_json::Value;
use std::{collections::BTreeSet, fs};

/// An architect delegates to three sub-tasks and uses their answers.
const OAUTH: &str = r#"
name = "oauth"

[[task]]
id = "architect"
region = "plans"
max_attempts = 1
script = '''
read core/lib.rs
tool a2a_spawn_parallel_subtasks <<END
{"blocking": true, "subtasks": [
  {"agent": "builtin", "prompt": "Design the backend.", "expected_output": "a design",
   "script": "read core/lib.rs\ncomplete backend: sessions with tokens"},
  {"agent": "builtin", "prompt": "Sketch the frontend.", "workspace": "isolated", "target_files": ["plans/frontend.md"],
   "script": "write plans/frontend.md <<E\na login form\nE\ncomplete frontend: one form"},
  {"agent": "builtin", "prompt": "Design the database.",
   "script": "fail the database is unknown"}
]}
END
keep backend /results/0/output
keep frontend /results/1/subtask
expect "status": "success"
expect "status": "failed"
expect the database is unknown
expect "files_changed": 1
tool a2a_pull_subtask_changes {"id": "${frontend}"}
expect plans/frontend.md
refused a2a_pull_subtask_changes {"id": "subtask-9"}
write plans/ArchitecturePlan.md <<END
# Plan
${backend}
END
tool a2a_notify_orchestrator {"kind": "status", "message": "the architecture is planned"}
complete planned with two of three answers
'''

[[task]]
id = "next-phase"
region = "core"
depends_on = ["architect"]
command = "cat plans/ArchitecturePlan.md plans/frontend.md > core/read.txt"
"#;

/// S4-159, S4-007, S4-040, S4-092, S1-007: of three parallel sub-tasks one creates a file without
/// asking and one fails; their parent gets all three results and continues.
#[test]
fn parent_continues_with_three_parallel_results() {
    let sandbox = sandbox();
    sandbox.write("core/lib.rs", "pub fn core() {}\n");
    sandbox.commit("a library");
    let plan = sandbox.plan(OAUTH);
    let ran = sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
    ran.says("2 of 2 completed").says("architect (3 sub-tasks, 1 not completed)");
    let board = sandbox.pitcrew(&["status", "--json"]).expect(0).json();
    let subtasks = board["subtasks"].as_array().expect("sub-tasks");
    let result = |it: &Value| (text(&it["status"]), text(&it["subtask"]["result"]["status"]));
    let results: Vec<_> = subtasks.iter().map(result).collect();
    let both = |it: &str, result: &str| (it.to_owned(), result.to_owned());
    assert_eq!(
        results,
        [both("completed", "success"), both("completed", "success"), both("failed", "failed")]
    );
    let status = sandbox.pitcrew(&["status"]).expect(0);
    status.says("  subtask-3 Design the backend.").says("builtin, isolated");
    sandbox.pitcrew(&["logs", "subtask-3"]).expect(0).says("backend: sessions with tokens");
    let log = sandbox.pitcrew(&["logs", "architect"]).expect(0);
    let log = log.says("| > the agent gave up: the database is unknown\n");
    assert!(!log.stdout.contains("| > the database is"), "the reason is in the prompt once: {log}");
    in_order(
        &log.stdout,
        &[
            "pub fn core() {}",
            "call a2a_spawn",
            "delegates subtask-3",
            "waits for subtask-3",
            "gets the results",
            "the turn ended",
        ],
    );
    sandbox.pitcrew(&["diff", "subtask-4"]).expect(0).says("a login form");
    // S2-061, S2-069: the group is in the journal, so it survives a kill.
    sandbox.kill_orchestrator();
    sandbox
        .pitcrew(&["audit"])
        .expect(0)
        .says("sub-tasks created together: subtask-3, subtask-4, subtask-5");
    let audit = sandbox.pitcrew(&["audit", "--kind", "subtask"]).expect(0);
    assert_eq!(audit.stdout.lines().count(), 3, "{audit}");
    let inbox = sandbox.pitcrew(&["inbox", "--all", "--json"]).expect(0).json();
    let asked = inbox["closed"].as_array().expect("requests").iter();
    assert_eq!(asked.filter(|it| it["task"] != Value::Null).count(), 0, "{inbox}");
    // S1-090: each line of the log names its source.
    log_names_its_parts(&sandbox);
    sandbox.pitcrew(&["land", "oauth", "--yes"]).expect(0);
    assert_eq!(
        sandbox.read("plans/ArchitecturePlan.md"),
        "# Plan\nbackend: sessions with tokens\n"
    );
    assert!(sandbox.read("core/read.txt").ends_with("a login form\n"));
    let checkouts = sandbox.root().join(".worktrees/repo");
    eventually("no checkout is left", || {
        let left = fs::read_dir(&checkouts).into_iter().flatten().flatten();
        (left.count() == 0).then_some(())
    });
}

/// Asserts that the parts occur in this order.
#[track_caller]
fn in_order(text: &str, parts: &[&str]) {
    let mut rest = text;
    for part in parts {
        let found = rest.split_once(part);
        rest =
            found.unwrap_or_else(|| panic!("`{part}` is missing, or stands too early:\n{text}")).1;
    }
}

/// Every line of the log names its part of the orchestrator: the deployment, a worker, the
/// sub-tasks, the messages, or a command to a driver.
#[track_caller]
fn log_names_its_parts(sandbox: &Sandbox) {
    let files = fs::read_dir(sandbox.states()[0].join("logs")).expect("logs").flatten();
    let log: String = files.map(|it| fs::read_to_string(it.path()).expect("a log")).collect();
    let part = |line: &str| {
        let (stamp, rest) = line.split_once(" [")?;
        let part = rest.split_once("] ")?.0;
        (stamp.len() == "2001-01-01T00:00:00".len()).then(|| part.to_owned())
    };
    let parts: BTreeSet<String> = log
        .lines()
        .map(|line| part(line).unwrap_or_else(|| panic!("no part is named: {line}")))
        .collect();
    let of = |prefix: &str| parts.iter().filter(|it| it.starts_with(prefix)).count();
    for (prefix, at_least) in [
        ("Orchestrator:deploy", 1),
        ("Orchestrator:subtasks", 1),
        ("Orchestrator:messages", 1),
        ("Orchestrator:effect-", 5),
        ("WorkerSession:worker-", 5),
    ] {
        assert!(of(prefix) >= at_least, "{prefix}: {parts:?}");
    }
}

/// A waiting parent releases its slot: even with as many parents as slots, their children run.
#[test]
fn waiting_parents_do_not_starve_their_children() {
    let sandbox = sandbox();
    let parent = |number: u32| {
        format!(
            r#"
[[task]]
id = "parent-{number}"
region = "part{number}"
script = '''
tool a2a_spawn_subtask {{"agent": "builtin", "prompt": "part {number}", "blocking": true, "script": "complete said {number}"}}
expect said {number}
complete heard it
'''
"#
        )
    };
    let parents: Vec<String> = (1..=5).map(parent).collect();
    let plan = format!("name = \"waiting\"\nmax_attempts = 1\n{}", parents.concat());
    let plan = sandbox.plan(&plan);
    let ran = sandbox.pitcrew(&["run", &plan, "--yes", "--max-agents", "5"]).expect(0);
    ran.says("5 of 5 completed");
}

/// S4-154: read-only sub-tasks of the same state share a checkout, so none of them can write to it.
/// Build output is discarded.
#[test]
fn read_only_sub_tasks_cannot_change_shared_state() {
    for tier in ["T3", "T2"] {
        let mut sandbox = sandbox();
        sandbox.set("PITCREW_SANDBOX", tier);
        sandbox.write(".gitignore", "/target\n");
        sandbox.write("core/lib.rs", "pub fn core() {}\n");
        sandbox.commit("a library");
        let plan = sandbox.plan(
            r#"
name = "reading"

[[task]]
id = "parent"
max_attempts = 1
script = '''
tool a2a_spawn_parallel_subtasks <<END
{"blocking": true, "subtasks": [
  {"agent": "builtin", "prompt": "one", "workspace": "read_only",
   "script": "read core/lib.rs\nrun ! { echo x > core/lib.rs; } && ! rm core/lib.rs && ! touch new && ! git config user.name x\nrefused fs/write_text_file {\"path\": \"core/lib.rs\", \"content\": \"x\"}\nexpect read-only for your task\nrun mkdir -p target/debug && rm $(mktemp)\ncomplete one"},
  {"agent": "builtin", "prompt": "two", "workspace": "read_only",
   "script": "run grep -q 'pub fn core' core/lib.rs && ! touch core/new\ncomplete two"}
]}
END
expect subtask-2: success
expect subtask-3: success
complete all
'''
"#,
        );
        sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0).says("1 of 1 completed");
    }
}

/// S4-015: a read-only sub-task does not wait for a new checkout. It gets an existing one, updated
/// with the changes of its parent.
#[test]
fn read_only_sub_task_reuses_a_checkout() {
    let sandbox = sandbox();
    for number in 1..=20 {
        sandbox.write(&format!("core/{number}.rs"), &format!("pub fn n{number}() {{}}\n"));
    }
    sandbox.commit("a library");
    let seen = sandbox.root().join("seen");
    fs::create_dir(&seen).expect("a folder");
    let reading = |name: &str| {
        let seen = seen.join(name).display().to_string();
        let look = format!("stat -c '%n %i %y' core/*.rs > {seen}; cat plans/more >> {seen}");
        format!(
            r#"tool a2a_spawn_subtask {{"agent": "builtin", "prompt": "look", "workspace": "read_only", "blocking": true, "script": "run {look}\ncomplete looked"}}"#
        )
    };
    let plan = sandbox.plan(&format!(
        r#"
name = "reading"

[[task]]
id = "parent"
script = '''
write plans/more <<END
one
END
{}
write plans/more <<END
two
END
{}
complete it
'''
"#,
        reading("first"),
        reading("second"),
    ));
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
    let seen = |name: &str| fs::read_to_string(seen.join(name)).expect("it looked");
    let (first, second) = (seen("first"), seen("second"));
    assert_eq!(first.lines().count(), 21, "{first}");
    assert!(first.ends_with("\none\n"), "{first}");
    assert_eq!(second, first.replace("\none\n", "\ntwo\n"));
}

/// S4-125: the processes of a sub-task end with it, and the parent is notified.
#[test]
fn stopped_sub_task_leaves_its_parent_running() {
    let sandbox = sandbox();
    let lock = sandbox.root().join("lock");
    let plan = sandbox.plan(&waiting(&format!(
        r"run exec 9>'{0}'; flock 9; setsid sleep 600 & sleep 600",
        lock.display()
    )));
    let running = sandbox.start(&["run", &plan, "--yes"]);
    eventually("the sub-task works", || is_locked(&lock).then_some(()));
    assert_eq!(status_of(&sandbox, "subtask-2"), "running");
    let stopped = sandbox.pitcrew(&["stop", "subtask", "subtask-2"]).expect(0);
    stopped.says("subtask-2 is cancelled; 1 agent ended, no process is left");
    assert!(!is_locked(&lock));
    running.wait().expect(0);
    assert_eq!(
        sandbox.pitcrew(&["status", "--json"]).expect(0).json()["tasks"][0]["status"],
        "completed"
    );
}

/// S2-070, S4-150: a waiting parent and its sub-task survive the orchestrator, and the answer
/// arrives once, in the same session.
#[test]
fn waiting_parent_survives_the_orchestrator() {
    let sandbox = sandbox();
    let gate = sandbox.root().join("gate");
    let work = format!("run until [ -e '{}' ]; do sleep 0.05; done", gate.display());
    let plan = sandbox.plan(&waiting(&work));
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    eventually("the sub-task works", || {
        (status_of(&sandbox, "subtask-2") == "running").then_some(())
    });
    eventually("its parent waits", || {
        let status = sandbox.pitcrew(&["status"]).expect(0);
        status.stdout.contains("waits for its sub-tasks").then_some(())
    });
    sandbox.kill_orchestrator();
    fs::write(&gate, "").expect("a file");
    sandbox.pitcrew(&["watch"]).expect(0).says("1 of 1 completed");
    let board = sandbox.pitcrew(&["status", "--json"]).expect(0).json();
    for it in [&board["tasks"][0], &board["subtasks"][0]] {
        assert_eq!(it["attempts"].as_array().map(Vec::len), Some(1), "{it}");
    }
    let handed = sandbox.pitcrew(&["audit", "--kind", "results_handed"]).expect(0);
    assert_eq!(handed.stdout.lines().count(), 1, "{handed}");
}

/// Invariant: the limits hold with many concurrent callers, and every refusal has a reason.
#[test]
fn spawn_limits_hold_for_concurrent_callers() {
    let sandbox = sandbox();
    let plan = sandbox.plan(
        r#"
name = "greedy"

[[task]]
id = "greedy"
region = "core"
max_attempts = 1
script = '''
run <<END
for n in $(seq 30); do
  pitcrew tool a2a_spawn_subtask --json '{"agent": "builtin", "prompt": "part '$n'", "script": "complete ok", "blocking": false}' > core/$n.yes 2> core/$n.no &
done
wait
cat core/*.yes > core/taken.txt
cat core/*.no > core/refused.txt
rm core/*.yes core/*.no
test $(grep -c Spawned core/taken.txt) = 10
END
refused a2a_spawn_subtask {"agent": "builtin", "prompt": "one more", "script": "complete ok"}
tool a2a_await_subtasks {"ids": []}
complete took what was given
'''
"#,
    );
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
    let board = sandbox.pitcrew(&["status", "--json"]).expect(0).json();
    assert_eq!(board["subtasks"].as_array().map(Vec::len), Some(10));
    sandbox.pitcrew(&["land", "greedy", "--yes"]).expect(0);
    let refused = sandbox.read("core/refused.txt");
    assert_eq!(refused.matches("sub-tasks").count().min(20), 20, "{refused}");
}

/// A worker has depth 0, its sub-tasks depth 1, and theirs depth 2.
#[test]
fn spawn_depth_is_limited() {
    let sandbox = sandbox();
    let inner = r#"refused a2a_spawn_subtask {\\\"agent\\\": \\\"builtin\\\", \\\"prompt\\\": \\\"third\\\", \\\"script\\\": \\\"complete no\\\"}\\ncomplete third was refused"#;
    let outer = format!(
        r#"tool a2a_spawn_subtask {{\"agent\": \"builtin\", \"prompt\": \"second\", \"blocking\": true, \"script\": \"{inner}\"}}\nexpect third was refused\ncomplete second heard it"#
    );
    let plan = sandbox.plan(&format!(
        "name = \"deep\"\n\n[[task]]\nid = \"top\"\nregion = \"core\"\nmax_attempts = 1\nscript = '''\ntool a2a_spawn_subtask {{\"agent\": \"builtin\", \"prompt\": \"first\", \"blocking\": true, \"script\": \"{outer}\"}}\nexpect second heard it\ncomplete top heard it\n'''\n"
    ));
    let ran = sandbox.pitcrew(&["run", &plan, "--yes"]);
    assert_eq!(ran.code, Some(0), "{ran}\n{}", full_log(&sandbox));
    let status = sandbox.pitcrew(&["status"]).expect(0);
    status.says("    subtask-3 second");
}

/// S4-043, S4-044, S4-047, S4-051: a parent can grant its sub-task what it holds itself. An agent
/// cannot decide a request that needs a person.
#[test]
fn parent_grants_only_what_it_holds() {
    let sandbox = sandbox();
    let gate = sandbox.root().join("gate");
    let plan = sandbox.plan(&format!(
        r#"
name = "asks"

[[task]]
id = "parent"
region = "core"
max_attempts = 1
script = '''
permit make docs
tool a2a_spawn_subtask {{"agent": "builtin", "prompt": "the docs", "blocking": true, "script": "permit make docs\ncomplete made them"}}
expect a2a_decide_permissions
expect command_execution
expect make docs
keep request /requests/0/request
tool a2a_decide_permissions {{"requests": ["${{request}}"], "verdict": "approve"}}
tool a2a_await_subtasks {{}}
expect made them
tool a2a_spawn_subtask {{"agent": "builtin", "prompt": "the rest", "script": "permit make rest\ncomplete made it"}}
run until [ -e '{}' ]; do sleep 0.05; done
refused a2a_decide_permissions {{"requests": ["request-3"], "verdict": "approve"}}
expect you cannot decide it
tool a2a_await_subtasks {{}}
expect made it
complete decided what it may
'''
"#,
        gate.display()
    ));
    let running = sandbox.start(&["run", &plan, "--yes"]);
    let first = await_request(&sandbox);
    let approve = |request: &Value, scope: &str| {
        sandbox.pitcrew(&["approve", &text(&request["id"]), "--scope", scope]).expect(0);
    };
    approve(&first, "task");
    let asked = eventually("the other sub-task asks a person", || {
        let inbox = sandbox.pitcrew(&["inbox", "--json"]).expect(0).json();
        let open = inbox["open"].as_array().cloned().unwrap_or_default();
        open.into_iter().find(|it| it["id"] == "request-3")
    });
    let inbox = sandbox.pitcrew(&["inbox"]).expect(0);
    in_order(
        &inbox.stdout,
        &[
            "request-3 subtask-3 the rest, ",
            "  may it run `make rest`?\n",
            "  asked by worker-3 (pitcrew-agent 0.0.0), for plan-1 asks\n",
            "  its parent has not decided it (task-1 lacks this permission too)\n",
            "  so you decide it (the rule is ask_user)\n",
            "  pitcrew approve request-3",
        ],
    );
    fs::write(&gate, "").expect("a file");
    eventually("its parent was refused, and waits", || {
        let status = sandbox.pitcrew(&["status"]).expect(0);
        status.stdout.contains("waits for its sub-tasks").then_some(())
    });
    approve(&asked, "once");
    let ran = running.wait();
    assert_eq!(ran.code, Some(0), "{ran}\n{}", full_log(&sandbox));
}

/// A conflict is reported with its files and how to resolve it, and following that advice works.
#[test]
fn pull_conflict_says_how_to_resolve_it() {
    let sandbox = sandbox();
    let child = Value::from("write plans/a.md <<E\nof the child\nE\ncomplete wrote it");
    let plan = sandbox.plan(&format!(
        r#"
name = "pulls"

[[task]]
id = "parent"
region = "plans"
max_attempts = 1
script = '''
tool a2a_spawn_subtask {{"agent": "builtin", "prompt": "a part", "blocking": true, "workspace": "isolated", "target_files": ["plans/a.md"], "script": {child}}}
keep part /results/0/subtask
write plans/a.md <<END
of the parent
END
refused a2a_pull_subtask_changes {{"id": "${{part}}"}}
expect your changes conflict with its changes in plans/a.md
expect save your version of these files elsewhere
run rm plans/a.md
tool a2a_pull_subtask_changes {{"id": "${{part}}"}}
expect plans/a.md
complete pulled it
'''
checks = "grep -q child plans/a.md"
"#
    ));
    let ran = sandbox.pitcrew(&["run", &plan, "--yes"]);
    assert_eq!(ran.code, Some(0), "{ran}\n{}", full_log(&sandbox));
}

/// A sub-task asks its waiting parent: the wait is interrupted, the parent answers, and both
/// continue.
#[test]
fn sub_task_asks_its_waiting_parent() {
    let sandbox = sandbox();
    let child = Value::from(
        "tool a2a_notify_orchestrator {\"kind\": \"question\", \"to\": \"parent\", \"message\": \"which port?\"}\nask Anything else?\nwhen \"> 8080\" complete took the port",
    );
    let plan = sandbox.plan(&format!(
        r#"
name = "asks"

[[task]]
id = "parent"
region = "core"
max_attempts = 1
script = '''
tool a2a_spawn_subtask {{"agent": "builtin", "prompt": "a part", "blocking": true, "script": {child}}}
expect which port?
keep message /questions/0/message
tool a2a_notify_orchestrator {{"kind": "answer", "reply_to": "${{message}}", "message": "8080"}}
tool a2a_await_subtasks {{}}
expect took the port
complete answered
'''
"#
    ));
    let ran = sandbox.pitcrew(&["run", &plan, "--yes"]);
    assert_eq!(ran.code, Some(0), "{ran}\n{}", full_log(&sandbox));
    let messages = sandbox.pitcrew(&["messages"]).expect(0);
    messages.says("which port?").says("8080");
}

/// A parent whose only sub-task does `work`.
fn waiting(work: &str) -> String {
    let child = Value::from(format!("{work}\ncomplete the part is done"));
    format!(
        r#"
name = "family"
max_attempts = 1

[[task]]
id = "parent"
region = "core"
script = '''
tool a2a_spawn_subtask {{"agent": "builtin", "prompt": "a part", "blocking": true, "script": {child}}}
save core/answer.txt
complete heard of it
'''
"#
    )
}

fn status_of(sandbox: &Sandbox, subtask: &str) -> String {
    let board = sandbox.pitcrew(&["status", "--json"]).expect(0).json();
    let id = subtask.replace("subtask", "task");
    let subtasks = board["subtasks"].as_array().expect("sub-tasks");
    subtasks
        .iter()
        .find(|it| it["id"] == id.as_str())
        .map(|it| text(&it["status"]))
        .unwrap_or_default()
}

fn full_log(sandbox: &Sandbox) -> Finished {
    sandbox.pitcrew(&["audit"])
}
