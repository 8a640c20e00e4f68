//! The user's uncommitted files: what a plan takes along, and what stays behind.

use crate::support::*;
use pitcrew_testkit::Sandbox;
use serde_json::json;

/// A token with the form of a real one, put together so that no scanner takes this file for a leak.
fn token() -> String {
    format!("{}_{}", "ghp", "Zk3vQ8sLw1Xn5Rt7Bd9Fh2Jm4Pc6Gy0AeUoI")
}

/// A repository with uncommitted work and two secrets.
fn with_secrets() -> Sandbox {
    let sandbox = sandbox();
    sandbox.write(".env", "PASSWORD=hunter2\n");
    sandbox.write("core/ci.yml", &format!("token: {}\n", token()));
    sandbox.write("core/notes.txt", &"n".repeat(1_536));
    sandbox
}

/// Writes the names of all files that it can see to `core/seen.txt`.
const LOOKS: &str = r#"
name = "looks"

[[task]]
id = "looks"
region = "core"
command = "find . -path ./.git -prune -o -type f -print > core/seen.txt"
"#;

/// The files that the agent of `LOOKS` has seen.
fn seen(sandbox: &Sandbox) -> String {
    let diff = sandbox.pitcrew(&["diff", "plan-1"]).expect(0).stdout;
    assert!(diff.contains("+./core/notes.txt"), "{diff}");
    diff
}

#[test]
fn person_sees_which_files_travel_before_agreeing() {
    let sandbox = with_secrets();
    let plan = sandbox.plan(LOOKS);
    let mut terminal = sandbox.at_terminal(&["run", &plan]);
    terminal.await_text("the plan starts with your 1 uncommitted file (1.5 KiB):");
    terminal.await_text("core/notes.txt  1.5 KiB");
    terminal.await_text("these stay behind because they look like secrets");
    terminal.await_text(".env         its name");
    terminal.await_text("core/ci.yml  a GitHub token");
    terminal.await_text("Run this plan? [y/N]");
    terminal.type_line("y");
    terminal.await_text("2 uncommitted files stayed behind and look like secrets: .env");
    terminal.await_text("1 of 1 completed");
    assert_eq!(terminal.wait(), Some(0), "{}", terminal.text());
    let seen = seen(&sandbox);
    assert!(!seen.contains(".env") && !seen.contains("ci.yml"), "{seen}");
    let status = sandbox.pitcrew(&["status", "plan-1"]).expect(0);
    let said = ".env (its name), core/ci.yml (a GitHub token); `include` in the plan takes them";
    assert_eq!(status.stdout.matches(said).count(), 1, "{status}");
    let board = sandbox.pitcrew(&["status", "plan-1", "--json"]).expect(0).json();
    let left = &board["plans"][0]["base"]["left_behind"];
    assert_eq!(left["count"], 2, "{left}");
    assert_eq!(left["files"][1]["path"], "core/ci.yml", "{left}");
    assert_eq!(sandbox.read(".env"), "PASSWORD=hunter2\n");
}

/// A plan that nobody was asked about yet shows the same in the inbox and when it is approved.
#[test]
fn inbox_and_approval_list_what_travels() {
    let sandbox = with_secrets();
    let plan = sandbox.plan(LOOKS);
    sandbox.pitcrew(&["run", &plan, "--detach"]).expect(3);
    let inbox = sandbox.pitcrew(&["inbox"]).expect(0);
    inbox.says("the plan starts with your 1 uncommitted file").says("core/ci.yml  a GitHub token");
    let approved = sandbox.pitcrew(&["approve", "plan-1"]).expect(0);
    approved.notes("core/notes.txt  1.5 KiB").notes(".env         its name");
    await_task(&sandbox, "looks", "completed");
    assert!(!seen(&sandbox).contains(".env"));
}

#[test]
fn named_secrets_travel() {
    let sandbox = with_secrets();
    let plan = LOOKS.replace("\n\n[[task]]", "\ninclude = [\"core/ci.yml\"]\n\n[[task]]");
    let plan = sandbox.plan(&plan);
    sandbox.pitcrew(&["plan", "show", &plan]).expect(0).says("core/ci.yml");
    let mut terminal = sandbox.at_terminal(&["run", &plan, "--include", "./.env"]);
    terminal.await_text("17 B, looks like a secret: its name");
    terminal.await_text("Run this plan? [y/N]");
    terminal.type_line("y");
    assert_eq!(terminal.wait(), Some(0), "{}", terminal.text());
    let seen = seen(&sandbox);
    assert!(seen.contains("+./.env") && seen.contains("+./core/ci.yml"), "{seen}");
    let again = sandbox.pitcrew(&["run", &plan, "--yes", "--include", "core/no.key"]).expect(0);
    let again = again.notes("the included path `core/no.key` names no uncommitted file");
    again.notes("`.worktreeinclude`");
    sandbox.pitcrew(&["run", &plan, "--yes", "--include", "../x"]).expect(2);
}

/// Clients of the tools cannot take secrets along either.
#[test]
fn secrets_stay_behind_whoever_makes_the_plan() {
    let sandbox = with_secrets();
    let plan = json!({"name": "looks", "tasks": [{"id": "looks", "region": ["core"],
        "command": "find . -path ./.git -prune -o -type f -print > core/seen.txt"}]});
    sandbox.pitcrew(&["tool", "orchestrator_save_plan", "--json", &plan.to_string()]).expect(0);
    sandbox.pitcrew(&["inbox"]).expect(0).says(".env         its name");
    sandbox.pitcrew(&["approve", "plan-1"]).expect(0);
    await_task(&sandbox, "looks", "completed");
    let seen = seen(&sandbox);
    assert!(!seen.contains(".env") && !seen.contains("ci.yml"), "{seen}");
}

/// The folder for checkouts must be outside the repository: otherwise `git add` adds them.
#[test]
fn worktrees_inside_the_repository_are_refused() {
    let mut sandbox = sandbox();
    let plan = sandbox.plan(TWO_COMMANDS);
    let inside = sandbox.repo().join("trees").display().to_string();
    let settings = sandbox.home().join(".config/pitcrew/config.toml");
    std::fs::create_dir_all(settings.parent().expect("a folder")).expect("a folder");
    std::fs::write(&settings, format!("max_agents = 2\nworktrees = \"{inside}\"\n")).expect("it");
    let refused = sandbox.pitcrew(&["run", &plan, "--yes"]).expect(2);
    let refused = refused.notes(&format!("{}:2: `worktrees` is `{inside}`", settings.display()));
    refused.notes("choose a folder outside the repository");
    sandbox.pitcrew(&["config", "show"]).expect(2);
    std::fs::remove_file(&settings).expect("it was there");

    let link = sandbox.root().join("link");
    std::os::unix::fs::symlink(sandbox.repo().join("core"), &link).expect("a link");
    sandbox.set("PITCREW_WORKTREES", &link.join("new").display().to_string());
    let refused = sandbox.pitcrew(&["run", &plan, "--yes"]).expect(2);
    refused.notes("PITCREW_WORKTREES: `worktrees` is");
    assert!(sandbox.orchestrator().is_none(), "no orchestrator was started");
}

#[test]
fn unusable_folder_for_checkouts_is_found_before_the_plan() {
    let mut sandbox = sandbox();
    let plan = sandbox.plan(TWO_COMMANDS);
    let file = sandbox.root().join("file");
    std::fs::write(&file, "").expect("a file");
    sandbox.set("PITCREW_WORKTREES", &file.join("trees").display().to_string());
    let doctor = sandbox.pitcrew(&["doctor"]).expect(1).says("checkouts").says("is not a folder");
    doctor.says("PITCREW_WORKTREES");
    let refused = sandbox.pitcrew(&["run", &plan, "--yes"]).expect(1);
    refused.notes("checkouts cannot be created").notes("set `worktrees` in your settings");
    // Other doors submit plans without this check.
    let plan = json!({"name": "late", "tasks": [{"id": "late", "command": "true"}]});
    sandbox.pitcrew(&["tool", "orchestrator_save_plan", "--json", &plan.to_string()]).expect(0);
    sandbox.pitcrew(&["approve", "plan-1"]).expect(0);
    sandbox.pitcrew(&["watch", "plan-1"]).expect(5).says("set `worktrees` in your settings");
}
