//! What every command shares with other tools: folders, pagers, completions, errors for programs.

use crate::support::*;
use pitcrew_testkit::{Finished, Sandbox, Terminal};
use serde_json::Value;
use std::fs;

fn error_of(finished: &Finished) -> Value {
    let line = finished.stderr.lines().last().unwrap_or_default();
    let value: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("{finished}"));
    value["error"].clone()
}

#[test]
fn errors_of_json_commands_are_json() {
    let sandbox = sandbox();
    let unknown = sandbox.pitcrew(&["status", "plan-9", "--json"]).expect(2);
    let error = error_of(&unknown);
    assert_eq!(error["code"], 2, "{error}");
    assert_eq!(error["message"], "there is no plan-9");
    assert!(text(&error["help"]).contains("pitcrew status --all"), "{error}");
    assert_eq!(error["causes"], serde_json::json!([]));
    assert!(unknown.stdout.is_empty(), "{unknown}");

    let missing = sandbox.pitcrew(&["run", "nofile.toml", "--json"]).expect(2);
    assert_eq!(error_of(&missing)["causes"].as_array().map(Vec::len), Some(1));
    let flags = sandbox.pitcrew(&["status", "--json", "--al"]).expect(2);
    let error = error_of(&flags);
    assert_eq!(error["message"], "unexpected argument '--al' found");
    assert!(text(&error["help"]).contains("'--all'"), "{error}");
    // The input of a tool is no wish for JSON.
    let tool = sandbox.pitcrew(&["tool", "no_such_tool", "--json", "{}"]);
    assert!(tool.stderr.starts_with("error: "), "{tool}");
}

#[test]
fn run_says_what_was_probably_meant() {
    let sandbox = sandbox();
    let words = sandbox.pitcrew(&["run", "add a parser"]).expect(2);
    words.notes("`pitcrew run --task \"add a parser\"` runs these words as a task");
    sandbox.pitcrew(&["run"]).expect(2).notes("pitcrew run --task").notes("pitcrew init");
    sandbox.write("tidy.toml", TWO_COMMANDS);
    sandbox.write("Cargo.toml", "[package]\nname = \"x\"\n");
    let bare = sandbox.pitcrew(&["run"]).expect(2);
    bare.notes("`pitcrew run tidy.toml` runs the plan of this folder");
    sandbox.write(".pitcrew/more.toml", TWO_COMMANDS);
    let bare = sandbox.pitcrew(&["run", "tidy up"]).expect(2);
    bare.notes(
        "the plans of this folder: `pitcrew run .pitcrew/more.toml`, `pitcrew run tidy.toml`",
    );
}

/// Runs the binary in a shell, which has it as `$0` and the arguments as `$@`.
fn in_shell(sandbox: &Sandbox, script: &str, arguments: &[&str]) -> Finished {
    let all = [&["-c", script, env!("CARGO_BIN_EXE_pitcrew")], arguments].concat();
    sandbox.start_program("sh", &all).wait()
}

fn with_input(sandbox: &Sandbox, arguments: &[&str], input: &str) -> Finished {
    let file = sandbox.root().join("input");
    fs::write(&file, input).expect("a file");
    in_shell(sandbox, &format!("\"$0\" \"$@\" < '{}'", file.display()), arguments)
}

#[test]
fn a_plan_comes_from_standard_input() {
    let sandbox = sandbox();
    let wrong = with_input(&sandbox, &["plan", "check", "-"], "name = 3\n");
    wrong.expect(2).notes("standard input:1:");
    let ran = with_input(&sandbox, &["run", "-", "--yes"], TWO_COMMANDS);
    ran.expect(0).says("2 of 2 completed");
    with_input(&sandbox, &["run", "-"], TWO_COMMANDS).expect(3).notes("review it with");
}

#[test]
fn another_folder_is_entered_first() {
    let sandbox = sandbox();
    sandbox.write("core/plan.toml", TWO_COMMANDS);
    let elsewhere = sandbox.root().join("elsewhere");
    fs::create_dir(&elsewhere).expect("a folder");
    let repository = sandbox.repo().display().to_string();
    let script = format!("cd '{}' && exec \"$0\" \"$@\"", elsewhere.display());
    let run = |arguments: &[&str]| in_shell(&sandbox, &script, arguments);
    run(&["-C", &format!("{repository}/core"), "run", "plan.toml", "--yes"]).expect(0);
    run(&["status", "-C", &repository]).expect(0).says("plan-1 tidy up");
    run(&["-C", "nowhere", "status"]).expect(2).notes("failed to enter the folder `nowhere`");
}

#[test]
fn a_name_stands_for_the_newest_if_nothing_changes() {
    let sandbox = sandbox();
    let plan = sandbox.plan(&TWO_COMMANDS.replace("tidy up", "first"));
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
    let diff = sandbox.pitcrew(&["diff", "first"]).expect(0);
    diff.notes("note: `first` is task-3 (completed, of plan-2 first), the newest of 4");
    sandbox.pitcrew(&["status", "first"]).expect(0).says("plan-2 first").notes("the newest of 2");
    sandbox.pitcrew(&["cancel", "first"]).expect(2).notes("`first` is ambiguous: 4 plans or tasks");
}

fn await_end(mut terminal: Terminal) -> String {
    assert_eq!(terminal.wait(), Some(0), "{}", terminal.text());
    terminal.text()
}

#[test]
fn long_results_are_paged_at_a_terminal() {
    let mut sandbox = sandbox();
    let plan = sandbox.plan(TWO_COMMANDS);
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
    sandbox.set("PAGER", "sed 's/^/other> /'");
    sandbox.set("PITCREW_PAGER", "sed \"s/^/$LESS> /\"");
    for arguments in [["diff", "plan-1"], ["logs", "task-1"], ["logs", "plan-1"]] {
        let shown = await_end(sandbox.at_terminal(&arguments));
        assert!(shown.starts_with("FRX> "), "{shown}");
        let shown = await_end(sandbox.at_terminal(&[&arguments[..], &["--no-pager"]].concat()));
        assert!(!shown.contains("FRX> "), "{shown}");
        // A program gets the bytes.
        let read = sandbox.pitcrew(&arguments).expect(0);
        assert!(!read.stdout.contains("FRX> "), "{read}");
    }
    let followed = await_end(sandbox.at_terminal(&["logs", "task-1", "--follow"]));
    assert!(!followed.contains("FRX> "), "{followed}");
    sandbox.set("PITCREW_PAGER", "no-such-pager");
    let shown = await_end(sandbox.at_terminal(&["diff", "plan-1"]));
    assert!(shown.contains("ui/new.txt"), "the diff is printed all the same: {shown}");
    sandbox.set("PITCREW_PAGER", "");
    let shown = await_end(sandbox.at_terminal(&["diff", "plan-1"]));
    assert!(shown.contains("ui/new.txt"), "{shown}");
}

#[test]
fn status_fits_eighty_columns() {
    let sandbox = sandbox();
    let plan = sandbox.plan(
        "name = \"a plan with a rather long name for a terminal\"\n[[task]]\nid = \"fails-with-a-long-key-and-a-reason\"\n\
         region = [\"core\", \"ui\", \"docs/a/deep/folder/of/the/tree\"]\nmax_attempts = 1\n\
         command = \"echo 1 > core/new.txt\"\nchecks = \"seq -s, 100; false\"\n",
    );
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(5);
    let mut terminal = sandbox.at_terminal_of(80, &["status"]);
    assert_eq!(terminal.wait(), Some(0));
    let lines = terminal.lines();
    assert!(lines.iter().all(|it| it.chars().count() <= 80), "{lines:#?}");
    let shown = lines.join("\n");
    assert!(shown.contains("failed") && shown.contains("| 1,2,3,"), "{shown}");
}

#[test]
fn no_color_is_respected() {
    let mut sandbox = sandbox();
    sandbox.set("NO_COLOR", "1");
    let plan = sandbox.plan(TWO_COMMANDS);
    for arguments in [
        &["run", &plan, "--yes"][..],
        &["status"],
        &["logs", "task-1", "--no-pager"],
        &["diff", "plan-1", "--no-pager"],
        &["inbox"],
        &["doctor"],
        &["permissions"],
        &["backends"],
        &["--help"],
    ] {
        let mut terminal = sandbox.at_terminal(arguments);
        terminal.wait();
        assert!(!terminal.text().contains('\u{1b}'), "{arguments:?}: {}", terminal.text());
    }
    let mut terminal = sandbox.at_terminal(&["statsu"]);
    assert_eq!(terminal.wait(), Some(2));
    assert!(!terminal.text().contains('\u{1b}'), "{}", terminal.text());
}

/// The candidates that bash would offer for the last of these words.
fn candidates(sandbox: &Sandbox, words: &[&str]) -> Vec<String> {
    let index = format!("_CLAP_COMPLETE_INDEX={}", words.len() - 1);
    let variables = ["PITCREW_COMPLETE=bash", "_CLAP_IFS=\n", "_CLAP_COMPLETE_COMP_TYPE=9", &index];
    let all = [&variables[..], &[env!("CARGO_BIN_EXE_pitcrew"), "--"], words].concat();
    let done = sandbox.start_program("env", &all).wait().expect(0);
    done.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn completions_know_ids_and_agents() {
    let sandbox = sandbox();
    assert!(candidates(&sandbox, &["pitcrew", "land", ""]).iter().all(|it| it.starts_with('-')));
    assert!(sandbox.orchestrator().is_none(), "no orchestrator was started");
    let plan = sandbox.plan(&gated(&sandbox, "busy"));
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    await_task(&sandbox, "waits", "running");
    let offers = |words: &[&str]| candidates(&sandbox, words);
    assert_eq!(offers(&["pitcrew", "land", "plan"]), ["plan-1"]);
    assert_eq!(offers(&["pitcrew", "logs", "task"]), ["task-1"]);
    assert_eq!(offers(&["pitcrew", "logs", "wai"]), ["waits"], "the key of the task");
    assert_eq!(offers(&["pitcrew", "stop", "worker", "w"]), ["worker-1"]);
    assert_eq!(offers(&["pitcrew", "message", "work"]), ["worker-1"]);
    assert_eq!(offers(&["pitcrew", "run", "--task", "x", "--agent", "clau"]), ["claude"]);
    assert_eq!(offers(&["pitcrew", "sta"]), ["status"]);
    sandbox.pitcrew(&["stop"]).expect(0);
    assert_eq!(offers(&["pitcrew", "pause", "plan"]), ["plan-1"], "from the journal");
    assert!(sandbox.orchestrator().is_none(), "no orchestrator was started");
    let root = sandbox.root().join("elsewhere");
    fs::create_dir(&root).expect("a folder");
    let repository = sandbox.repo().display().to_string();
    assert_eq!(offers(&["pitcrew", "-C", &repository, "logs", "plan"]), ["plan-1"]);
}

#[test]
fn completions_know_open_requests() {
    let sandbox = sandbox();
    let plan = sandbox.plan(TWO_COMMANDS);
    sandbox.pitcrew(&["run", &plan]).expect(3);
    assert_eq!(
        candidates(&sandbox, &["pitcrew", "approve", ""]).first().map(String::as_str),
        Some("request-1")
    );
}

/// The script works in the shell that it is for.
#[test]
fn completion_scripts_ask_the_binary() {
    let sandbox = sandbox();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = sandbox.pitcrew(&["completions", shell]).expect(0);
        assert!(script.stdout.contains("PITCREW_COMPLETE"), "{script}");
    }
    let script = sandbox.pitcrew(&["completions", "bash"]).expect(0).stdout;
    let file = sandbox.root().join("pitcrew.bash");
    fs::write(&file, script).expect("a file");
    let bin = std::path::Path::new(env!("CARGO_BIN_EXE_pitcrew")).parent().expect("a folder");
    let line = format!(
        "PATH='{}':$PATH; source '{}'; COMP_WORDS=(pitcrew dem); COMP_CWORD=1; COMP_TYPE=9; \
         _clap_complete_pitcrew pitcrew dem pitcrew; echo \"${{COMPREPLY[*]}}\"",
        bin.display(),
        file.display()
    );
    let done = sandbox.start_program("bash", &["--norc", "-c", &line]).wait().expect(0);
    assert_eq!(done.stdout.trim(), "demo", "{done}");
}

#[test]
fn man_pages_describe_every_command() {
    let sandbox = sandbox();
    let folder = sandbox.root().join("man1").display().to_string();
    sandbox.pitcrew(&["completions", "man"]).expect(2).notes("--dir <DIR>");
    sandbox
        .pitcrew(&["completions", "man", "--dir", &folder])
        .expect(0)
        .says("the man pages are in");
    let page = |name: &str| fs::read_to_string(format!("{folder}/{name}")).expect(name);
    assert!(page("pitcrew.1").contains("coding agents"));
    assert!(page("pitcrew-run.1").contains("max\\-agents"), "{}", page("pitcrew-run.1"));
    assert!(page("pitcrew-plan-check.1").contains("plan check"));
    assert!(!fs::exists(format!("{folder}/pitcrew-agent.1")).expect("a folder"), "it is internal");
}

/// Two thousand tasks that differ only in their names.
#[test]
fn long_plans_are_grouped_and_capped() {
    let sandbox = sandbox();
    let task = |number: usize| {
        format!(
            "[[task]]\nid = \"file-{number}\"\nregion = \"f{number}\"\ncommand = \"make it\"\nchecks = \"make test\"\n"
        )
    };
    let tasks: String = (1..=1_000).map(task).collect();
    let plan = sandbox.plan(&format!("name = \"many\"\n{tasks}"));
    let shown = sandbox.pitcrew(&["plan", "show", &plan]).expect(0);
    let lines_count = |it: &str| it.lines().count();
    assert!(lines_count(&shown.stdout) < 60, "{shown}");
    let shown = shown.says("and 960 more\n").says(" and 988 more\n    | make it\n");
    shown.says(" and 988 more\n    | make test\n");
    sandbox.pitcrew(&["run", &plan]).expect(3);
    let inbox = sandbox.pitcrew(&["inbox"]).expect(0);
    assert!(lines_count(&inbox.stdout) < 60, "{inbox}");
    inbox.says("and 960 more tasks\n").says(" and 988 more:\n    | make it\n");
    let status = sandbox.pitcrew(&["status"]).expect(0);
    assert!(lines_count(&status.stdout) < 60, "{status}");
    status.says("and 960 more tasks: 960 pending; `pitcrew status --json` lists all");
    let all = sandbox.pitcrew(&["status", "--json"]).expect(0).json();
    assert_eq!(all["tasks"].as_array().map(Vec::len), Some(1_000));
}
