//! Messages to agents arrive in order, even after a crash.

use crate::support::*;
use pitcrew_testkit::{Sandbox, eventually};
use serde_json::{Value, json};
use std::fs;

const ASKS: &str = r#"
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
"#;

fn messages(sandbox: &Sandbox, more: &[&str]) -> Value {
    let arguments = [&["messages", "--json"], more].concat();
    sandbox.pitcrew(&arguments).expect(0).json()
}

/// S4-014, S4-075, S4-078, S4-082: a person's message is in the agent's next prompt, and the
/// history has it with its full context.
#[test]
fn message_is_in_the_next_prompt() {
    let sandbox = sandbox();
    let plan = sandbox.plan(ASKS);
    let running = sandbox.start(&["run", &plan, "--yes"]);
    await_request(&sandbox);
    sandbox.pitcrew(&["status"]).expect(0).says("1 request is waiting for you: pitcrew inbox");
    eventually("its turn is over", || {
        let board = sandbox.pitcrew(&["status", "--json"]).expect(0).json();
        (board["workers"][0]["status"] == "waiting_input").then_some(())
    });
    sandbox.pitcrew(&["message", "asks", " "]).expect(2);
    sandbox.pitcrew(&["message", "worker-9", "hello"]).expect(2).notes("there is no worker-9");
    sandbox
        .pitcrew(&["message", "asks", "Use 8080."])
        .expect(0)
        .says("message-1 is queued for task-1");
    running.wait().expect(0);
    let view = messages(&sandbox, &["--plan", "asks", "--worker", "worker-1"]);
    let message = &view["messages"][0];
    assert_eq!(message["status"], "processed", "{view:#}");
    assert_eq!(message["message"]["context"]["plan"], "plan-1");
    assert_eq!(message["reader"], "worker-1");
    assert_eq!(view["metrics"]["wait"]["count"], 1);
    let waited_ms = view["metrics"]["wait"]["max_ms"].as_u64().expect("a time");
    // `bench queue` measures latency; this machine may be busy with other tests.
    assert!(waited_ms <= 1_000, "an agent that waits is prompted at once: {waited_ms} ms");
    let shown = sandbox.pitcrew(&["messages"]).expect(0);
    let shown = shown.says("plan-1 asks, task-1 asks").says("message-1 person -> task-1, update");
    let shown = shown.says("Use 8080.").says("processed");
    let asked = "  request-1 worker-1 -> person, question, ";
    let question = shown.stdout.find(asked).unwrap_or_else(|| panic!("no question: {shown}"));
    let message = shown.stdout.find("  message-1 person").expect("it was shown");
    assert!(question < message, "the oldest request comes first: {shown}");
    shown.says("    Which port should it use?\n");
    sandbox.pitcrew(&["messages", "--metrics"]).expect(0).says("processed  1");
    sandbox.pitcrew(&["messages", "--state", "dead"]).expect(0).says("no messages");
    sandbox.pitcrew(&["messages", "--state", "gone"]).expect(2).notes("expired");
    sandbox.pitcrew(&["message", "asks", "Thanks."]).expect(6).notes("task-1 is completed");
}

const MESSAGES: u64 = 1_000;
/// The messages that fit in one prompt.
const AT_ONCE: u64 = 20;

/// S4-069, S4-070, S4-075: a thousand messages and their order survive a kill -9, and each is read
/// once.
#[test]
fn messages_survive_a_kill_in_order() {
    let sandbox = sandbox();
    let gate = sandbox.root().join("gate");
    let asks = "ask And now?\n".repeat(usize::try_from(MESSAGES / AT_ONCE).expect("few"));
    let script =
        format!("run until [ -e '{}' ]; do sleep 0.02; done\n{asks}complete it", gate.display());
    let plan =
        format!("name = \"late\"\n[[task]]\nid = \"late\"\nscript = \"\"\"\n{script}\n\"\"\"\n");
    let plan = sandbox.plan(&plan);
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    await_task(&sandbox, "late", "running");
    for number in 1..=MESSAGES {
        let priority = if number.is_multiple_of(3) { "critical" } else { "high" };
        sandbox.order(&json!({"command": "send_message", "to": {"kind": "task", "id": "task-1"},
            "content": format!("words {number}"), "priority": priority}));
    }
    let before = messages(&sandbox, &["--state", "queued"]);
    assert_eq!(before["count"], MESSAGES);
    sandbox.kill_orchestrator();
    let after = messages(&sandbox, &["--state", "queued"]);
    assert_eq!(before["messages"], after["messages"]);
    fs::write(&gate, "").expect("a file");
    eventually("all are read", || {
        let view = messages(&sandbox, &["--state", "processed"]);
        (view["count"] == MESSAGES).then_some(())
    });
    let lines = sandbox.pitcrew(&["logs", "task-1", "--json"]).expect(0).json_lines();
    let prompts = lines.iter().filter(|it| it["source"] == "prompt");
    let prompts: Vec<&str> = prompts.filter_map(|it| it["text"].as_str()).collect();
    let prompts = prompts.join("\n");
    let tags = prompts.split(" message=\"message-").skip(1);
    let order: Vec<u64> = tags.filter_map(|it| it.split('"').next()?.parse().ok()).collect();
    let critical = (1..=MESSAGES).filter(|it| it.is_multiple_of(3));
    let others = (1..=MESSAGES).filter(|it| !it.is_multiple_of(3));
    assert_eq!(order, critical.chain(others).collect::<Vec<_>>());
}

/// S4-083, S4-084: an agent asks another one, which answers with the tool; the answer is in the
/// asker's next prompt.
#[test]
fn agent_asks_another_and_gets_an_answer() {
    let sandbox = sandbox();
    let gate = sandbox.root().join("gate");
    let plan = format!(
        r#"
name = "two"

[[task]]
id = "asks"
region = "core"
script = """
run until [ -e '{}' ]; do sleep 0.02; done
tool a2a_notify_orchestrator {{"kind": "question", "message": "Which port?", "to": "worker-2"}}
ask Anything else?
when "> 8080" write core/port.txt <<END
8080
END
complete wrote it down
"""
checks = "grep -q 8080 core/port.txt"

[[task]]
id = "knows"
region = "ui"
script = """
ask May I begin?
when "Which port?" tool a2a_notify_orchestrator {{"kind": "answer", "message": "8080"}}
write ui/done.txt <<END
done
END
complete answered it
"""
"#,
        gate.display()
    );
    let plan = sandbox.plan(&plan);
    let running = sandbox.start(&["run", &plan, "--yes"]);
    let request = await_request(&sandbox);
    assert_eq!(request["title"], "May I begin?");
    fs::write(&gate, "").expect("a file");
    eventually("the question waits", || {
        let view = messages(&sandbox, &["--state", "queued", "--worker", "worker-2"]);
        (view["count"] == 1).then_some(())
    });
    sandbox.pitcrew(&["message", "knows", "Begin."]).expect(0);
    running.wait().expect(0).says("2 of 2 completed");
    let view = messages(&sandbox, &["--worker", "worker-1"]);
    let answer = view["messages"].as_array().and_then(|it| it.last()).expect("an answer");
    let (kind, from) = (&answer["message"]["kind"], &answer["message"]["from"]["id"]);
    assert_eq!((kind.as_str(), from.as_str()), (Some("answer"), Some("worker-2")), "{view:#}");
    assert_eq!(answer["message"]["thread"], view["messages"][0]["message"]["id"]);
}

/// S4-009: a workspace has one orchestrator, and it gets the status of every worker with plan, task
/// and checkout.
#[test]
fn orchestrator_gets_the_status_of_every_worker() {
    let sandbox = sandbox();
    let task = |name: &str| {
        format!(
            "[[task]]\nid = \"{name}\"\nregion = \"{name}\"\nscript = '''\n\
             tool a2a_notify_orchestrator {{\"kind\": \"status\", \"message\": \"half of {name}\"}}\n\
             write {name}/done.txt <<END\ndone\nEND\ncomplete it\n'''\n"
        )
    };
    let names = ["core", "ui", "docs"];
    let plan = format!("name = \"three\"\n{}", names.map(task).concat());
    sandbox.pitcrew(&["run", &sandbox.plan(&plan), "--yes"]).expect(0);
    sandbox.pitcrew(&["serve"]).expect(6).notes("only one orchestrator works on a workspace");
    let view = messages(&sandbox, &[]);
    let updates = view["messages"].as_array().expect("messages").iter();
    let updates: Vec<&Value> =
        updates.map(|it| &it["message"]).filter(|it| it["kind"] == "status_update").collect();
    assert_eq!(updates.len(), names.len(), "{view:#}");
    for (index, name) in names.iter().enumerate() {
        let content = format!("half of {name}");
        let message =
            updates.iter().find(|it| it["content"] == content.as_str()).expect("its status");
        let checkout = checkout(&sandbox, name).display().to_string();
        let context = &message["context"];
        assert_eq!(message["to"]["kind"], "orchestrator", "{message:#}");
        assert_eq!(context["plan"], "plan-1", "{message:#}");
        assert_eq!(context["task"], format!("task-{}", index + 1), "{message:#}");
        assert_eq!(context["worker"], message["from"]["id"], "{message:#}");
        assert_eq!(context["worktree"], checkout, "{message:#}");
    }
}

/// An agent's last note is shown as long as the agent works.
#[test]
fn status_shows_the_last_note_of_an_agent() {
    let sandbox = sandbox();
    let gate = sandbox.root().join("gate");
    let tell = |words: &str| {
        format!(r#"tool a2a_notify_orchestrator {{"kind": "status", "message": "{words}"}}"#)
    };
    let script = [
        tell("looking around"),
        tell("half of it is done"),
        format!("run until [ -e '{}' ]; do sleep 0.02; done", gate.display()),
        "complete it".to_owned(),
    ];
    let script = script.join("\n");
    let plan = sandbox.plan(&format!(
        "name = \"tells\"\n[[task]]\nid = \"works\"\nscript = '''\n{script}\n'''\n"
    ));
    let running = sandbox.start(&["run", &plan, "--yes"]);
    let status = eventually("it has sent a note and continues", || {
        let status = sandbox.pitcrew(&["status"]).expect(0);
        (status.stdout.contains("half of it") && status.stdout.contains("until ["))
            .then_some(status)
    });
    let status = status.says("  task-1 works said ").says(" ago: half of it is done\n");
    assert!(!status.stdout.contains("looking around"), "only the last one: {status}");
    open_gate(&sandbox);
    running.wait().expect(0);
    let status = sandbox.pitcrew(&["status", "--all"]).expect(0);
    assert!(!status.stdout.contains("half of it"), "the plan has ended: {status}");
}
