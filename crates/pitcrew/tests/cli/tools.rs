//! The tools, called by the user's own agent.

use crate::support::{await_task, correct, fallible, sandbox, task_status, text};
use pitcrew_testkit::{Sandbox, eventually};
use serde_json::{Value, json};

fn tool(sandbox: &Sandbox, name: &str, arguments: &Value, code: i32) -> String {
    let done = sandbox.pitcrew(&["tool", name, "--json", &arguments.to_string()]).expect(code);
    if code == 0 { done.stdout } else { done.stderr }
}

/// S1-022..S1-024, S1-027: an outside client drives a plan, and a person approves it.
#[test]
fn client_submits_a_plan_and_a_person_approves_it() {
    let sandbox = sandbox();
    let list = sandbox.pitcrew(&["tool"]).expect(0).stdout;
    assert!(list.contains("orchestrator_save_plan") && list.contains("--json '"), "{list}");
    assert!(!list.contains("orchestrator_complete_task --json"), "{list}");

    let plan = json!({"name": "tidy", "tasks": [
        {"id": "first", "command": "echo 1 > core/new.txt", "region": ["core"]}]});
    let saved = tool(&sandbox, "orchestrator_save_plan", &plan, 0);
    assert!(saved.contains("Created plan-1: task-1 `first`."), "{saved}");
    assert!(saved.contains("pitcrew approve request-1"), "{saved}");
    let more = json!({"plan": "tidy", "id": "second", "command": "echo 2 > ui/new.txt",
        "dependsOn": ["first"]});
    let added = tool(&sandbox, "orchestrator_addPlanTask", &more, 0);
    assert!(added.contains("task-2") && added.contains("request-1"), "{added}");

    let board = tool(&sandbox, "orchestrator_list_workers", &json!({}), 0);
    assert!(board.contains("task-2 second") && board.contains("awaiting_approval"), "{board}");
    for id in ["request-1", "plan-1"] {
        let refused = sandbox.pitcrew(&["approve", id]).expect(6).stderr;
        assert!(refused.contains("plan-1 has changed: task-2 was added"), "{refused}");
    }
    let inbox = sandbox.pitcrew(&["inbox"]).expect(0).stdout;
    assert!(inbox.contains("echo 2 > ui/new.txt"), "{inbox}");
    assert!(inbox.contains("pitcrew approve request-1 --tasks 2"), "{inbox}");
    sandbox.pitcrew(&["approve", "plan-1", "--tasks", "2"]).expect(0);
    await_task(&sandbox, "second", "completed");
    let reply = tool(&sandbox, "orchestrator_cancel_task", &json!({"task": "second"}), 6);
    assert!(reply.contains("task-2"), "the name is understood: {reply}");
    let reply = tool(&sandbox, "orchestrator_cancel_task", &json!({"task": "third"}), 6);
    assert!(
        reply.contains("there is no task `third`; call `orchestrator_list_workers`"),
        "{reply}"
    );

    // If several plans have the name, the one that has not ended is meant; there must be exactly
    // one.
    let again = json!({"name": "tidy", "tasks": [{"id": "first", "command": "ls"}]});
    tool(&sandbox, "orchestrator_save_plan", &again, 0);
    let reply = tool(&sandbox, "orchestrator_cancel_task", &json!({"task": "first"}), 0);
    assert!(reply.contains("task-3"), "{reply}");
    tool(&sandbox, "orchestrator_save_plan", &again, 0);
    tool(&sandbox, "orchestrator_save_plan", &again, 0);
    let reply = tool(&sandbox, "orchestrator_cancel_task", &json!({"task": "first"}), 6);
    assert!(reply.contains("more than one task: ") && reply.contains("task-4, task-5"), "{reply}");
}

/// A task that an agent adds to a running plan has not been approved.
#[test]
fn task_added_to_a_running_plan_waits_for_a_person() {
    let sandbox = sandbox();
    let gate = crate::support::gated(&sandbox, "gated");
    sandbox.write("plan.toml", &gate);
    sandbox.pitcrew(&["run", "plan.toml", "--yes", "--detach"]).expect(0);
    let more = json!({"plan": "plan-1", "id": "later", "command": "echo 2 > ui/new.txt"});
    let added = tool(&sandbox, "orchestrator_add_plan_task", &more, 0);
    assert!(added.contains("pitcrew deploy task-2"), "{added}");
    let refused = tool(&sandbox, "orchestrator_deploy_task", &json!({"task": "task-2"}), 6);
    assert!(refused.contains("only a person may deploy task-2"), "{refused}");
    sandbox.pitcrew(&["deploy", "task-2"]).expect(0);
    await_task(&sandbox, "later", "completed");
    crate::support::open_gate(&sandbox);
    await_task(&sandbox, "waits", "completed");
}

/// S1-025: the tool deploys the tasks of an approved plan with manual deployment.
#[test]
fn client_deploys_tasks_of_a_manual_plan() {
    let sandbox = sandbox();
    let plan =
        "name = \"by hand\"\ndeploy = \"manual\"\n[[task]]\nid = \"first\"\ncommand = \"true\"\n";
    sandbox.pitcrew(&["run", &sandbox.plan(plan), "--yes", "--detach"]).expect(0);
    assert_eq!(task_status(&sandbox, "first"), "pending");
    let deployed = tool(&sandbox, "orchestrator_deploy_task", &json!({"task": "first"}), 0);
    assert!(deployed.contains("task-1"), "{deployed}");
    await_task(&sandbox, "first", "completed");
    tool(&sandbox, "orchestrator_deploy_task", &json!({"task": "first"}), 6);
}

/// S1-028: a failed task gets another attempt, and a completed one does not.
#[test]
fn client_retries_a_failed_task() {
    let sandbox = sandbox();
    let plan = sandbox.plan(&fallible(&sandbox));
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(5);
    assert_eq!(task_status(&sandbox, "copies"), "failed");
    correct(&sandbox);
    tool(&sandbox, "orchestrator_retry_task", &json!({"task": "copies"}), 0);
    await_task(&sandbox, "copies", "completed");
    let refused = tool(&sandbox, "orchestrator_retry_task", &json!({"task": "copies"}), 6);
    assert!(refused.contains("task-1 cannot be retried"), "{refused}");
}

/// A retry waits until the work of the task has been saved, so that one call is enough.
#[test]
fn cancelled_task_can_be_retried_immediately() {
    let sandbox = sandbox();
    let plan = sandbox.plan(&crate::support::gated(&sandbox, "gated"));
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    await_task(&sandbox, "waits", "running");
    let twice = json!({"plan": "plan-1", "id": "waits", "command": "true"});
    let refused = tool(&sandbox, "orchestrator_add_plan_task", &twice, 6);
    assert!(refused.contains("task-1 of this plan already has the id `waits`"), "{refused}");
    tool(&sandbox, "orchestrator_cancel_task", &json!({"task": "task-1"}), 0);
    tool(&sandbox, "orchestrator_retry_task", &json!({"task": "task-1"}), 0);
    crate::support::open_gate(&sandbox);
    await_task(&sandbox, "waits", "completed");
}

/// S1-030: an invalid call is answered with how to fix it.
#[test]
fn invalid_call_says_how_to_fix_it() {
    let sandbox = sandbox();
    let bad = json!({"plan": "name = \"x\"\n\n[[task]]\nid = \"a\"\ncomand = \"ls\"\n"});
    let reply = tool(&sandbox, "orchestrator_save_plan", &bad, 6);
    assert!(reply.contains("plan:5") && reply.contains("command"), "{reply}");
    let bad = json!({"name": "x", "base": "nope", "tasks": [{"id": "a", "command": "ls"}]});
    let reply = tool(&sandbox, "orchestrator_save_plan", &bad, 6);
    assert!(reply.contains("the base `nope` is not a branch or commit"), "{reply}");
    let reply = tool(&sandbox, "orchestrator_complete_task", &json!({"summary": "x"}), 6);
    assert!(
        reply.contains("you cannot use") && reply.contains("orchestrator_save_plan"),
        "{reply}"
    );
    let reply = tool(&sandbox, "levitate", &json!({}), 6);
    assert!(reply.contains("no tool `levitate`"), "{reply}");
    let agents = tool(&sandbox, "a2a_list_agents", &json!({}), 0);
    assert!(agents.contains("command: ready"), "{agents}");
    let board = sandbox.pitcrew(&["status", "--all", "--json"]).expect(0).json();
    assert_eq!(text(&board["plans"]), "", "no plan was submitted: {board}");
}

/// S1-041: the user's own agent delegates sub-tasks and reads their results.
#[test]
fn client_delegates_sub_tasks() {
    let mut sandbox = sandbox();
    let writes = |blocking: bool| {
        json!({"agent": "command", "prompt": "count", "command": "echo 1 > core/new.txt; echo counted",
            "target_files": ["core/new.txt"], "blocking": blocking})
    };
    let refused = tool(&sandbox, "a2a_spawn_subtask", &writes(true), 6);
    assert!(refused.contains("command_execution is ask_user"), "{refused}");
    let file = sandbox.home().join(".config/pitcrew/permissions.md");
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("folders");
    std::fs::write(file, "---\nversion: 1\nauto_approve: [command_execution]\n---\n")
        .expect("a file");
    sandbox.pitcrew(&["stop"]).expect(0);
    let done = tool(&sandbox, "a2a_spawn_subtask", &writes(true), 0);
    assert!(done.contains("subtask-1: success") && done.contains("pitcrew land plan-1"), "{done}");
    let later = tool(&sandbox, "a2a_spawn_subtask", &writes(false), 0);
    assert!(later.contains("Spawned subtask-2"), "{later}");
    let waited = tool(&sandbox, "a2a_await_subtasks", &json!({"ids": ["subtask-2"]}), 0);
    assert!(waited.contains("subtask-2: success"), "{waited}");
    let plan = json!({"name": "tidy", "tasks": [{"id": "first", "command": "ls"}]});
    tool(&sandbox, "orchestrator_save_plan", &plan, 0);
    let refused = tool(&sandbox, "a2a_get_subtask_results", &json!({"ids": ["task-3"]}), 6);
    assert!(refused.contains("subtask-3 is not one of your sub-tasks"), "{refused}");
    tool(&sandbox, "a2a_pull_subtask_changes", &json!({"id": "subtask-1"}), 6);
    let reads = json!({"agent": "command", "prompt": "look", "command": "echo 1 > core/left.txt",
        "workspace": "read_only", "blocking": true});
    let refused = tool(&sandbox, "a2a_spawn_subtask", &reads, 0);
    assert!(
        refused.contains("subtask-4: failed") && refused.contains("Permission denied"),
        "{refused}"
    );
    // Without a box, the import gate refuses it.
    sandbox.pitcrew(&["stop"]).expect(0);
    sandbox.set("PITCREW_SANDBOX", "T1");
    let refused = tool(&sandbox, "a2a_spawn_subtask", &reads, 0);
    let why = "core/left.txt is a change by a sub-task that may only read";
    assert!(refused.contains("subtask-5: failed") && refused.contains(why), "{refused}");
}

/// S1-041: read-only sub-tasks have only answers: nothing is left to land and nothing on disk.
#[test]
fn read_only_sub_tasks_leave_nothing_to_land() {
    let sandbox = sandbox();
    let file = sandbox.home().join(".config/pitcrew/permissions.md");
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("folders");
    std::fs::write(file, "---\nversion: 1\nauto_approve: [command_execution]\n---\n")
        .expect("a file");
    let look = json!({"agent": "command", "prompt": "look", "command": "ls", "workspace": "read_only",
        "blocking": true});
    let done = tool(&sandbox, "a2a_spawn_subtask", &look, 0);
    assert!(done.contains("subtask-1: success") && !done.contains("pitcrew land"), "{done}");
    sandbox.pitcrew(&["status"]).expect(0).says("no current plans");
    sandbox.pitcrew(&["status", "--all"]).expect(0).says("there is nothing to land");
    eventually("the checkout is removed", || {
        let left = std::fs::read_dir(sandbox.root().join(".worktrees/repo")).expect("a folder");
        (left.count() == 0).then_some(())
    });
    let read = tool(&sandbox, "a2a_get_subtask_results", &json!({"ids": ["subtask-1"]}), 0);
    assert!(read.contains("subtask-1: success"), "the answer can be read again: {read}");
}

/// No sub-task goes to an agent that cannot start. The refusal explains what to do instead.
#[test]
fn no_sub_task_for_an_agent_that_cannot_start() {
    let sandbox = sandbox();
    let file = sandbox.home().join(".config/pitcrew/backends/unknown.toml");
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("folders");
    std::fs::write(file, "command = \"no-such-agent\"\ninstall = \"ask around\"\n")
        .expect("a file");
    let asked = |agent: &str| json!({"agent": agent, "prompt": "look"});
    let reply = tool(&sandbox, "a2a_spawn_subtask", &asked("unknown"), 6);
    assert!(
        reply.contains("needs `unknown`, which is not installed: `no-such-agent` was not found"),
        "{reply}"
    );
    assert!(reply.contains("ask around") && reply.contains("ready agents:"), "{reply}");
    let reply = tool(&sandbox, "a2a_spawn_subtask", &asked("builtin"), 6);
    assert!(reply.contains("no model is set; send a `script`"), "{reply}");
    let board = sandbox.pitcrew(&["status", "--all", "--json"]).expect(0).json();
    assert_eq!(text(&board["plans"]), "", "no sub-task was created: {board}");
}

/// There is one port, and it is open as long as a client needs it.
#[test]
fn http_tools_use_one_port_and_stop() {
    let sandbox = sandbox();
    let serving = sandbox.start(&["mcp", "--http", "--json"]);
    let reply: Value = eventually("the address is printed", || {
        serving.results().lines().find_map(|it| serde_json::from_str(it).ok())
    });
    let url = reply["url"].as_str().expect("an address");
    let port: u16 = url.split(['/', ':']).find_map(|it| it.parse().ok()).expect("a port");
    let other = if port == 40_001 { "40002" } else { "40001" };
    let refused = sandbox.pitcrew(&["mcp", "--http", "--port", other]).expect(2);
    refused.notes(&format!("the tools are already served on port {port}"));
    serving.interrupt();
    serving.wait();
    eventually("the port is closed", || {
        std::net::TcpStream::connect(("127.0.0.1", port)).is_err().then_some(())
    });
}

/// S1-031, S4-001, S4-003, S4-017, S4-018, S4-023: roles are defined in files and listed for every
/// agent.
#[test]
fn agents_list_roles_with_strengths() {
    let sandbox = sandbox();
    let painter = "---\ndescription: Paints sheds.\nbackend: builtin\nstrengths: [colours]\n\
                   weaknesses:\n  - roofs\nhandoffs:\n  - label: next\n---\nYou paint.\n";
    sandbox.write(".github/agents/painter.agent.md", painter);
    sandbox.write(".github/agents/broken.md", "no front matter\n");
    let agents = tool(&sandbox, "a2a_list_agents", &json!({}), 0);
    assert!(!agents.contains("painter"), "the file is not trusted: {agents}");
    sandbox.pitcrew(&["trust", "--yes"]).expect(0).notes("trusted .github/agents/painter.agent.md");
    let agents = tool(&sandbox, "a2a_list_agents", &json!({}), 0);
    assert!(agents.contains("painter: ready. Paints sheds."), "{agents}");
    assert!(agents.contains("Good at: colours.") && agents.contains("Not for: roofs."), "{agents}");
    assert!(agents.contains("reviewer") && !agents.contains("broken"), "{agents}");
    let script = r#"tool a2a_spawn_subtask {"agent": "@painter", "prompt": "paint", "script": "complete painted", "blocking": true}
expect painted
refused a2a_spawn_subtask {"agent": "@unknown", "prompt": "x"}
expect painter
complete done
"#;
    let plan = sandbox.plan(&plan_of(script));
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
}

fn plan_of(script: &str) -> String {
    format!(
        "name = \"delegates\"\n\n[[task]]\nid = \"parent\"\nregion = \"core\"\nscript = '''\n{script}'''\n"
    )
}

/// S1-002..S1-004, S1-008, S1-032, S1-033, S1-084, S4-028, S4-029, S4-037..S4-039: a worker
/// delegates, waits for its own sub-tasks only, and reads their results.
#[test]
fn worker_delegates_and_gets_results() {
    let sandbox = sandbox();
    let script = r#"write core/base.txt <<END
one
END
tool a2a_list_agents {}
expect command: ready
tool a2a_spawn_subtask {"agentType": "builtin", "prompt": "look", "script": "run test -e core/base.txt\ncomplete it says one", "blocking": true}
expect success
expect it says one
tool a2a_spawn_parallel_subtasks {"subtasks": [{"agent": "builtin", "prompt": "write", "target_files": ["core"], "script": "write core/child.txt <<E\nfrom the child\nE\ncomplete wrote it"}, {"agent": "builtin", "prompt": "fails", "script": "fail cannot do it"}]}
keep ids /subtasks
tool a2a_await_subtasks {"taskIds": "${ids}", "timeout": "5m"}
expect wrote it
expect cannot do it
refused a2a_pull_subtask_changes {"id": "subtask-1"}
refused a2a_get_subtask_results {"ids": ["subtask-1"]}
refused orchestrator_deploy_task {"task": "task-1"}
refused a2a_spawn_subtask {"agent": "unknown", "prompt": "x"}
expect names `unknown`, which is neither a backend nor an agent
complete delegated
"#;
    let plan = sandbox.plan(&plan_of(script));
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
    assert_eq!(task_status(&sandbox, "parent"), "completed");
}

/// S1-034, S4-031: a sub-task ends with the tool, and its parent reads outcome and output as
/// fields. A sub-task that ends its turns without the tool has failed.
#[test]
fn sub_task_completes_with_the_tool() {
    let sandbox = sandbox();
    let script = r#"tool a2a_spawn_parallel_subtasks <<END
{"blocking": true, "subtasks": [
  {"agent": "builtin", "prompt": "one", "script": "tool a2a_subtask_complete {\"output\": \"line 40 panics\"}"},
  {"agent": "builtin", "prompt": "two", "script": "tool a2a_subtask_complete {\"output\": \"half\", \"outcome\": \"partial\"}"},
  {"agent": "builtin", "prompt": "three", "script": "say I am done"}
]}
END
keep first /results/0
keep second /results/1
keep third /results/2
write core/results.txt <<END
${first}
${second}
${third}
END
complete read them
"#;
    let plan = sandbox.plan(&plan_of(script));
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
    let diff = sandbox.pitcrew(&["diff", "parent"]).expect(0).stdout;
    let results = diff.lines().filter_map(|it| it.strip_prefix("+{"));
    let results: Vec<Value> =
        results.map(|it| serde_json::from_str(&format!("{{{it}")).expect("an object")).collect();
    let reply: Vec<(String, String)> =
        results.iter().map(|it| (text(&it["status"]), text(&it["output"]))).collect();
    let reply: Vec<(&str, &str)> = reply.iter().map(|it| (it.0.as_str(), it.1.as_str())).collect();
    assert_eq!(
        reply,
        [("success", "line 40 panics"), ("partial", "half"), ("failed", "")],
        "{diff}"
    );
    assert!(text(&results[2]["error"]).contains("no completion"), "{diff}");
}

/// S1-021: the prompt of every worker contains its location and how to complete, although its task
/// does not.
#[test]
fn every_prompt_says_where_and_how_to_complete() {
    let sandbox = sandbox();
    let script = r#"tool a2a_spawn_subtask {"agent": "builtin", "prompt": "look", "workspace": "read_only", "script": "complete looked", "blocking": true}
complete done
"#;
    let plan = sandbox.plan(&plan_of(script));
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
    let prompt = |task: &str| {
        let lines = sandbox.pitcrew(&["logs", task, "--json"]).expect(0).json_lines();
        let first = lines.iter().find(|it| it["source"] == "prompt");
        first.map(|it| text(&it["text"])).expect("it was prompted")
    };
    let (parent, child) = (prompt("parent"), prompt("subtask-2"));
    for (prompt, tool, other) in [
        (&parent, "orchestrator_complete_task", "a2a_subtask_complete"),
        (&child, "a2a_subtask_complete", "orchestrator_complete_task"),
    ] {
        assert!(prompt.contains("## Where you work"), "{prompt}");
        assert!(prompt.contains(&format!("call `{tool}`")), "{prompt}");
        assert!(!prompt.contains(other), "{prompt}");
    }
    assert!(parent.contains("You may change: core."), "{parent}");
    assert!(child.contains("Do not change files"), "{child}");
}

/// S1-033: a waiting call is resumed after the orchestrator was killed.
#[test]
fn waiting_call_survives_the_orchestrator() {
    let sandbox = sandbox();
    let gate = sandbox.root().join("gate");
    let child =
        format!("run until [ -e {} ]; do sleep 0.05; done\\ncomplete through", gate.display());
    let script = format!(
        "tool a2a_spawn_subtask {{\"agent\": \"builtin\", \"prompt\": \"wait\", \"script\": \"{child}\", \"blocking\": true}}\nexpect through\nsave core/result.txt\ncomplete got it\n"
    );
    let plan = sandbox.plan(&plan_of(&script));
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    eventually("the parent waits for its child", || {
        let board = sandbox.pitcrew(&["status", "--all", "--json"]).expect(0).json();
        let workers = board["workers"].as_array().cloned().unwrap_or_default();
        workers.iter().any(|it| it["status"] == "waiting_subtasks").then_some(())
    });
    sandbox.kill_orchestrator();
    sandbox.pitcrew(&["status"]).expect(0);
    crate::support::open_gate(&sandbox);
    await_task(&sandbox, "parent", "completed");
    sandbox.pitcrew(&["diff", "parent"]).expect(0).says("through");
}

/// A worker saves a limited number of plans, and a person denies all of them at once.
#[test]
fn plans_of_a_worker_are_limited_and_denied_together() {
    let sandbox = sandbox();
    sandbox.write(
        "plan.toml",
        "name = \"shop\"\n[[task]]\nid = \"saver\"\nregion = \"core\"\nscript = \"\"\"\n\
         run for n in 1 2 3 4 5 6 7 8 9 10 11; do pitcrew tool orchestrator_save_plan --json \
         '{\"name\": \"more'$n'\", \"tasks\": [{\"id\": \"a\", \"command\": \"echo evil'$n'\", \"prompt\": \"say it\"}]}' \
         >> core/yes.txt 2>> core/no.txt; done; true\ncomplete saved\n\"\"\"\n",
    );
    sandbox.pitcrew(&["run", "plan.toml", "--yes"]).expect(0);
    let inbox = sandbox.pitcrew(&["inbox"]).expect(0).stdout;
    assert_eq!(inbox.matches("saved by worker-1, which works on task-1").count(), 10, "{inbox}");
    assert_eq!(inbox.matches("| say it").count(), 10, "{inbox}");
    let refused = sandbox.pitcrew(&["deny", "--all", "worker-9"]).expect(6).stderr;
    assert!(refused.contains("no request of `worker-9` is waiting for you"), "{refused}");
    let denied = sandbox.pitcrew(&["deny", "--all", "worker-1"]).expect(0).stdout;
    assert!(denied.contains("denied: request-1, request-2") && denied.contains("request-10"));
    sandbox.pitcrew(&["inbox"]).expect(0).says("nothing is waiting for you");
    sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(0);
    let no = sandbox.read("core/no.txt");
    assert!(no.contains("worker-1 has saved 10 tasks in 10 plans"), "{no}");
}

/// An agent's plan may have the id of another plan as its name.
#[test]
fn name_with_the_form_of_an_id_is_not_an_id() {
    let sandbox = sandbox();
    let mine = json!({"name": "mine", "tasks": [{"id": "a", "command": "true"}]});
    tool(&sandbox, "orchestrator_save_plan", &mine, 0);
    let evil = json!({"name": "plan-1", "tasks": [{"id": "task-1", "command": "echo evil"}]});
    tool(&sandbox, "orchestrator_save_plan", &evil, 0);
    let named = sandbox.pitcrew(&["approve", "plan-1"]).expect(0).stdout;
    assert!(named.contains("plan-1 is running"), "{named}");
    for text in ["plan-1", "task-1", "task-2", "worker-1"] {
        sandbox.pitcrew(&["approve", text]).expect(6);
    }
    await_task(&sandbox, "a", "completed");
    assert!(sandbox.pitcrew(&["inbox"]).expect(0).stdout.contains("echo evil"));
}
