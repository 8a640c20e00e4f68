//! Special behaviour of single vendors.

use crate::support::with_crew;
use pitcrew_model::TaskStatus;
use pitcrew_testkit::{crew::Crew, eventually, is_offline};
use std::{collections::BTreeSet, fs, path::Path};

/// A plan with one task that creates `core/new.txt`.
fn plan_of(crew: &Crew, agent: &str, script: &str) -> String {
    crew.sandbox.plan(&format!(
        r#"
name = "one"
max_attempts = 1

[[task]]
id = "task"
agent = "{agent}"
region = "core"
prompt = """
{script}
"""
checks = "grep -q new core/new.txt"
"#
    ))
}

/// Claude refuses to run as root unless it is configured to be in a sandbox, and the tests run as
/// root.
///
/// Claude may also defer MCP tools behind a search that its model does not use. Then it completes
/// with `pitcrew tool` in its shell.
#[test]
fn claude_completes_as_root_with_deferred_tools() {
    let test = "quirks::claude_completes_as_root_with_deferred_tools";
    with_crew(test, &["claude"], |crew| {
        let settings = crew.sandbox.home().join(".config/pitcrew");
        fs::create_dir_all(&settings).expect("a folder");
        let search = "[backends.claude.env]\nENABLE_TOOL_SEARCH = \"true\"\n";
        fs::write(settings.join("config.toml"), search).expect("the settings");
        let plan = plan_of(crew, "claude", "@write core/new.txt new\n@complete by the shell");
        if is_offline() {
            assert!(rustix::process::geteuid().is_root());
        }
        crew.sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0).says("1 of 1 completed");
        let calls = crew.model.calls();
        let offered = calls.iter().any(|it| {
            let tools = it.1["tools"].as_array().into_iter().flatten();
            let ours = |it: &serde_json::Value| {
                it["name"].as_str().is_some_and(|it| it.ends_with("orchestrator_complete_task"))
            };
            tools.into_iter().any(|it| ours(it) && it["defer_loading"] != true)
        });
        assert!(!offered, "the search must hide our tool for this test");
        let task = crew.task("task");
        assert_eq!(task.status, TaskStatus::Completed);
        let attempt = task.newest_attempt().expect("an attempt");
        assert_eq!(attempt.summary.as_deref(), Some("by the shell"));
        assert_eq!(attempt.turns_count, 1);
    });
}

/// By default goose asks its model for a session name, and for a summary of each tool call.
#[test]
fn goose_calls_its_model_only_for_the_work() {
    let test = "quirks::goose_calls_its_model_only_for_the_work";
    with_crew(test, &["goose"], |crew| {
        let plan = plan_of(crew, "goose", "@write core/new.txt new\n@complete wrote it");
        crew.sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0).says("1 of 1 completed");
        let calls = crew.model.calls();
        let has_tools =
            |it: &serde_json::Value| it["tools"].as_array().is_some_and(|it| !it.is_empty());
        let aside: Vec<_> = calls.iter().filter(|it| !has_tools(&it.1)).collect();
        assert!(calls.len() >= 2 && aside.is_empty(), "{} calls, {aside:?}", calls.len());
    });
}

/// Its adapter would start a whole Claude at every start and every prompt only to report which user
/// is logged in.
#[test]
fn claude_is_not_started_to_report_the_login() {
    let test = "quirks::claude_is_not_started_to_report_the_login";
    with_crew(test, &["claude"], |crew| {
        let script = "@hold looked\n@write core/new.txt new\n@complete wrote it";
        let plan = plan_of(crew, "claude", script);
        let run = crew.sandbox.start(&["run", &plan, "--yes"]);
        eventually("the model is asked", || crew.model.has_held("looked").then_some(()));
        let state = crew.sandbox.states().into_iter().next().expect("a state");
        let attempt = state.join("attempts/attempt-1");
        let script = attempt.join("home/.pitcrew/inner");
        let programs: Vec<String> = sessions_of(&script).into_iter().collect();
        assert!(matches!(&*programs, [one] if one.ends_with("/claude")), "{programs:?}");
        eventually("the adapter was answered by the script", || {
            let spool = fs::read_to_string(attempt.join("spool.ndjson")).ok()?;
            let is_update =
                |it: &str| it.contains("_auth/status_update") && it.contains("pitcrew\\\"");
            spool.lines().any(is_update).then_some(())
        });
        let ask = |words: &[&str]| {
            let asked = crew.sandbox.start_program(&script.display().to_string(), words);
            asked.wait().expect(0).stdout
        };
        assert!(ask(&["auth", "status", "--json"]).contains("pitcrew"), "answered by the script");
        assert!(ask(&["--version"]).contains("Claude Code"), "handed on to the program");
        crew.model.release("looked");
        run.wait().expect(0).says("1 of 1 completed");
    });
}

/// The processes of the sessions whose adapter ran this script. Their children look like them for a
/// moment.
fn sessions_of(script: &Path) -> BTreeSet<String> {
    let led = format!("CLAUDE_CODE_EXECUTABLE={}", script.display());
    let processes = fs::read_dir("/proc").expect("processes").flatten();
    let sessions = processes.filter_map(|process| {
        let words = |name: &str| Some(read_words(&fs::read(process.path().join(name)).ok()?));
        let is_led = words("environ")?.contains(&led);
        let command = words("cmdline")?;
        let is_session = is_led && command.iter().any(|it| it == "stream-json");
        is_session.then(|| command[0].clone())
    });
    sessions.collect()
}

fn read_words(bytes: &[u8]) -> Vec<String> {
    bytes.split(|it| *it == 0).map(|it| String::from_utf8_lossy(it).into_owned()).collect()
}

/// A read-only sub-task cannot write to its checkout, and still works.
#[test]
fn goose_reads_in_a_read_only_checkout() {
    let test = "quirks::goose_reads_in_a_read_only_checkout";
    with_crew(test, &["goose"], |crew| {
        let plan = crew.sandbox.plan(
            r#"
name = "reading"
max_attempts = 1

[[task]]
id = "parent"
script = '''
tool a2a_spawn_subtask {"agent": "goose", "prompt": "@complete looked around", "workspace": "read_only", "blocking": true}
expect looked around
expect "status": "success"
complete heard it
'''
"#,
        );
        crew.sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0).says("1 of 1 completed");
    });
}
