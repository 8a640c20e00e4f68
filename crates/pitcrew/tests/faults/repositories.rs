//! Unusual repositories.

use crate::support::*;
use pitcrew_model::TaskStatus;
use pitcrew_testkit::Sandbox;
use std::fs;

const COPIES: &str = r#"
name = "copies"

[[task]]
id = "copy"
region = "ui"
command = "cat core/one.txt > ui/copy.txt"
"#;

fn run(sandbox: &Sandbox, plan: &str) {
    sandbox.pitcrew(&["run", &sandbox.plan(plan), "--yes"]).expect(0);
}

/// S1-045, S1-051: a dirty tree does not block; agents see the changes, and Pitcrew never commits
/// them.
#[test]
fn uncommitted_work_is_visible_and_never_lands() {
    let sandbox = sandbox();
    sandbox.write("core/one.txt", "not committed\n");
    sandbox.write("core/new.txt", "not even tracked\n");
    let before = snapshot_of_the_user(&sandbox);
    run(&sandbox, &COPIES.replace("core/one.txt", "core/one.txt core/new.txt"));
    assert_eq!(snapshot_of_the_user(&sandbox), before);
    let board = board(&sandbox);
    assert_eq!(board.plans[0].base.as_ref().map(|it| it.dirty_count), Some(2));
    let landed = sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(10);
    assert!(landed.stdout.contains("pitcrew/plan-1-copies"), "{landed}");
    assert_eq!(snapshot_of_the_user(&sandbox), before);
    let at = |path: &str| sandbox.git(&["show", &format!("pitcrew/plan-1-copies:{path}")]);
    assert_eq!(at("ui/copy.txt"), "not committed\nnot even tracked");
    assert_eq!(at("core/one.txt"), "one");
    let files = sandbox.git(&["ls-tree", "-r", "--name-only", "pitcrew/plan-1-copies"]);
    assert!(!files.contains("core/new.txt"), "{files}");
    // Nor in the history: the commit of the task and the merge change its file only.
    let log = ["log", "--format=", "--name-only", "main..pitcrew/plan-1-copies"];
    assert_eq!(sandbox.git(&log), "ui/copy.txt");
    assert_eq!(sandbox.git(&["rev-list", "--count", "main..pitcrew/plan-1-copies"]), "2");
}

/// S1-045: `--base HEAD` refuses a dirty tree and lists the changes.
#[test]
fn base_head_refuses_a_dirty_tree() {
    let sandbox = sandbox();
    sandbox.write("core/one.txt", "not committed\n");
    sandbox.write("core/new.txt", "not tracked\n");
    let before = snapshot_of_the_user(&sandbox);
    let plan = sandbox.plan(COPIES);
    let refused = sandbox.pitcrew(&["run", &plan, "--yes", "--base", "HEAD"]).expect(2);
    for part in ["core/one.txt", "core/new.txt", "commit or stash them"] {
        assert!(refused.stderr.contains(part), "{refused}");
    }
    assert!(sandbox.orchestrator().is_none(), "no orchestrator was started");
    assert!(board(&sandbox).plans.is_empty(), "no plan was made of it");
    assert_eq!(snapshot_of_the_user(&sandbox), before);
    sandbox.commit("now it is");
    sandbox.pitcrew(&["run", &plan, "--yes", "--base", "HEAD"]).expect(0);
}

#[test]
fn unknown_base_is_reported() {
    let sandbox = sandbox();
    let plan = sandbox.plan(COPIES);
    let refused = sandbox.pitcrew(&["run", &plan, "--yes", "--base", "no/such"]).expect(2);
    let output = format!("{}{}", refused.stdout, refused.stderr);
    assert!(output.contains("no/such"), "{refused}");
}

#[test]
fn detached_head_is_not_moved() {
    let sandbox = sandbox();
    sandbox.git(&["checkout", "--quiet", "--detach"]);
    run(&sandbox, COPIES);
    let tip = sandbox.git(&["rev-parse", "HEAD"]);
    let landed = sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(10);
    assert!(landed.stdout.contains("pitcrew/plan-1-copies"), "{landed}");
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), tip);
    assert_eq!(sandbox.git(&["rev-parse", "main"]), tip);
    assert_eq!(sandbox.git(&["show", "pitcrew/plan-1-copies:ui/copy.txt"]), "one");
}

/// Unsupported repositories are refused with a fix, and no state is created.
#[test]
fn unsupported_repositories_are_refused() {
    let sandbox = Sandbox::without_repository(BINARY);
    let plan = sandbox.plan(COPIES);
    let refused = |remedy: &str| {
        for arguments in [&["status"][..], &["run", &plan, "--yes"]] {
            sandbox.pitcrew(arguments).expect(2).notes(remedy);
        }
        assert!(!sandbox.home().join(".local").exists());
    };
    refused("it is not inside a git repository");
    fs::create_dir(sandbox.repo()).expect("a folder");
    sandbox.git(&["init", "--quiet", "--bare"]);
    refused("it is a bare repository");
    fs::remove_dir_all(sandbox.repo()).expect("it can be removed");
    fs::create_dir(sandbox.repo()).expect("a folder");
    sandbox.git(&["init", "--quiet"]);
    refused("its branch has no commit yet");
}

#[test]
fn shallow_clone_works_and_is_reported() {
    let sandbox = sandbox();
    for number in ["two", "three"] {
        sandbox.write("core/one.txt", &format!("{number}\n"));
        sandbox.commit(number);
    }
    let original = sandbox.root().join("original");
    fs::rename(sandbox.repo(), &original).expect("it can be moved");
    let url = format!("file://{}", original.display());
    fs::create_dir(sandbox.repo()).expect("a folder");
    sandbox.git(&["clone", "--quiet", "--depth=1", &url, "."]);
    run(&sandbox, COPIES);
    let board = board(&sandbox);
    let notes = board.plans[0].base.as_ref().expect("it has a base").notes.join("\n");
    assert!(notes.contains("shallow clone"), "{notes}");
    sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(0).says("landed on main");
    assert_eq!(sandbox.read("ui/copy.txt"), "three\n");
    assert_eq!(sandbox.git(&["rev-parse", "--is-shallow-repository"]), "true");
    sandbox.git(&["fsck", "--strict"]);
}

#[test]
fn checkouts_contain_submodules() {
    let sandbox = sandbox();
    let library = sandbox.root().join("library");
    fs::create_dir(&library).expect("a folder");
    let path = library.display().to_string();
    for arguments in [
        &["-C", &path, "init", "--quiet", "--initial-branch=main"][..],
        &["-C", &path, "config", "user.name", "a"],
        &["-C", &path, "config", "user.email", "a@example.org"],
        &["-C", &path, "commit", "--quiet", "--allow-empty", "--message", "first"],
    ] {
        sandbox.git(arguments);
    }
    fs::write(library.join("shared.txt"), "shared\n").expect("a file");
    sandbox.git(&["-C", &path, "add", "--all"]);
    sandbox.git(&["-C", &path, "commit", "--quiet", "--message", "second"]);
    let allow = "protocol.file.allow=always";
    sandbox.git(&["-c", allow, "submodule", "--quiet", "add", &path, "library"]);
    sandbox.commit("with a library");
    run(&sandbox, &COPIES.replace("core/one.txt", "library/shared.txt"));
    sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(0).says("landed on main");
    assert_eq!(sandbox.read("ui/copy.txt"), "shared\n");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}

#[test]
fn paths_may_have_spaces_and_any_letters() {
    let sandbox = sandbox();
    sandbox.write("größe und maß/日本 語.txt", "ja\n");
    sandbox.write("größe und maß/-rf \"quoted\" $HOME.txt", "ja\n");
    sandbox.commit("names");
    let odd = sandbox.root().join("my wörk $(space)");
    fs::rename(sandbox.repo(), &odd).expect("it can be moved");
    std::os::unix::fs::symlink(&odd, sandbox.repo()).expect("a link");
    run(
        &sandbox,
        r#"
name = "größer & \"besser\""
[[task]]
id = "copy"
region = "größe und maß"
script = '''
write "größe und maß/neu – 新.txt" <<END
neu
END
run rm 'größe und maß/日本 語.txt'
complete größer
'''
checks = "test -e 'größe und maß/neu – 新.txt'"
expected_files = "größe und maß/neu – 新.txt"
"#,
    );
    sandbox.pitcrew(&["diff", "copy"]).expect(0).says("neu");
    sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(0).says("landed on main");
    assert_eq!(sandbox.read("größe und maß/neu – 新.txt"), "neu\n");
    assert!(!sandbox.repo().join("größe und maß/日本 語.txt").exists());
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}

#[test]
fn case_only_rename_lands() {
    let sandbox = sandbox();
    run(
        &sandbox,
        "name = \"case\"\n[[task]]\nid = \"a\"\nregion = \"core\"\ncommand = \"mv core/one.txt core/One.txt\"\n",
    );
    sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(0);
    assert_eq!(sandbox.git(&["ls-files", "core"]), "core/One.txt");
}

/// None of our objects are in the user's repository.
#[test]
fn user_gc_removes_nothing_of_ours() {
    let sandbox = sandbox();
    sandbox.write("core/one.txt", "second\n");
    sandbox.commit("second");
    sandbox.write("core/dirty.txt", "dirty\n");
    let gate = sandbox.root().join("gate");
    let steps = format!(
        "run {}\nrun cat core/one.txt core/dirty.txt > ui/copy.txt\ncomplete it",
        wait_at(&gate)
    );
    let plan = format!(
        "name = \"gc\"\n[[task]]\nid = \"copy\"\nregion = \"ui\"\n{}\n[[task]]\nid = \"later\"\nregion = \"core/later\"\ndepends_on = \"copy\"\ncommand = \"mkdir core/later && cat ui/copy.txt > core/later/copy.txt\"\n",
        script(&steps)
    );
    sandbox.pitcrew(&["run", &sandbox.plan(&plan), "--yes", "--detach"]).expect(0);
    await_reached(&gate);
    // The start commit of the plan no longer exists in the user's repository.
    fs::remove_file(sandbox.repo().join("core/dirty.txt")).expect("it is there");
    sandbox.git(&["commit", "--quiet", "--amend", "--message", "another second"]);
    sandbox.git(&["reflog", "expire", "--expire=now", "--all"]);
    sandbox.git(&["gc", "--quiet", "--prune=now"]);
    open_gate(&gate);
    sandbox.pitcrew(&["watch", "plan-1"]).expect(0).says("2 of 2 completed");
    sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(0).says("landed on main");
    assert_eq!(sandbox.read("core/later/copy.txt"), "second\ndirty\n");
    assert!(!sandbox.repo().join("core/dirty.txt").exists());
    sandbox.git(&["fsck", "--strict"]);
}

/// S1-048, S1-050, S1-083: ignored files that agents need are in their checkouts, and never in
/// their work.
#[test]
fn agent_configuration_is_copied_into_checkouts() {
    let sandbox = sandbox();
    sandbox.write(".gitignore", ".claude\n.env\n");
    sandbox.write(".worktreeinclude", ".env\n");
    sandbox.commit("ignored");
    sandbox.write(".claude/agents/reviewer.md", "review\n");
    sandbox.write(".env", "KEY=1\n");
    run(&sandbox, &COPIES.replace("core/one.txt", ".claude/agents/reviewer.md .env"));
    assert_eq!(files_to_land(&sandbox, "plan-1"), ["ui/copy.txt"]);
    sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(0);
    assert_eq!(sandbox.read("ui/copy.txt"), "review\nKEY=1\n");
}

/// S1-043, S1-044, S1-046, S1-049: each worker has a separate checkout next to the
/// repository until the plan has landed.
#[test]
fn checkouts_are_beside_the_repository_until_landing() {
    let sandbox = sandbox();
    run(
        &sandbox,
        &format!(
            "{COPIES}\n[[task]]\nid = \"other\"\nregion = \"core\"\ncommand = \"echo b > core/b.txt\"\n"
        ),
    );
    let path = |task: &str| checkout(&sandbox, task).display().to_string();
    let (copy, other) = (path("copy"), path("other"));
    let folder = sandbox.root().join(".worktrees/repo").display().to_string();
    assert!(copy.starts_with(&folder) && other.starts_with(&folder), "{copy} {other}");
    assert_ne!(copy, other);
    assert!(!fs::exists(format!("{copy}/core/b.txt")).expect("it can be looked at"));
    sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(0);
    pitcrew_testkit::eventually("the checkouts are gone", || {
        (!fs::exists(&copy).ok()? && !fs::exists(&other).ok()?).then_some(())
    });
    assert_eq!(task_of(&board(&sandbox), "copy").status, TaskStatus::Completed);
}
