use crate::lab::{Lab, attempt, read, write};
use pitcrew_git::{AttemptName, CheckoutKind, PrepareCheckout};
use pitcrew_model::{AttemptId, Failure, PlanId, TaskId};
use std::{fs, os::unix::fs::PermissionsExt};

/// S1-043, S1-044, S1-046, S1-047, S1-049: each worker has its own checkout, beside the repository.
#[test]
fn checkout_is_a_separate_repository_beside_the_users() {
    let lab = Lab::new();
    let vault = lab.vault();
    let base = lab.plan(&vault);
    let path = lab.checkout(&vault, &attempt(1), &base.start).path;
    assert_eq!(path, lab.user.parent().unwrap().join(".worktrees/shop/task-1-work"));
    assert_eq!(read(&path.join("core/lib.rs")), "pub fn core() {}\n");
    assert_eq!(lab.git_in(&path, &["status", "--porcelain"]), "");
    assert_eq!(
        lab.git_in(&path, &["symbolic-ref", "--short", "HEAD"]),
        "pitcrew/plan-1/task-1-work/a1"
    );
    assert_eq!(lab.git_in(&path, &["remote"]), "");
    let config = lab.git_in(&path, &["config", "--local", "--list"]);
    for setting in [
        "commit.gpgsign=false",
        "gc.auto=0",
        "core.hookspath=/dev/null",
        "user.name=Pitcrew worker",
    ] {
        assert!(config.contains(setting), "{setting}: {config}");
    }
    write(&path.join("core/lib.rs"), "changed\n");
    lab.git_in(&path, &["commit", "--quiet", "--all", "-m", "agents may commit"]);
    assert_eq!(lab.git(&["status", "--porcelain"]), "", "the user sees nothing of it");
    let other = lab.checkout(&vault, &attempt(2), &base.start).path;
    assert_ne!(other, path);
    assert_eq!(read(&other.join("core/lib.rs")), "pub fn core() {}\n");
}

/// S1-052: tasks with the same name do not collide between plans or attempts.
#[test]
fn names_do_not_collide_between_plans_and_attempts() {
    let lab = Lab::new();
    let vault = lab.vault();
    let base = lab.plan(&vault);
    let first = attempt(1);
    let again = AttemptName { attempt: AttemptId(2), number: 2, ..first.clone() };
    let other =
        AttemptName { attempt: AttemptId(3), plan: PlanId(2), task: TaskId(9), ..first.clone() };
    let mut branches = Vec::new();
    let mut paths = Vec::new();
    for name in [&first, &again, &other] {
        let path = lab.checkout(&vault, name, &base.start).path;
        branches.push(lab.git_in(&path, &["symbolic-ref", "--short", "HEAD"]));
        paths.push(path.file_name().unwrap().to_str().unwrap().to_owned());
    }
    assert_eq!(paths, ["task-1-work", "task-1-work-a2", "task-9-work"]);
    assert_eq!(
        branches,
        [
            "pitcrew/plan-1/task-1-work/a1",
            "pitcrew/plan-1/task-1-work/a2",
            "pitcrew/plan-2/task-9-work/a1"
        ]
    );
}

#[test]
fn ready_checkout_is_reused_with_its_work() {
    let lab = Lab::new();
    let vault = lab.vault();
    let base = lab.plan(&vault);
    let path = lab.checkout(&vault, &attempt(1), &base.start).path;
    write(&path.join("work.txt"), "work\n");
    assert_eq!(lab.checkout(&vault, &attempt(1), &base.start).path, path);
    assert_eq!(read(&path.join("work.txt")), "work\n");
}

#[test]
fn unfinished_checkout_is_made_again() {
    let lab = Lab::new();
    let vault = lab.vault();
    let base = lab.plan(&vault);
    let path = lab.checkout(&vault, &attempt(1), &base.start).path;
    let record = vault.layout().vault.join("pitcrew/attempts/attempt-1/checkout.json");
    fs::write(&record, read(&record).replace("\"ready\"", "\"making\"")).unwrap();
    fs::remove_file(path.join("core/lib.rs")).unwrap();
    fs::remove_file(path.join(".git/index")).unwrap();
    assert_eq!(lab.checkout(&vault, &attempt(1), &base.start).path, path);
    assert_eq!(lab.git_in(&path, &["status", "--porcelain"]), "");
}

#[test]
fn foreign_folder_is_not_used() {
    let lab = Lab::new();
    let vault = lab.vault();
    let base = lab.plan(&vault);
    let taken = vault.layout().checkouts.join("task-1-work");
    write(&taken.join("precious.txt"), "precious\n");
    let path = lab.checkout(&vault, &attempt(1), &base.start).path;
    assert_eq!(path.file_name().unwrap(), "task-1-work-2");
    assert_eq!(read(&taken.join("precious.txt")), "precious\n");
}

#[test]
fn setup_runs_in_the_checkout_and_its_files_are_not_work() {
    let lab = Lab::new();
    let vault = lab.vault();
    let base = lab.plan(&vault);
    let order = PrepareCheckout {
        kind: CheckoutKind::Task,
        name: attempt(1),
        start: base.start.clone(),
        setup: vec!["echo made > 'made [by] setup.txt'".into(), "test -f README.md".into()],
    };
    let path = vault.prepare_checkout(&order, &lab.policy, &lab.cancel, &|_| {}).unwrap().path;
    assert_eq!(read(&path.join("made [by] setup.txt")), "made\n");
    let work = lab.collect(&vault, &attempt(1), &path, &base.start, &[]).unwrap();
    assert_eq!((work.files_count, work.commit), (0, base.start));
}

#[test]
fn failed_setup_is_reported_with_output_and_leaves_nothing() {
    let lab = Lab::new();
    let vault = lab.vault();
    let base = lab.plan(&vault);
    let order = PrepareCheckout {
        kind: CheckoutKind::Task,
        name: attempt(1),
        start: base.start.clone(),
        setup: vec!["echo no such tool >&2; exit 3".into(), "touch never".into()],
    };
    let failure =
        vault.prepare_checkout(&order, &lab.policy, &lab.cancel, &|_| {}).expect_err("a failure");
    let Failure::Setup { code, output, .. } = failure else { panic!("{failure:?}") };
    assert_eq!((code, output.as_str()), (Some(3), "no such tool\n"));
    assert!(!vault.layout().checkouts.join("task-1-work").exists());
}

#[test]
fn checkout_of_an_unknown_commit_fails() {
    let lab = Lab::new();
    let vault = lab.vault();
    let start = pitcrew_model::CommitId("1".repeat(40));
    let order =
        PrepareCheckout { name: attempt(1), kind: CheckoutKind::Task, start, setup: Vec::new() };
    let failure =
        vault.prepare_checkout(&order, &lab.policy, &lab.cancel, &|_| {}).expect_err("a failure");
    assert!(matches!(failure, Failure::Checkout { .. }), "{failure:?}");
}

#[test]
fn cancelled_operation_is_interrupted() {
    let lab = Lab::new();
    let vault = lab.vault();
    let base = lab.plan(&vault);
    lab.cancel.cancel();
    let order = PrepareCheckout {
        name: attempt(1),
        kind: CheckoutKind::Task,
        start: base.start,
        setup: Vec::new(),
    };
    let failure =
        vault.prepare_checkout(&order, &lab.policy, &lab.cancel, &|_| {}).expect_err("a failure");
    assert_eq!(failure, Failure::Interrupted);
}

/// The user's own garbage collection removes nothing from the vault.
#[test]
fn users_gc_does_not_break_a_checkout() {
    let lab = Lab::new();
    lab.git(&["checkout", "--quiet", "-b", "doomed"]);
    lab.write("doomed.txt", "doomed\n");
    lab.commit("doomed");
    let vault = lab.vault();
    let base = lab.plan(&vault);
    let path = lab.checkout(&vault, &attempt(1), &base.start).path;
    lab.git(&["checkout", "--quiet", "main"]);
    lab.git(&["branch", "--quiet", "-D", "doomed"]);
    lab.git(&["reflog", "expire", "--expire=now", "--all"]);
    lab.git(&["gc", "--quiet", "--prune=now"]);
    lab.git_in(&path, &["fsck", "--full"]);
    write(&path.join("more.txt"), "more\n");
    let work = lab.collect(&vault, &attempt(1), &path, &base.start, &[]).unwrap();
    assert_eq!(work.files_count, 1);
    let second = lab.checkout(&vault, &attempt(2), &work.commit).path;
    assert_eq!(read(&second.join("doomed.txt")), "doomed\n");
}

/// S1-004, S1-036: the folder and the branch of a sub-task use its name.
#[test]
fn sub_task_checkout_is_named_after_the_sub_task() {
    let lab = Lab::new();
    let vault = lab.vault();
    let start = lab.plan(&vault).start;
    let (name, kind) = (attempt(1), CheckoutKind::Subtask);
    let order = PrepareCheckout { name, kind, start, setup: Vec::new() };
    let path = vault.prepare_checkout(&order, &lab.policy, &lab.cancel, &|_| {}).unwrap().path;
    assert_eq!(path, vault.layout().checkouts.join("subtask-1-work"));
    let branch = lab.git_in(&path, &["symbolic-ref", "HEAD"]);
    assert_eq!(branch, "refs/heads/pitcrew/plan-1/subtask-1-work/a1");
}

/// A file of a checkout may have any mode, so the folder above keeps other users out.
#[test]
fn checkouts_folder_is_accessible_only_by_the_user() {
    let lab = Lab::new();
    let folder = lab.user.parent().unwrap().join(".worktrees/shop");
    let mode = || folder.metadata().unwrap().permissions().mode() & 0o7777;
    let vault = lab.vault();
    let base = lab.plan(&vault);
    lab.checkout(&vault, &attempt(1), &base.start);
    assert_eq!(mode(), 0o700);
    // The mode that an earlier version used.
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    drop(vault);
    let vault = lab.vault();
    assert_eq!(mode(), 0o700);
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    lab.checkout(&vault, &attempt(2), &base.start);
    assert_eq!(mode(), 0o700);
}

/// Setup runs code of the repository, in a box. Links that it leaves must not be followed outside.
#[test]
fn link_made_by_setup_is_not_followed() {
    for script in [
        "ln -sf '{outside}' .git/info/exclude",
        "rm -r .git/info && ln -s '{folder}' .git/info",
        "rm -f .git/info/exclude && mkfifo .git/info/exclude",
    ] {
        let lab = Lab::new();
        let vault = lab.vault();
        let start = lab.plan(&vault).start;
        let folder = lab.home().join("kept");
        let outside = folder.join("exclude");
        write(&outside, "kept\n");
        let script = script.replace("{outside}", outside.to_str().unwrap());
        let script = script.replace("{folder}", folder.to_str().unwrap());
        let setup = vec![format!("{script}; echo made > made.txt")];
        let (name, kind) = (attempt(1), CheckoutKind::Task);
        let order = PrepareCheckout { name, kind, start, setup };
        let made = vault.prepare_checkout(&order, &lab.policy, &lab.cancel, &|_| {});
        assert_eq!(read(&outside), "kept\n", "{script}");
        match made {
            Ok(checkout) => {
                let exclude = read(&checkout.path.join(".git/info/exclude"));
                assert!(exclude.contains("/made.txt"), "{script}: {exclude}");
            }
            Err(failure) => assert!(script.contains("ln -s "), "{script}: {failure}"),
        }
    }
}
