//! Permissions: their files, grants and requests.

use crate::support::*;
use pitcrew_testkit::Sandbox;
use std::{fs, os::unix::fs::PermissionsExt};

const WORKSPACE_FILE: &str = ".github/agents/orchestrator/permissions.md";

/// A task that asks for each of these commands, one after the other.
fn asking(name: &str, commands: &[&str]) -> String {
    let permits: Vec<String> = commands.iter().map(|it| format!("permit {it}\n")).collect();
    let permits = permits.concat();
    format!(
        "name = \"{name}\"\n[[task]]\nid = \"{name}\"\nregion = \"core\"\nmax_attempts = 1\n\
         script = \"\"\"\n{permits}write core/{name}.txt <<END\nit\nEND\ncomplete did it\n\"\"\"\n"
    )
}

fn file(sections: &str) -> String {
    format!("---\nversion: 1\n---\n{sections}")
}

fn write_own(sandbox: &Sandbox, text: &str) {
    let folder = sandbox.home().join(".config/pitcrew");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("permissions.md"), text).expect("a file");
}

/// S4-004, S4-010, S4-052, S4-061: the file of the repository denies without asking.
#[test]
fn repository_file_tightens_permissions() {
    let sandbox = sandbox();
    sandbox.write(WORKSPACE_FILE, &file("## Auto-Deny\n- command_execution\n"));
    let plan = sandbox.plan(&asking("asks", &["make docs"]));
    let why = format!("command_execution is denied by {WORKSPACE_FILE}:5; who wants to allow it");
    let ran = sandbox.pitcrew(&["run", &plan, "--yes"]).expect(5).notes(&why);
    assert!(!ran.stderr.contains("approve it"), "no one can: {ran}");
    sandbox.pitcrew(&["logs", "task-1"]).expect(0).says(&why);
    sandbox.pitcrew(&["status", "--all"]).expect(0).says(&why);
    sandbox.pitcrew(&["inbox", "--all"]).expect(0).says("nothing is waiting for you");
    let shown = sandbox.pitcrew(&["permissions", "--json"]).expect(0).json();
    let rules = shown["rules"].as_array().expect("rules");
    let rule = rules.iter().find(|it| it["action"] == "command_execution").expect("a rule");
    assert_eq!(rule["rule"], "auto_deny");
    assert_eq!(rule["origin"], format!("{WORKSPACE_FILE}:5"));
    assert_eq!(shown["in_force"], true);
}

/// S4-016: the file of the repository cannot loosen a rule, and the attempt is reported.
#[test]
fn repository_file_cannot_loosen_permissions() {
    let sandbox = sandbox();
    sandbox.write(WORKSPACE_FILE, &file("## Auto-Approve\n- command_execution\n"));
    let plan = sandbox.plan(&asking("asks", &["make docs"]));
    let running = sandbox.start(&["run", &plan, "--yes"]);
    let request = await_request(&sandbox);
    assert_eq!(request["ask"]["action"], "command_execution", "{request}");
    // The status shows the state of the waiting worker.
    let shown = sandbox.pitcrew(&["status"]).expect(0).says("waiting_permission  task-1 asks");
    assert!(shown.stdout.contains("waits for a permission: request-1"), "{shown}");
    assert_eq!(task_status(&sandbox, "asks"), "running", "for programs the two are apart");
    sandbox.pitcrew(&["permissions"]).expect(0).notes("is ignored").notes("may only tighten");
    sandbox.pitcrew(&["doctor"]).says("1 ignored or doubtful");
    sandbox.pitcrew(&["deny", "request-1", "--reason", "no"]).expect(0);
    running.wait().expect(5);
}

/// S4-006, S4-081: the user's own file loosens a rule, so there is no request.
#[test]
fn user_file_loosens_permissions() {
    let sandbox = sandbox();
    write_own(&sandbox, &file("## Auto-Approve\n- command_execution\n- plan_execution\n"));
    let plan = sandbox.plan(&asking("asks", &["make docs"]));
    sandbox.pitcrew(&["run", &plan]).expect(0).says("1 of 1 completed");
    let log = sandbox.pitcrew(&["logs", "plan-1"]).expect(0);
    assert!(log.stdout.contains("the rule for command_execution"), "{log}");
    let refused = sandbox.plan(&asking("pushes", &["make docs && git push --force"]));
    let why = "force_push is denied by a rule that is built in, and no file can allow it";
    sandbox.pitcrew(&["run", &refused]).expect(5).notes(why);
    sandbox.pitcrew(&["logs", "task-2"]).expect(0).says(why);
}

/// S4-063: a file with errors is reported by every command that shows permissions, and the built-in
/// rules apply.
#[test]
fn broken_permissions_file_is_reported_and_ignored() {
    let sandbox = sandbox();
    sandbox.write(WORKSPACE_FILE, &file("## Auto-Denny\n- pr_creation\n"));
    write_own(&sandbox, &file("## Auto-Approve\n- command_execution\n"));
    let place = format!("{WORKSPACE_FILE}:4");
    sandbox.pitcrew(&["permissions"]).expect(1).notes(&place).notes("did you mean `Auto-Deny`?");
    sandbox.pitcrew(&["status"]).expect(0).notes(&place);
    sandbox.pitcrew(&["doctor"]).expect(1).says(&place);
    let plan = sandbox.plan(&asking("asks", &["make docs"]));
    let running = sandbox.start(&["run", &plan, "--yes"]);
    await_request(&sandbox);
    sandbox.pitcrew(&["approve", "asks"]).expect(0);
    running.wait().expect(0);
}

/// S4-148: an action granted for the plan is not asked again in it; the grant survives a kill, and
/// after it is revoked the action is asked again.
#[test]
fn grant_holds_until_it_is_revoked() {
    let sandbox = sandbox();
    let plan = sandbox.plan(&asking("first", &["make docs", "make docs"]));
    let running = sandbox.start(&["run", &plan, "--yes"]);
    let request = await_request(&sandbox);
    assert_eq!(request["ask"]["scopes"].as_array().map(Vec::len), Some(4), "{request}");
    sandbox.pitcrew(&["inbox"]).expect(0).says("--scope once|task|plan|always");
    sandbox.pitcrew(&["approve", "request-1", "--scope", "sometimes"]).expect(2);
    sandbox.pitcrew(&["approve", "request-1", "--scope", "always"]).expect(0);
    running.wait().expect(0);
    sandbox.pitcrew(&["permissions"]).expect(0).says("grant-1  always").says("`make docs`");

    sandbox.kill_orchestrator();
    let plan = sandbox.plan(&asking("second", &["make docs"]));
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0).says("1 of 1 completed");

    sandbox.pitcrew(&["permissions", "revoke", "grant-1"]).expect(0);
    sandbox.pitcrew(&["permissions", "revoke", "grant-1"]).expect(2).notes("no active grant-1");
    let plan = sandbox.plan(&asking("third", &["make docs", "make more"]));
    let running = sandbox.start(&["run", &plan, "--yes"]);
    let request = await_request(&sandbox);
    assert_eq!(request["id"], "request-2", "{request}");
    sandbox.pitcrew(&["approve", "request-2", "--scope", "plan"]).expect(0);
    await_request(&sandbox);
    let shown = sandbox.pitcrew(&["permissions", "--json"]).expect(0).json();
    assert_eq!(shown["grants"][0]["grant"]["reach"]["of"], "plan-3", "{shown}");
    sandbox.pitcrew(&["approve", "request-3"]).expect(0);
    running.wait().expect(0);
    // A grant for a plan ends with the plan.
    let shown = sandbox.pitcrew(&["permissions", "--json"]).expect(0).json();
    assert_eq!(shown["grants"].as_array().map(Vec::len), Some(0), "{shown}");
}

/// An editor that replaces the file with this text and keeps a copy of the original.
fn use_editor(sandbox: &mut Sandbox, text: &str) {
    let folder = sandbox.home().join("editor");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("text"), text).expect("a file");
    let at = folder.display();
    sandbox.set("EDITOR", &format!("cp -t '{at}' \"$1\" && cp '{at}/text'"));
}

/// S4-059: a person edits the permissions; a text with errors never takes effect and is never lost.
#[test]
fn permissions_edit_keeps_a_broken_draft() {
    let mut sandbox = sandbox();
    let own = sandbox.home().join(".config/pitcrew/permissions.md");
    use_editor(&mut sandbox, &file("## Auto-Denny\n- command_execution\n"));
    let refused = sandbox.pitcrew(&["permissions", "edit"]).expect(2);
    refused.notes("permissions.md:4").notes("did you mean `Auto-Deny`?").notes("was not changed");
    assert!(!own.exists(), "an invalid file is not written");
    let offered = fs::read_to_string(sandbox.home().join("editor/permissions.md")).expect("a text");
    assert!(offered.contains("command_execution") && offered.contains("## Ask User"), "{offered}");

    let fixed = file("## Auto-Deny\n- command_execution\n");
    use_editor(&mut sandbox, &fixed);
    let written = sandbox.pitcrew(&["permissions", "edit"]).expect(0);
    written.notes("opening your earlier draft").says("saved: ");
    assert_eq!(fs::read_to_string(&own).expect("a file"), fixed);
    let offered = fs::read_to_string(sandbox.home().join("editor/permissions.md")).expect("a text");
    assert!(offered.contains("Auto-Denny"), "the draft is what is edited: {offered}");
    let shown = sandbox.pitcrew(&["permissions"]).expect(0);
    let denied = |it: &&str| it.contains("command_execution") && it.contains("auto_deny");
    assert!(shown.stdout.lines().any(|it| denied(&it)), "{shown}");

    sandbox.pitcrew(&["permissions", "edit"]).expect(0).says("nothing was changed");
    fs::set_permissions(&own, fs::Permissions::from_mode(0o600)).expect("it is ours");
    use_editor(&mut sandbox, &file("## Auto-Deny\n- git_push\n"));
    sandbox.pitcrew(&["permissions", "edit"]).expect(0).says("saved: ");
    assert_eq!(fs::metadata(&own).expect("a file").permissions().mode() & 0o777, 0o600);
    sandbox.set("EDITOR", "false");
    sandbox.pitcrew(&["permissions", "edit"]).expect(1).notes("the editor `false` failed");
}

/// Without a terminal an interactive editor would wait forever.
#[test]
fn permissions_edit_needs_a_terminal_or_an_editor() {
    let mut sandbox = sandbox();
    let own = sandbox.home().join(".config/pitcrew/permissions.md");
    for (words, file) in [
        (&["permissions", "edit"][..], own.display().to_string()),
        (&["permissions", "edit", "--repository"], WORKSPACE_FILE.to_owned()),
    ] {
        let refused = sandbox.pitcrew(words).expect(2);
        refused.notes("without a terminal").notes(&file).notes("EDITOR");
    }
    // At a terminal it is git's editor, otherwise one from the environment.
    let home = sandbox.home();
    let opened = |name: &str| home.join(name);
    let touch = |name: &str| format!("touch '{}'", opened(name).display());
    sandbox.git(&["config", "core.editor", &touch("of-git")]);
    sandbox.pitcrew(&["permissions", "edit"]).expect(2);
    assert!(!opened("of-git").exists());
    sandbox.at_terminal(&["permissions", "edit"]).await_text("nothing was changed");
    assert!(opened("of-git").exists());
    for name in ["EDITOR", "VISUAL"] {
        sandbox.set(name, &touch(name));
        sandbox.pitcrew(&["permissions", "edit"]).expect(0).says("nothing was changed");
        assert!(opened(name).exists(), "{name}");
    }
}

/// S4-059: the file of the repository is edited in place, and rules that it may not have are
/// reported.
#[test]
fn permissions_edit_repository_edits_the_repository_file() {
    let mut sandbox = sandbox();
    use_editor(&mut sandbox, &file("## Auto-Approve\n- network_access\n"));
    let written = sandbox.pitcrew(&["permissions", "edit", "--repository"]).expect(0);
    written.notes("may only tighten").says(WORKSPACE_FILE);
    assert!(sandbox.repo().join(WORKSPACE_FILE).exists());
}
