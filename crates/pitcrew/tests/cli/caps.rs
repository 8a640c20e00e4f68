//! Caps of plans and limits of providers, with a model that reports its usage.

use crate::support::*;
use pitcrew_testkit::{Sandbox, eventually, model::ModelServer};
use serde_json::Value;
use std::fs;

/// The first turn uses 3311 tokens and ends without completing.
const PLAN: &str = r#"
name = "caps"

[[task]]
id = "port"
agent = "builtin"
region = "core"
prompt = """
Write down the port.
@usage 10 1
@write core/port.txt 8080
@usage 3000 300
@say that is all
@when paused in the middle
@usage 10 1
@complete wrote the port
@when only reminder
@usage 10 1
@complete forgot to say so
@when did not succeed
@usage 10 1
@complete it was there already
"""
"#;

/// S0-009: the worker waits with its work saved, and continues when a person grants more. The
/// summary shows the usage of each backend, and zero for supervision.
#[test]
fn plan_at_its_token_cap_waits_for_a_person() {
    let server = ModelServer::start();
    let sandbox = with_model(&server);
    let run = ["run", &sandbox.plan(PLAN), "--yes", "--detach", "--max-tokens", "2000"];
    sandbox.pitcrew(&run).expect(0);
    let request = await_request(&sandbox);
    assert_eq!(text(&request["ask"]["kind"]), "budget", "{request}");
    let inbox = sandbox.pitcrew(&["inbox"]).expect(0);
    assert!(inbox.stdout.contains("plan-1 has used 3311 of 2000 tokens"), "{inbox}");
    let status = sandbox.pitcrew(&["status", "plan-1"]).expect(0);
    assert!(status.stdout.contains("may it use more? request-1"), "{status}");
    eventually("its work is saved", || {
        let kept = sandbox.pitcrew(&["restore", "task-1", "--list"]).expect(0);
        kept.stdout.contains("1 file").then_some(())
    });
    sandbox.pitcrew(&["approve", "request-1"]).expect(0);
    await_task(&sandbox, "port", "completed");
    let watched = sandbox.pitcrew(&["watch", "plan-1"]).expect(0);
    for words in ["builtin", "3020", "302", "supervision"] {
        assert!(watched.stdout.contains(words), "{words}: {watched}");
    }
    let board = sandbox.pitcrew(&["status", "plan-1", "--json"]).expect(0).json();
    assert_eq!(board["plans"][0]["vendors"]["builtin"]["tokens_out"], 302, "{board}");
    assert_eq!(board["plans"][0]["caps"][0]["cap"], 5_311, "{board}");
}

#[test]
fn denied_budget_ends_the_task_and_a_retry_asks_again() {
    let server = ModelServer::start();
    let sandbox = with_model(&server);
    let plan = PLAN.replace("region = \"core\"", "region = \"core\"\nmax_tokens = 2_000");
    sandbox.pitcrew(&["run", &sandbox.plan(&plan), "--yes", "--detach"]).expect(0);
    await_request(&sandbox);
    sandbox.pitcrew(&["deny", "request-1"]).expect(0);
    await_task(&sandbox, "port", "failed");
    let status = sandbox.pitcrew(&["status", "plan-1"]).expect(0);
    assert!(status.stdout.contains("and the cap was not raised"), "{status}");
    eventually("its work is saved", || {
        sandbox.pitcrew(&["retry", "task-1"]).code.filter(|it| *it == 0)
    });
    assert_eq!(text(&await_request(&sandbox)["id"]), "request-2");
    sandbox.pitcrew(&["approve", "request-2"]).expect(0);
    await_task(&sandbox, "port", "completed");
}

/// A backend that reports its tokens but not its cost, as most do: the built-in agent, configured
/// as a program.
fn scribe(sandbox: &Sandbox, prices: &str) {
    let backend = format!(
        "[backends.scribe]\ncommand = [{:?}, \"agent\"]\npass_env = [\"PITCREW_MODEL\", \"PITCREW_MODEL_ENDPOINT\", \"PITCREW_MODEL_KEY_ENV\", \"ANTHROPIC_API_KEY\"]\n",
        env!("CARGO_BIN_EXE_pitcrew")
    );
    let settings = sandbox.home().join(".config/pitcrew/config.toml");
    fs::create_dir_all(settings.parent().expect("a folder")).expect("a folder");
    fs::write(&settings, format!("{backend}\n{prices}")).expect("the settings");
}

/// Without prices the run warns that the cap does not apply, and continues.
#[test]
fn cost_cap_uses_the_prices_of_the_user() {
    let server = ModelServer::start();
    let sandbox = with_model(&server);
    let plan = sandbox.plan(&PLAN.replace("\"builtin\"", "\"scribe\""));
    scribe(&sandbox, "");
    let run = ["run", &plan, "--yes", "--detach", "--max-cost", "0.01"];
    let warned = sandbox.pitcrew(&run).expect(0).notes("the cost cap does not apply to scribe");
    warned.notes("`[prices.scribe]`");
    await_task(&sandbox, "port", "completed");
    sandbox.pitcrew(&["stop"]).expect(0);
    scribe(&sandbox, "[prices.scribe]\nprice_in = 3\nprice_out = 15\n");
    let silent = sandbox.pitcrew(&run).expect(0);
    assert!(!silent.stderr.contains("does not apply"), "{silent}");
    await_request(&sandbox);
    let inbox = sandbox.pitcrew(&["inbox"]).expect(0);
    assert!(inbox.stdout.contains("plan-2 has cost $0.0"), "{inbox}");
    let board = sandbox.pitcrew(&["status", "plan-2", "--json"]).expect(0).json();
    // 3010 tokens in, 301 out.
    let cost = board["plans"][0]["vendors"]["scribe"]["cost_micros"].as_u64();
    assert_eq!(cost, Some(3_010 * 3 + 301 * 15), "{board}");
    sandbox.pitcrew(&["cancel", "plan-2"]).expect(0);
}

#[test]
fn plan_check_warns_about_an_unknown_cost() {
    let sandbox = sandbox();
    scribe(&sandbox, "");
    let plan =
        PLAN.replace("\"builtin\"", "\"scribe\"").replace("[[task]]", "max_cost = 1\n[[task]]");
    let plan = sandbox.plan(&plan);
    let checked = sandbox.pitcrew(&["plan", "check", &plan]).expect(0);
    checked.notes("warning: the cost cap does not apply to scribe").notes("`[prices.scribe]`");
    let checked = sandbox.pitcrew(&["plan", "check", &plan, "--json"]).expect(0).json();
    let diagnostics = checked["diagnostics"].as_array().expect("diagnostics").clone();
    let is_warning = |it: &Value| {
        it["severity"] == "warning" && text(&it["message"]).contains("does not apply to scribe")
    };
    assert!(diagnostics.iter().any(is_warning), "{diagnostics:?}");
    scribe(&sandbox, "[prices.scribe]\nprice_in = 3\nprice_out = 15\n");
    let silent = sandbox.pitcrew(&["plan", "check", &plan]).expect(0);
    assert!(!silent.stderr.contains("does not apply"), "{silent}");
}

/// The backend of a sub-task is not known before the run.
#[test]
fn summary_names_sub_tasks_without_a_cost() {
    let server = ModelServer::start();
    let sandbox = with_model(&server);
    scribe(&sandbox, "");
    let plan = sandbox.plan(
        r#"
name = "caps"
max_cost = 1

[[task]]
id = "parent"
region = "core"
script = '''
tool a2a_spawn_subtask <<END
{"agent": "scribe", "blocking": true, "prompt": "Look.\n@usage 10 1\n@complete I looked"}
END
expect I looked
complete asked somebody
'''
"#,
    );
    let ran = sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
    assert!(!ran.stderr.contains("does not apply"), "{ran}");
    let unheld = "the cost cap does not apply to scribe, which does not report its cost: set its prices in `[prices.scribe]`";
    ran.says(unheld);
    sandbox.pitcrew(&["status", "plan-1"]).expect(0).says(unheld);
}

#[test]
fn run_warns_at_four_fifths_of_a_cap() {
    let server = ModelServer::start();
    let sandbox = with_model(&server);
    let run = ["run", &sandbox.plan(PLAN), "--yes", "--max-tokens", "4000"];
    let ran = sandbox.pitcrew(&run).expect(0);
    ran.notes("plan-1 has used 3311 of 4000 tokens");
}

/// The worker waits until the limit is reset, or until a person retries.
#[test]
fn task_waits_for_a_provider_limit() {
    let server = ModelServer::start();
    let sandbox = with_model(&server);
    let plan = PLAN
        .replace("@usage 3000 300\n@say that is all", "@fail 429 once reset=30m slow down")
        .replace("@when only reminder", "@when provider that stopped you is available");
    sandbox.pitcrew(&["run", &sandbox.plan(&plan), "--yes", "--detach"]).expect(0);
    let waits = eventually("the task waits for the limit", || {
        let status = sandbox.pitcrew(&["status", "plan-1"]).expect(0);
        status.stdout.contains("waits for the limit of builtin until").then_some(status)
    });
    assert!(waits.stdout.contains("UTC"), "{waits}");
    let task =
        ["run", "--task", "wait too\n@complete so", "--agent", "builtin", "--yes", "--detach"];
    sandbox.pitcrew(&task).expect(0).notes("waiting for builtin until");
    let retried = sandbox.pitcrew(&["retry", "plan-1"]).expect(0);
    retried.says("task-1 tries again now");
    await_task(&sandbox, "port", "completed");
}

/// After a kill during the wait, the same agent keeps waiting for the same limit, and continues in
/// the same attempt when a person retries.
#[test]
fn provider_limit_survives_the_orchestrator() {
    let server = ModelServer::start();
    let sandbox = with_model(&server);
    let plan = PLAN
        .replace("@usage 3000 300\n@say that is all", "@fail 429 once reset=30m slow down")
        .replace("@when only reminder", "@when provider that stopped you is available");
    sandbox.pitcrew(&["run", &sandbox.plan(&plan), "--yes", "--detach"]).expect(0);
    let waiting_line = || {
        let status = sandbox.pitcrew(&["status", "plan-1"]).expect(0);
        let line =
            status.stdout.lines().find(|it| it.contains("waits for the limit of builtin until"));
        line.map(|it| it.split("until").nth(1).unwrap_or_default().trim().to_owned())
    };
    let before = eventually("the task waits for the limit", waiting_line);
    let asked_count = server.calls_count();
    sandbox.kill_orchestrator();
    assert_eq!(waiting_line().as_deref(), Some(before.as_str()), "until the same moment");
    let board = sandbox.pitcrew(&["status", "--json"]).expect(0).json();
    assert_eq!(board["workers"][0]["status"], "waiting_quota", "{board}");
    assert_eq!(server.calls_count(), asked_count, "the model was called meanwhile");
    sandbox.pitcrew(&["retry", "task-1"]).expect(0).says("task-1 tries again now");
    await_task(&sandbox, "port", "completed");
    let board = sandbox.pitcrew(&["status", "--all", "--json"]).expect(0).json();
    let attempts = board["tasks"][0]["attempts"].as_array().expect("attempts");
    assert_eq!((attempts.len(), &attempts[0]["turns_count"]), (1, &2.into()), "{board}");
}
