//! The built-in agent with a model, in a plan.

use crate::support::*;
use pitcrew_testkit::model::ModelServer;
use std::fs;

const PLAN: &str = r#"
name = "by a model"

[[task]]
id = "port"
agent = "builtin"
region = "core"
checks = "grep -q 8080 core/port.txt"
prompt = """
Write down the port.
@say I look first
@usage 500 50
@read core/one.txt
@usage 1000 100
@write core/port.txt 8081
@usage 2000 200
@complete wrote the port
@when did not succeed
@usage 3000 300
@edit core/port.txt 8081 => 8080
@usage 4000 400
@complete fixed the port
"""

[[task]]
id = "note"
depends_on = ["port"]
region = "ui"
command = "cp core/port.txt ui/port.txt"
"#;

/// A plan with prompts only needs no other program: the model works, the next attempt fixes a
/// failed check, and the result lands.
#[test]
fn plan_with_a_model_lands() {
    let server = ModelServer::start();
    let sandbox = with_model(&server);
    let ran = sandbox.pitcrew(&["run", &sandbox.plan(PLAN), "--yes"]).expect(0);
    assert!(ran.stdout.contains("2 of 2 completed"), "{ran}");
    sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(0);
    assert_eq!(sandbox.read("ui/port.txt").trim(), "8080");
    let logs = sandbox.pitcrew(&["logs", "task-1"]).expect(0);
    assert!(logs.stdout.contains("I look first"), "{logs}");
    assert!(!logs.stdout.contains("the-secret-key"), "{logs}");
    let board = sandbox.pitcrew(&["status", "--all", "--json"]).expect(0).json();
    let attempts = board["tasks"][0]["attempts"].as_array().expect("attempts").iter();
    let tokens: Vec<(u64, u64)> = attempts
        .map(|it| &it["usage"])
        .filter_map(|it| Some((it["tokens_in"].as_u64()?, it["tokens_out"].as_u64()?)))
        .collect();
    assert_eq!(tokens, [(3_500, 350), (7_000, 700)], "{board}");
}

#[test]
fn prompt_without_a_model_is_refused_before_the_start() {
    let sandbox = sandbox();
    let plan = sandbox.plan(PLAN);
    for words in [&["plan", "check", &plan][..], &["run", &plan, "--yes"][..]] {
        let refused = sandbox.pitcrew(words).expect(2);
        refused.notes("no model is set").notes("PITCREW_MODEL=provider/name");
    }
    assert!(!sandbox.pitcrew(&["status", "--all"]).expect(0).stdout.contains("plan-1"));
}

/// A wrong key is not the fault of the task.
#[test]
fn missing_key_is_reported() {
    let server = ModelServer::start();
    let mut sandbox = with_model(&server);
    sandbox.unset("ANTHROPIC_API_KEY");
    sandbox.set("PITCREW_MODEL_KEY_ENV", "MY_OWN_KEY");
    let plan =
        sandbox.plan(&PLAN.replace("region = \"core\"", "region = \"core\"\nmax_attempts = 1"));
    let ran = sandbox.pitcrew(&["run", &plan, "--yes"]).expect(5);
    assert!(ran.stdout.contains("`MY_OWN_KEY` is not set"), "{ran}");
    assert_eq!(server.calls_count(), 0);
}

/// S4-005: two tasks of the same agent, each with its own model.
#[test]
fn each_task_uses_its_own_model() {
    let server = ModelServer::start();
    let sandbox = with_model(&server);
    let small = PLAN.replace("region = \"core\"", "region = \"core\"\nmodel = \"small\"");
    sandbox.pitcrew(&["run", &sandbox.plan(&small), "--yes"]).expect(0);
    let words = "write it down\n@complete done";
    let run = ["run", "--task", words, "--agent", "builtin", "--model", "smaller", "--yes"];
    sandbox.pitcrew(&run).expect(0);
    sandbox.pitcrew(&["run", "--task", words, "--agent", "builtin", "--yes"]).expect(0);
    let mut asked: Vec<String> = server.calls().iter().map(|it| text(&it.1["model"])).collect();
    asked.dedup();
    assert_eq!(asked, ["small", "smaller", "scripted"]);
}

/// An agent with two models and a fixed answer.
const CHOOSY: &str = r#"
session='{"sessionId":"s","configOptions":[{"id":"llm","category":"model","currentValue":"big","options":[{"value":"big"},{"value":"small"}]}]}'
while read -r frame; do
  id=$(printf '%s' "$frame" | sed 's/.*"id":\([0-9]*\).*/\1/')
  case $frame in
  *'"initialize"'*) echo "{\"id\":$id,\"result\":{\"protocolVersion\":1}}";;
  *'"session/new"'*) echo "{\"id\":$id,\"result\":$session}";;
  esac
done
"#;

/// S4-005: a model that the agent does not offer fails the task, and the reason lists the offered
/// ones.
#[test]
fn unavailable_model_fails_with_the_offered_ones() {
    let sandbox = sandbox();
    let folder = sandbox.home().join(".config/pitcrew/backends");
    fs::create_dir_all(&folder).expect("a folder");
    let program = sandbox.root().join("choosy.sh");
    fs::write(&program, CHOOSY).expect("a program");
    let backend = format!("command = [\"sh\", {:?}]\n", program.display().to_string());
    fs::write(folder.join("choosy.toml"), backend).expect("a backend");
    let run = ["run", "--task", "tidy up", "--agent", "choosy", "--model", "smaller", "--yes"];
    let ran = sandbox.pitcrew(&run).expect(5);
    ran.says("choosy: the agent has no model `smaller`; its models: small, big").says("1 attempt,");
}

/// S0-006: the four steps from a request to a verdict, each with a typed result: decomposition into
/// tasks, selection of an agent, generation of the prompt, and evaluation of the result. The
/// verdict is in the next prompt.
#[test]
fn request_becomes_tasks_with_agent_prompt_and_verdict() {
    let server = ModelServer::start();
    let sandbox = with_model(&server);
    let words = "The port is 8080.\n\
        - use builtin for /core: write the port down\n\
        @write core/port.txt 8081\n@complete wrote it\n\
        @when did not succeed\n@edit core/port.txt 8081 => 8080\n@complete fixed it\n@end\n\
        - in /ui: name the port\n\
        @write ui/port.txt port\n@complete named it\n";
    let check = "! grep -q 8081 core/port.txt";
    let run = ["run", "--task", words, "--check", check, "--yes"];
    sandbox.pitcrew(&run).expect(0).says("2 of 2 completed");
    let board = sandbox.pitcrew(&["status", "--all", "--json"]).expect(0).json();
    let tasks = board["tasks"].as_array().expect("tasks");
    let made: Vec<[String; 2]> =
        tasks.iter().map(|it| [text(&it["region"][0]), text(&it["agent"])]).collect();
    assert_eq!(made, [["core", "builtin"], ["ui", "builtin"]], "{board}");
    let verdicts: Vec<(String, String)> = tasks[0]["attempts"]
        .as_array()
        .expect("attempts")
        .iter()
        .map(|it| (text(&it["outcome"]), text(&it["failure"]["kind"])))
        .collect();
    let verdict = |outcome: &str, kind: &str| (outcome.to_owned(), kind.to_owned());
    assert_eq!(verdicts, [verdict("failed", "checks"), verdict("success", "")], "{board}");
    let prompts: Vec<String> = server.calls().iter().map(|it| it.1.to_string()).collect();
    let of = |words: &str| prompts.iter().find(|it| it.contains(words)).expect("a prompt").as_str();
    for part in ["The port is 8080.", "You may change: core.", check, "orchestrator_complete_task"]
    {
        assert!(of("(task-1, attempt 1)").contains(part), "{part}");
    }
    assert!(of("(task-2, attempt 1)").contains("You may change: ui."));
    let again = of("(task-1, attempt 2)");
    assert!(
        again.contains("did not succeed") && again.contains("failed with exit code 1"),
        "{again}"
    );
}
