//! Read-only commands, and errors before anything runs.

use crate::support::sandbox;
use pitcrew_testkit::Sandbox;
use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
};

#[test]
fn help_lists_the_commands_in_groups() {
    let help = sandbox().pitcrew(&["--help"]).expect(0);
    for group in ["Run:", "Decide:", "Control:", "Finish:", "Inspect:", "Integrate:"] {
        assert!(help.stdout.contains(group), "{help}");
    }
    assert!(help.stdout.contains("  land         Review the result of a plan"), "{help}");
    assert!(!help.stdout.contains("shim"), "{help}");
    assert!(help.stderr.is_empty(), "{help}");
    sandbox().pitcrew(&["help", "land"]).expect(0).says("pitcrew land plan-1 --yes");
    sandbox().pitcrew(&[]).expect(2).notes("Run:");
}

#[test]
fn unknown_command_is_a_usage_error() {
    sandbox().pitcrew(&["statsu"]).expect(2).notes("similar subcommand").notes("status");
    sandbox().pitcrew(&["run"]).expect(2);
    sandbox().pitcrew(&["run", "a.toml", "--max-agents", "0"]).expect(2);
}

#[test]
fn commands_report_a_missing_repository() {
    let sandbox = Sandbox::without_repository(env!("CARGO_BIN_EXE_pitcrew"));
    sandbox.pitcrew(&["status"]).expect(2).notes("not inside a git repository");
    fs::create_dir(sandbox.repo()).expect("a folder");
    sandbox.git(&["init", "--quiet"]);
    sandbox.pitcrew(&["status"]).expect(2).notes("no commit yet");
}

#[test]
fn commands_find_the_orchestrator_without_git() {
    let mut sandbox = sandbox();
    sandbox.pitcrew(&["status"]).expect(0);
    let (folder, path) = (sandbox.root().join("none"), sandbox.environment()["PATH"].clone());
    fs::create_dir(&folder).expect("a folder");
    fs::write(folder.join("git"), "#!/bin/sh\necho out of order >&2\nexit 9\n").expect("a file");
    fs::set_permissions(folder.join("git"), Permissions::from_mode(0o755)).expect("it is ours");
    sandbox.prepend_to_path(&folder);
    for command in ["status", "inbox", "watch", "messages"] {
        sandbox.pitcrew(&[command]).expect(0);
    }
    // New state of the repository is not cached.
    sandbox.set("PATH", &path);
    sandbox.write("core/new.txt", "new\n");
    sandbox.commit("second");
    sandbox.prepend_to_path(&folder);
    sandbox.pitcrew(&["status"]).expect(2).notes("out of order");
    sandbox.set("PATH", &path);
    sandbox.pitcrew(&["status"]).expect(0);
    sandbox.prepend_to_path(&folder);
    sandbox.pitcrew(&["status"]).expect(0);
    sandbox.set("PATH", &path);
}

#[test]
fn empty_workspace_says_how_to_start() {
    let sandbox = sandbox();
    sandbox.pitcrew(&["status"]).expect(0).says("pitcrew run FILE");
    sandbox.pitcrew(&["inbox"]).expect(0).says("nothing is waiting for you");
    sandbox.pitcrew(&["watch"]).expect(0).notes("no plan is running");
}

#[test]
fn unknown_ids_are_reported() {
    let sandbox = sandbox();
    sandbox.pitcrew(&["status", "plan-9"]).expect(2).notes("there is no plan-9");
    sandbox.pitcrew(&["logs", "task-9"]).expect(2).notes("there is no task-9");
    sandbox.pitcrew(&["retry", "task-9"]).expect(2).notes("there is no task-9");
    sandbox.pitcrew(&["cancel", "unknown"]).expect(2).notes("no plan or task `unknown`");
    sandbox.pitcrew(&["approve", "request-9"]).expect(2).notes("there is no request-9");
}

#[test]
fn failed_run_says_what_to_do() {
    let sandbox = sandbox();
    let missing = sandbox.pitcrew(&["run", "nofile.toml"]).expect(2);
    missing.notes("failed to read `nofile.toml`").notes("help: pass a plan file; `pitcrew init`");
    let unknown = sandbox.pitcrew(&["run", "--task", "tidy", "--agent", "unknown"]).expect(2);
    unknown
        .notes("error: the request names `unknown`, which is neither a backend nor an agent")
        .notes("help: possible values: builtin, claude, codex,")
        .notes("; to add another program, configure `[backends.unknown]`");
    let builtin = sandbox.pitcrew(&["run", "--task", "tidy", "--agent", "builtin"]).expect(2);
    builtin.notes("no model is set").notes("help: set PITCREW_MODEL=provider/name");
}

#[test]
fn init_never_overwrites() {
    let sandbox = sandbox();
    sandbox.write(".pitcrew/config.toml", "max_agents = 2\n");
    let first = sandbox.pitcrew(&["init"]).expect(0);
    assert!(first.stdout.contains("kept     .pitcrew/config.toml"), "{first}");
    assert!(first.stdout.contains("written  .pitcrew/example-plan.toml"), "{first}");
    assert_eq!(sandbox.read(".pitcrew/config.toml"), "max_agents = 2\n");
    let again = sandbox.pitcrew(&["init", "--json"]).expect(0).json();
    assert_eq!(again["written"].as_array().map(Vec::len), Some(0));
    sandbox.pitcrew(&["plan", "check", ".pitcrew/example-plan.toml"]).expect(0);
}

#[test]
fn config_shows_the_origin_of_settings() {
    let mut sandbox = sandbox();
    sandbox.write(".pitcrew/config.toml", "max_agents = 2\n");
    let shown = sandbox.pitcrew(&["config", "show", "--origin"]).expect(0);
    assert!(shown.stdout.contains("config.toml:1"), "{shown}");
    sandbox.set("PITCREW_MAX_AGENTS", "1");
    let shown = sandbox.pitcrew(&["config", "show", "--json"]).expect(0).json();
    assert_eq!(shown["settings"][0]["key"], "max_agents");
    assert_eq!(shown["settings"][0]["value"], "1");
    assert_eq!(shown["settings"][0]["layer"], "environment");
    sandbox.set("PITCREW_MAX_AGENTS", "many");
    sandbox.pitcrew(&["config", "show"]).expect(2).notes("PITCREW_MAX_AGENTS");
}

/// A committed file belongs to the repository, regardless of its name.
#[test]
fn committed_local_settings_cannot_loosen_limits() {
    let sandbox = sandbox();
    sandbox.write(".pitcrew/config.local.toml", "max_agents = 9\n");
    let own = sandbox.pitcrew(&["config", "show", "--json"]).expect(0).json();
    assert_eq!(own["settings"][0]["value"], "9");
    sandbox.commit("sneak it in");
    let committed = sandbox.pitcrew(&["config", "show", "--json"]).expect(0).json();
    assert_eq!(committed["settings"][0]["value"], "5");
}

#[test]
fn doctor_passes_on_a_plain_machine() {
    let sandbox = sandbox();
    let found = sandbox.pitcrew(&["doctor", "--json"]).expect(0).json();
    assert_eq!(found["healthy"], true, "{found}");
    sandbox.pitcrew(&["doctor"]).expect(0).says("git").says("sandbox");
    sandbox.write(".pitcrew/config.toml", "max_agents = \"x\"\n");
    sandbox.pitcrew(&["doctor"]).expect(1).says("config.toml:1");
}

#[test]
fn unwritable_state_folder_is_an_error() {
    let sandbox = sandbox();
    fs::write(sandbox.home().join(".local"), "not a folder").expect("a file");
    sandbox.pitcrew(&["status"]).expect(7).notes("help: make it writable");
}
