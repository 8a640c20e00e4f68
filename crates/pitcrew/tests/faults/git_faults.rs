//! Git repositories that are locked, damaged or garbage-collected, and git processes that are
//! killed. The user loses nothing, and errors say what to do.

use crate::support::*;
use pitcrew_testkit::{Finished, Sandbox};
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

const TWO: &str = r#"
name = "two"
max_attempts = 2

[[task]]
id = "one"
region = "core"
command = "cat core/one.txt > core/copy.txt"
checks = "test -e core/one.txt"

[[task]]
id = "other"
region = "ui"
depends_on = "one"
command = "cat core/copy.txt > ui/copy.txt"
"#;

/// Asserts that the plan lands and the repository is intact.
#[track_caller]
fn lands_whole(sandbox: &Sandbox, plan: &str) {
    sandbox.pitcrew(&["land", plan, "--yes"]).expect(0).says("landed on main");
    assert_eq!(sandbox.read("core/copy.txt") + &sandbox.read("ui/copy.txt"), "one\none\n");
    sandbox.git(&["fsck", "--strict", "--no-dangling"]);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}

/// The user's git may be running: its locks are never removed.
#[test]
fn foreign_locks_are_reported_and_kept() {
    let sandbox = sandbox();
    let git = sandbox.repo().join(".git");
    let locks = ["index.lock", "HEAD.lock", "packed-refs.lock", "refs/heads/main.lock"];
    for lock in locks {
        fs::write(git.join(lock), "").expect("a file");
    }
    // Work continues: until the landing only the vault is written to.
    sandbox.pitcrew(&["run", &sandbox.plan(TWO), "--yes"]).expect(0);
    let before = snapshot_of_the_user(&sandbox);
    let refused = sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(8);
    assert!(refused.stderr.contains(".lock` is there"), "{refused}");
    assert!(refused.stderr.contains("your branch was not changed"), "{refused}");
    assert_eq!(snapshot_of_the_user(&sandbox), before);
    for lock in locks {
        fs::remove_file(git.join(lock)).unwrap_or_else(|error| panic!("{lock}: {error}"));
    }
    lands_whole(&sandbox, "plan-1");
}

/// Truncates a git file to half its size and returns the original content.
fn damage(file: &Path) -> Vec<u8> {
    let good = fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    fs::set_permissions(file, fs::Permissions::from_mode(0o644)).expect("it is ours");
    fs::write(file, &good[..good.len() / 2]).expect("it can be written");
    good
}

#[test]
fn damaged_user_object_is_reported_and_repairable() {
    let sandbox = sandbox();
    let blob = sandbox.git(&["rev-parse", "HEAD:core/one.txt"]);
    let objects = sandbox.repo().join(".git/objects");
    let file = objects.join(&blob[..2]).join(&blob[2..]);
    let good = damage(&file);
    let plan = sandbox.plan(TWO);
    let refused = sandbox.pitcrew(&["run", &plan, "--yes"]).expect(7).notes(&blob);
    assert!(refused.stderr.contains("is corrupt"), "{refused}");
    fs::write(file, good).expect("it can be repaired");
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
    lands_whole(&sandbox, "plan-1");
}

#[test]
fn damaged_vault_object_never_reaches_the_user() {
    let sandbox = sandbox();
    sandbox.pitcrew(&["run", &sandbox.plan(TWO), "--yes"]).expect(0);
    let state = fs::read_dir(sandbox.home().join(".local/state/pitcrew/workspaces"));
    let state = state.expect("there is state").flatten().next().expect("a workspace").path();
    let packs = fs::read_dir(state.join("vault.git/objects/pack")).expect("work comes in packs");
    let packs = packs.flatten().map(|it| it.path());
    let packs: Vec<PathBuf> =
        packs.filter(|it| it.extension().is_some_and(|it| it == "pack")).collect();
    let good: Vec<Vec<u8>> = packs.iter().map(|it| damage(it)).collect();
    assert!(!good.is_empty(), "there are packs");
    let before = snapshot_of_the_user(&sandbox);
    let refused = sandbox.pitcrew(&["land", "plan-1", "--yes"]);
    assert_ne!(refused.code, Some(0), "{refused}");
    assert!(refused.stderr.contains("vault.git"), "{refused}");
    assert_eq!(snapshot_of_the_user(&sandbox), before);
    sandbox.git(&["fsck", "--strict", "--no-dangling"]);
    for (pack, good) in packs.iter().zip(good) {
        fs::write(pack, good).expect("it can be repaired");
    }
    lands_whole(&sandbox, "plan-1");
}

/// The user's git repacks continuously.
#[test]
fn continuous_gc_has_no_effect() {
    let sandbox = sandbox();
    sandbox.write("core/dirty.txt", "dirty\n");
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                sandbox.git(&["reflog", "expire", "--expire=now", "--all"]);
                sandbox.git(&["gc", "--quiet", "--prune=now"]);
            }
        });
        let ended = sandbox.pitcrew(&["run", &sandbox.plan(TWO), "--yes"]);
        over.store(true, Ordering::Relaxed);
        ended.expect(0);
    });
    fs::remove_file(sandbox.repo().join("core/dirty.txt")).expect("it is there");
    lands_whole(&sandbox, "plan-1");
}

/// Only the two hooks of a landing run, and those not with `--no-verify`.
#[test]
fn no_other_hooks_run() {
    let sandbox = sandbox();
    let loot = sandbox.root().join("loot");
    let hooks = sandbox.repo().join(".git/hooks");
    fs::create_dir_all(&hooks).expect("a folder");
    for name in [
        "post-checkout",
        "post-commit",
        "post-index-change",
        "post-merge",
        "post-rewrite",
        "pre-commit",
        "pre-merge-commit",
        "pre-push",
        "pre-receive",
        "post-receive",
        "update",
        "reference-transaction",
        "pre-auto-gc",
        "fsmonitor-watchman",
        "commit-msg",
    ] {
        let hook = hooks.join(name);
        fs::write(&hook, format!("#!/bin/sh\necho {name} >> '{}'\n", loot.display()))
            .expect("a file");
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).expect("it is ours");
    }
    sandbox.pitcrew(&["run", &sandbox.plan(TWO), "--yes"]).expect(0);
    let land = ["land", "plan-1", "--yes", "--no-verify"];
    sandbox.pitcrew(&land).expect(0).says("landed on main");
    assert_eq!(fs::read_to_string(&loot).unwrap_or_default(), "", "these ran");
}

/// Pointers to large files stay pointers.
#[test]
fn large_file_pointers_are_kept() {
    let sandbox = sandbox();
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n";
    sandbox.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n");
    sandbox.write("core/large.bin", pointer);
    sandbox.commit("large");
    let plan =
        TWO.replace("cat core/one.txt", "mv core/large.bin core/moved.bin; cat core/one.txt");
    sandbox.pitcrew(&["run", &sandbox.plan(&plan), "--yes"]).expect(0);
    lands_whole(&sandbox, "plan-1");
    assert_eq!(sandbox.read("core/moved.bin"), pointer);
}

/// A wrapper around git: the call with this number is killed in the middle. Boxes do not see the
/// counter, so git inside them is not affected.
fn killing_git(sandbox: &Sandbox, number: usize) -> PathBuf {
    let folder = sandbox.root().join(format!("git-{number}"));
    fs::create_dir(&folder).expect("a folder");
    let path = std::env::var("PATH").expect("there is a path");
    let real = std::env::split_paths(&path).map(|it| it.join("git")).find(|it| it.is_file());
    let (real, calls) = (real.expect("git is there"), folder.join("calls"));
    fs::write(&calls, "").expect("a file");
    let script = format!(
        r#"#!/bin/sh
[ -e '{calls}' ] || exec '{real}' "$@"
echo x >> '{calls}'
[ "$(wc -l < '{calls}')" -eq {number} ] || exec '{real}' "$@"
'{real}' "$@" &
sleep 0.003
kill -9 $!
kill -9 $$
"#,
        calls = calls.display(),
        real = real.display(),
    );
    fs::write(folder.join("git"), script).expect("a file");
    fs::set_permissions(folder.join("git"), fs::Permissions::from_mode(0o755)).expect("ours");
    folder
}

fn calls_of(folder: &Path) -> usize {
    fs::read_to_string(folder.join("calls")).unwrap_or_default().lines().count()
}

/// Runs and lands the plan with a git whose call of this number is killed; returns the number of
/// calls.
#[track_caller]
fn survives_a_killed_git(number: usize) -> usize {
    let mut sandbox = sandbox();
    sandbox.write("core/dirty.txt", "dirty\n");
    let folder = killing_git(&sandbox, number);
    let path = std::env::var("PATH").expect("there is a path");
    let path = format!("{}:{path}", folder.display());
    let plan = sandbox.plan(TWO);
    let before = snapshot_of_the_user(&sandbox);
    let mut ended = with_path(&mut sandbox, &path, &["run", &plan, "--yes"]);
    assert_eq!(snapshot_of_the_user(&sandbox), before);
    if ended.code != Some(0) {
        // The failure was reported; the next run has other calls.
        assert!(is_reported(&ended), "call {number}: {ended}");
        ended = with_path(&mut sandbox, &path, &["run", &plan, "--yes"]);
    }
    let ended = ended.expect(0).says("2 of 2 completed");
    let plan = ended.stdout.split_whitespace().next().expect("the plan").to_owned();
    fs::remove_file(sandbox.repo().join("core/dirty.txt")).expect("it is there");
    let landed = with_path(&mut sandbox, &path, &["land", &plan, "--yes"]);
    if landed.code != Some(0) {
        assert!(is_reported(&landed), "call {number}: {landed}");
        sandbox.pitcrew(&["land", &plan, "--yes"]).expect(0);
    }
    assert_eq!(sandbox.read("core/copy.txt") + &sandbox.read("ui/copy.txt"), "one\none\n");
    sandbox.git(&["fsck", "--strict", "--no-dangling"]);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    calls_of(&folder)
}

/// The test's own git is the real one.
fn with_path(sandbox: &mut Sandbox, path: &str, arguments: &[&str]) -> Finished {
    sandbox.set("PATH", path);
    let ended = sandbox.pitcrew(arguments);
    sandbox.set("PATH", &std::env::var("PATH").expect("there is a path"));
    ended
}

fn is_reported(ended: &Finished) -> bool {
    let output = format!("{}{}", ended.stdout, ended.stderr);
    ended.code.is_some_and(|it| (1..=8).contains(&it)) && output.contains("git")
}

/// Any git call may be killed: the user's repository is unchanged, the reason is reported, and the
/// next try succeeds.
#[test]
fn killed_git_loses_nothing() {
    let all = survives_a_killed_git(usize::MAX >> 1);
    assert!(all > 20, "{all} calls");
    for number in (1..all).step_by(all / 5) {
        survives_a_killed_git(number);
    }
}
