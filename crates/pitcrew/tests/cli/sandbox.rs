//! What holds agents and what runs for them, through the real binary.

use crate::support::*;
use pitcrew_testkit::Sandbox;
use std::{fs, os::unix::fs::symlink};

/// Nothing is shared but what every box has.
fn closed() -> Sandbox {
    let mut sandbox = sandbox();
    sandbox.unset("PITCREW_SANDBOX_WRITE");
    sandbox
}

/// A `PATH` with everything but the program that makes boxes.
fn without_boxes(sandbox: &mut Sandbox) {
    let folder = sandbox.root().join("bin");
    fs::create_dir(&folder).expect("a folder");
    let path = std::env::var_os("PATH").expect("a PATH");
    let folders = std::env::split_paths(&path).filter_map(|it| fs::read_dir(it).ok());
    // Of two programs with the same name the first one is found.
    for program in folders.flatten().flatten().filter(|it| it.file_name() != "bwrap") {
        symlink(program.path(), folder.join(program.file_name())).ok();
    }
    sandbox.set("PATH", &folder.display().to_string());
}

/// What a worker tries is written into its own report, which is then part of its work.
#[test]
fn a_worker_reaches_neither_keys_nor_tokens_nor_files_nor_processes_of_others() {
    let sandbox = closed();
    let ssh = sandbox.home().join(".ssh");
    fs::create_dir(&ssh).expect("a folder");
    fs::write(ssh.join("id"), "the key").expect("a file");
    let (home, repo) = (sandbox.home(), sandbox.repo());
    let (home, repo, pid) = (home.display(), repo.display(), std::process::id());
    let plan = sandbox.plan(&format!(
        r#"
name = "escape"

[[task]]
id = "tries"
region = "core"
command = """
try() {{ if sh -c "$2" > /dev/null 2>&1; then echo "$1 worked"; else echo "$1 failed"; fi; }}
try key "cat ~/.ssh/id" > core/report.txt
try token "cat {home}/.local/state/pitcrew/workspaces/*/token" >> core/report.txt
try journal "cat {home}/.local/state/pitcrew/workspaces/*/journal.db" >> core/report.txt
try repository "echo evil > {repo}/evil" >> core/report.txt
try read "cat {repo}/core/one.txt" >> core/report.txt
try process "kill -0 {pid}" >> core/report.txt
try commit "git commit --quiet --allow-empty --message inside" >> core/report.txt
echo evil > {home}/evil
"""
checks = "! echo evil > {repo}/evil"
"#
    ));
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
    let diff = sandbox.pitcrew(&["diff", "plan-1"]).expect(0).stdout;
    for what in ["key", "token", "journal", "repository", "read", "process"] {
        assert!(diff.contains(&format!("+{what} failed")), "{what}: {diff}");
    }
    assert!(diff.contains("+commit worked"), "{diff}");
    assert!(!sandbox.repo().join("evil").exists() && !sandbox.home().join("evil").exists());
    sandbox.pitcrew(&["logs", "tries"]).expect(0).says("confined by tier T3, policy ");
}

/// The folder of the policy is told, and says the same as what was in force.
#[test]
fn the_policy_of_an_agent_is_kept_with_its_attempt() {
    let sandbox = closed();
    sandbox.pitcrew(&["run", &sandbox.plan(TWO_COMMANDS), "--yes"]).expect(0);
    let board = sandbox.pitcrew(&["status", "--json", "--all"]).expect(0).json();
    assert_eq!(board["sandbox"]["available"], "T3");
    assert_eq!(board["workers"][0]["confined"]["tier"], "T3");
    let state = sandbox.states().pop().expect("a workspace");
    let policy = fs::read_to_string(state.join("attempts/attempt-1/policy.json")).expect("a file");
    assert!(policy.contains("\"tier\": \"T3\"") && !policy.contains("PITCREW_TOKEN"), "{policy}");
}

#[test]
fn without_a_box_nothing_starts_before_a_person_has_agreed_once() {
    let mut sandbox = closed();
    without_boxes(&mut sandbox);
    let plan = sandbox.plan(TWO_COMMANDS);
    let refused = sandbox.pitcrew(&["run", &plan, "--yes"]);
    assert!(refused.stderr.contains("bubblewrap is not installed"), "{refused}");
    assert!(refused.stderr.contains("--accept-tier T1"), "{refused}");
    let doctor = sandbox.pitcrew(&["doctor"]).stdout;
    assert!(doctor.contains("T1:") && doctor.contains("apt install bubblewrap"), "{doctor}");
    sandbox.pitcrew(&["run", &plan, "--yes", "--accept-tier", "T1"]).expect(0);
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    sandbox.pitcrew(&["watch"]).expect(0);
    sandbox.pitcrew(&["status", "--all"]).expect(0).notes("tier T1");
}

#[test]
fn a_repository_may_want_a_stronger_box_than_there_is() {
    let mut sandbox = closed();
    sandbox.set("PITCREW_SANDBOX", "T1");
    sandbox.write(".pitcrew/config.toml", "[sandbox]\nmin_tier = \"T3\"\n");
    sandbox.commit("wants a box");
    let refused = sandbox.pitcrew(&["run", &sandbox.plan(TWO_COMMANDS), "--yes"]);
    assert!(refused.stderr.contains("tier T3 is wanted"), "{refused}");
    let weaker = "[sandbox]\nmin_tier = \"T1\"\ntier = \"T1\"\n";
    sandbox.write(".pitcrew/config.toml", weaker);
    let refused = sandbox.pitcrew(&["config", "show"]);
    assert!(refused.stderr.contains("cannot set `sandbox.tier`"), "{refused}");
}
