//! Git is locked, damaged, tidied up or killed under us. Nothing of the user's is lost, and what
//! cannot be done is told in words that help.

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

/// The landed plan is whole, and so is the repository.
#[track_caller]
fn lands_whole(sandbox: &Sandbox, plan: &str) {
    sandbox.pitcrew(&["land", plan, "--yes"]).expect(0).says("landed on main");
    assert_eq!(sandbox.read("core/copy.txt") + &sandbox.read("ui/copy.txt"), "one\none\n");
    sandbox.git(&["fsck", "--strict", "--no-dangling"]);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}

/// A git of the user's may be at work: whatever it has locked is left alone until it is done.
#[test]
fn locks_of_somebody_else_are_named_and_never_broken() {
    let sandbox = sandbox();
    let git = sandbox.repo().join(".git");
    let locks = ["index.lock", "HEAD.lock", "packed-refs.lock", "refs/heads/main.lock"];
    for lock in locks {
        fs::write(git.join(lock), "").expect("a file");
    }
    // Work goes on beside them: until the landing only we are written to.
    sandbox.pitcrew(&["run", &sandbox.plan(TWO), "--yes"]).expect(0);
    let before = picture_of_the_user(&sandbox);
    let refused = sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(8);
    assert!(refused.stderr.contains(".lock` is there"), "{refused}");
    assert!(refused.stderr.contains("nothing was changed in your branch"), "{refused}");
    assert_eq!(picture_of_the_user(&sandbox), before);
    for lock in locks {
        fs::remove_file(git.join(lock)).unwrap_or_else(|error| panic!("{lock}: {error}"));
    }
    lands_whole(&sandbox, "plan-1");
}

/// Cuts a file of git's in half; what it was.
fn damage(file: &Path) -> Vec<u8> {
    let good = fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    fs::set_permissions(file, fs::Permissions::from_mode(0o644)).expect("it is ours");
    fs::write(file, &good[..good.len() / 2]).expect("it can be written");
    good
}

#[test]
fn a_damaged_object_of_the_user_is_named_and_a_repair_is_enough() {
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
fn a_damaged_object_of_the_vault_never_reaches_the_user() {
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
    let before = picture_of_the_user(&sandbox);
    let refused = sandbox.pitcrew(&["land", "plan-1", "--yes"]);
    assert_ne!(refused.code, Some(0), "{refused}");
    assert!(refused.stderr.contains("vault.git"), "{refused}");
    assert_eq!(picture_of_the_user(&sandbox), before);
    sandbox.git(&["fsck", "--strict", "--no-dangling"]);
    for (pack, good) in packs.iter().zip(good) {
        fs::write(pack, good).expect("it can be repaired");
    }
    lands_whole(&sandbox, "plan-1");
}

/// Whatever the user's own git tidies up meanwhile.
#[test]
fn a_garbage_collection_that_never_stops_costs_nothing() {
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

/// Hooks are for what the user does; nothing that we do is the user's doing.
#[test]
fn no_hook_of_the_user_runs() {
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
    sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(0).says("landed on main");
    assert_eq!(fs::read_to_string(&loot).unwrap_or_default(), "", "these ran");
}

/// Large files that are elsewhere stay what they are: pointers.
#[test]
fn pointers_to_large_files_go_through_as_they_are() {
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

/// A git in front of the real one: the call with this number is killed in the middle. Boxes do not
/// see the count, so their gits are left alone.
fn git_that_is_killed(sandbox: &Sandbox, number: usize) -> PathBuf {
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

/// Runs and lands the plan with a git whose call of this number is killed; how many calls it took.
#[track_caller]
fn survives_a_killed_git(number: usize) -> usize {
    let mut sandbox = sandbox();
    sandbox.write("core/dirty.txt", "dirty\n");
    let folder = git_that_is_killed(&sandbox, number);
    let path = std::env::var("PATH").expect("there is a path");
    let path = format!("{}:{path}", folder.display());
    let plan = sandbox.plan(TWO);
    let before = picture_of_the_user(&sandbox);
    let mut ended = with_path(&mut sandbox, &path, &["run", &plan, "--yes"]);
    assert_eq!(picture_of_the_user(&sandbox), before);
    if ended.code != Some(0) {
        // It was told, and the next try is another one.
        assert!(is_told(&ended), "call {number}: {ended}");
        ended = with_path(&mut sandbox, &path, &["run", &plan, "--yes"]);
    }
    let ended = ended.expect(0).says("2 of 2 completed");
    let plan = ended.stdout.split_whitespace().next().expect("the plan").to_owned();
    fs::remove_file(sandbox.repo().join("core/dirty.txt")).expect("it is there");
    let landed = with_path(&mut sandbox, &path, &["land", &plan, "--yes"]);
    if landed.code != Some(0) {
        assert!(is_told(&landed), "call {number}: {landed}");
        sandbox.pitcrew(&["land", &plan, "--yes"]).expect(0);
    }
    assert_eq!(sandbox.read("core/copy.txt") + &sandbox.read("ui/copy.txt"), "one\none\n");
    sandbox.git(&["fsck", "--strict", "--no-dangling"]);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    calls_of(&folder)
}

/// Our own git is the real one.
fn with_path(sandbox: &mut Sandbox, path: &str, arguments: &[&str]) -> Finished {
    sandbox.set("PATH", path);
    let ended = sandbox.pitcrew(arguments);
    sandbox.set("PATH", &std::env::var("PATH").expect("there is a path"));
    ended
}

fn is_told(ended: &Finished) -> bool {
    let told = format!("{}{}", ended.stdout, ended.stderr);
    ended.code.is_some_and(|it| (1..=8).contains(&it)) && told.contains("git")
}

/// Each call of git may be the one that is killed: the user's repository is as before, the reason
/// is told, and the next try gets to the end.
#[test]
fn a_git_that_is_killed_in_the_middle_loses_nothing() {
    let all = survives_a_killed_git(usize::MAX >> 1);
    assert!(all > 20, "{all} calls");
    for number in (1..all).step_by(all / 5) {
        survives_a_killed_git(number);
    }
}
