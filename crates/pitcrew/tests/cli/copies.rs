//! Copies of a task's work for people: with a `.git` that no agent has written.

use crate::support::*;
use pitcrew_testkit::{Sandbox, eventually};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// A command that leaves traps in its checkout which run when git is used there, and write a mark
/// outside any box.
fn trap(mark: &Path) -> String {
    format!(
        r#"
name = "trap"

[[task]]
id = "plants"
region = "core"
max_attempts = 1
checks = "grep -q work core/new.txt"
command = """
printf '#!/bin/sh\\ntouch {mark}\\n[ $# -gt 0 ] || exec cat\\n' > .git/planted
chmod +x .git/planted
mkdir -p .git/hooks
cp .git/planted .git/hooks/post-checkout
cp .git/planted .git/hooks/post-index-change
git config core.hooksPath .git/hooks
git config core.fsmonitor $PWD/.git/planted
git config filter.planted.clean $PWD/.git/planted
git config diff.external $PWD/.git/planted
git config core.pager $PWD/.git/planted
mkdir -p .git/info && echo '* filter=planted' > .git/info/attributes
echo work > core/new.txt
"""
"#,
        mark = mark.display()
    )
}

fn copy(sandbox: &Sandbox, task: &str) -> PathBuf {
    PathBuf::from(sandbox.pitcrew(&["path", task]).expect(0).stdout.trim())
}

#[expect(clippy::disallowed_methods, reason = "tests start what they need")]
fn git(sandbox: &Sandbox, place: &Path, arguments: &[&str]) -> String {
    let mut git = Command::new("git");
    git.arg("-C").arg(place).args(arguments).env_clear().envs(sandbox.environment());
    let output = git.output().expect("git");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn no_agent_code_runs_in_a_copy() {
    let sandbox = sandbox();
    let elsewhere = tempfile::tempdir().expect("a folder");
    let mark = elsewhere.path().join("ran");
    let plan = sandbox.plan(&trap(&mark));
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
    let (agents, copy) = (checkout(&sandbox, "plants"), copy(&sandbox, "plants"));
    assert!(!copy.starts_with(&agents) && copy.is_dir(), "{}", copy.display());
    assert_eq!(fs::read_to_string(copy.join("core/new.txt")).expect("its work"), "work\n");
    fs::write(copy.join("core/new.txt"), "work, and mine\n").expect("a file");
    for arguments in [
        &["status"][..],
        &["diff"],
        &["add", "core/new.txt"],
        &["checkout", "-q", "-b", "mine"],
        &["log", "-1", "-p"],
    ] {
        git(&sandbox, &copy, arguments);
    }
    assert!(!mark.exists(), "a program of the agent ran");
    // The traps work: they run in the agent's checkout.
    git(&sandbox, &agents, &["status"]);
    assert!(mark.exists(), "the trap does not work");
    // No printed path points to the checkout.
    let place = agents.display().to_string();
    for arguments in [
        &["path", "plants"][..],
        &["logs", "plants"],
        &["logs", "plan-1"],
        &["status", "--all"],
        &["watch", "plan-1"],
        &["gc", "--dry-run"],
        &["diff", "plants"],
    ] {
        let output = sandbox.pitcrew(arguments);
        // A prompt names the checkout to its own agent, and the log shows it as it was sent.
        let is_prompt = |it: &&str| it.trim_start().starts_with("prompt |");
        let mut lines = output.stdout.lines().chain(output.stderr.lines());
        assert!(!lines.any(|it| !is_prompt(&it) && it.contains(&place)), "{output}");
    }
}

#[test]
fn copy_is_updated_unless_a_person_changed_it() {
    let sandbox = sandbox();
    let plan = sandbox.plan(&gated(&sandbox, "follows"));
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    await_task(&sandbox, "waits", "running");
    let agents = checkout(&sandbox, "waits");
    fs::write(agents.join("core/live.txt"), "one\n").expect("a file");
    // The copy includes unsaved work, and is updated in place until someone changes it.
    let first = copy(&sandbox, "waits");
    assert_eq!(fs::read_to_string(first.join("core/live.txt")).expect("a file"), "one\n");
    fs::write(agents.join("core/live.txt"), "two\n").expect("a file");
    assert_eq!(copy(&sandbox, "waits"), first);
    assert_eq!(fs::read_to_string(first.join("core/live.txt")).expect("a file"), "two\n");
    assert_eq!(git(&sandbox, &first, &["status", "--porcelain"]), "");
    fs::write(first.join("core/mine.txt"), "mine\n").expect("a file");
    assert_eq!(copy(&sandbox, "waits"), first, "there is nothing newer");
    fs::write(agents.join("core/live.txt"), "three\n").expect("a file");
    let found = sandbox.pitcrew(&["path", "waits"]).expect(0);
    let second = PathBuf::from(found.stdout.trim());
    assert_ne!(second, first);
    assert!(found.stderr.contains(&format!("still in {}", first.display())), "{found}");
    assert_eq!(fs::read_to_string(second.join("core/live.txt")).expect("a file"), "three\n");
    assert_eq!(fs::read_to_string(first.join("core/mine.txt")).expect("a file"), "mine\n");
    open_gate(&sandbox);
    sandbox.pitcrew(&["watch"]).expect(0);
    sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(0);
    // `gc` removes unchanged copies.
    eventually("the unchanged copy is gone", || (!second.exists()).then_some(()));
    sandbox.pitcrew(&["gc"]).expect(0);
    assert_eq!(fs::read_to_string(first.join("core/mine.txt")).expect("a file"), "mine\n");
}

#[test]
fn open_starts_an_editor_or_a_shell() {
    let mut sandbox = sandbox();
    let plan = sandbox.plan(TWO_COMMANDS);
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
    let copy = copy(&sandbox, "second");
    sandbox.set("EDITOR", "echo opened with");
    let opened = sandbox.pitcrew(&["open", "second"]).expect(0);
    assert_eq!(opened.stdout, format!("opened with {}\n", copy.display()));
    let shell = sandbox.root().join("shell");
    let script = "#!/bin/sh\npwd\ncat ui/new.txt\ngit config safe.bareRepository\nexit 3\n";
    fs::write(&shell, script).expect("a file");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&shell, mode).expect("a mode");
    sandbox.set("SHELL", &shell.display().to_string());
    let opened = sandbox.pitcrew(&["open", "second", "--shell"]).expect(0);
    assert_eq!(opened.stdout, format!("{}\n1\n1\nexplicit\n", copy.display()));
    sandbox.set("EDITOR", "false");
    sandbox.pitcrew(&["open", "second"]).expect(1).notes("the editor `false` failed");
    sandbox.pitcrew(&["open", "third"]).expect(2);
}
