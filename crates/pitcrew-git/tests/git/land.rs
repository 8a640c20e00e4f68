use crate::lab::{Lab, failed, land_order, land_tasks, read, write};
use pitcrew_git::LandPlan;
use pitcrew_model::{Failure, History, LandedAt};
use std::fs;

fn base(branch: &str) -> LandedAt {
    LandedAt::Base { branch: branch.into() }
}

/// The user commits one merge with one commit for each task below it. The agents' own commits are
/// not included.
#[test]
fn clean_branch_is_fast_forwarded_to_one_merge() {
    let lab = Lab::new();
    lab.git(&["config", "user.name", "Grace"]);
    lab.git(&["config", "user.email", "grace@example.org"]);
    let vault = lab.vault();
    let plan = lab.plan(&vault);
    let one = lab.integrate(&vault, 1, &plan.start, |it| write(&it.join("core/a"), "a\n"));
    let two = lab.integrate(&vault, 2, &one, |it| write(&it.join("api/b"), "b\n"));
    lab.write("untracked.txt", "not in the way\n");
    let order = land_tasks(&plan, &[&one, &two]);
    let landing = vault.land(&order, &lab.policy, &lab.cancel).unwrap();
    assert_eq!(landing.at, base("main"));
    assert_eq!((landing.files_count, landing.insertions, landing.deletions), (2, 2, 0));
    assert_eq!(landing.commits_count, 3);
    assert_eq!(lab.rev("main"), landing.commit);
    assert_eq!(lab.git(&["status", "--porcelain"]), "?? untracked.txt");
    assert_eq!(read(&lab.user.join("core/a")), "a\n");
    let message = lab.git(&["log", "-1", "--format=%B"]);
    let expected = "Improve the shop\n\n- part-1: wrote part 1\n- part-2: wrote part 2\n\n\
                    Pitcrew-Plan: plan-1";
    assert_eq!(message.trim(), expected);
    let log = lab.git(&["log", "--topo-order", "--format=%an <%ae>|%cn|%s", "main"]);
    let by = |subject: &str| format!("Grace <grace@example.org>|Grace|{subject}");
    let lines: Vec<String> = log.lines().map(str::to_owned).collect();
    let expected = [by("Improve the shop"), by("part-2: wrote part 2"), by("part-1: wrote part 1")];
    assert_eq!(lines[..3], expected, "{log}");
    assert_eq!(lines.len(), 4, "nothing of the agents is in the history: {log}");
    assert_eq!(lab.git(&["log", "--first-parent", "--format=%s"]), "Improve the shop\nfirst");
    let trailers = lab.git(&["log", "-1", "--format=%(trailers:only)", "main^2"]);
    let expected = "Pitcrew-Task: task-2\nCo-authored-by: claude <claude@pitcrew.invalid>";
    assert_eq!(trailers.trim(), expected);
    let changed = lab.git(&["diff", "--name-only", "main^2^", "main^2"]);
    assert_eq!(changed, "api/b");
    assert_eq!(lab.git(&["for-each-ref", "refs/pitcrew"]), "", "nothing of ours is left");
    let again = vault.land(&order, &lab.policy, &lab.cancel).unwrap();
    assert_eq!(again, landing, "asked again, it is the same landing");
}

#[test]
fn squashed_landing_is_one_commit_with_the_given_message() {
    let lab = Lab::new();
    let vault = lab.vault();
    let plan = lab.plan(&vault);
    let one = lab.integrate(&vault, 1, &plan.start, |it| write(&it.join("core/a"), "a\n"));
    let two = lab.integrate(&vault, 2, &one, |it| write(&it.join("api/b"), "b\n"));
    let message = Some("Add a and b\n\nBoth were missing.".to_owned());
    let order = land_tasks(&plan, &[&one, &two]);
    let order = LandPlan { history: History::Squash, message, ..order };
    let landing = vault.land(&order, &lab.policy, &lab.cancel).unwrap();
    assert_eq!((landing.commits_count, landing.files_count), (1, 2));
    assert_eq!(lab.git(&["log", "-1", "--format=%P"]), plan.tip.0);
    let body = lab.git(&["log", "-1", "--format=%B"]);
    assert_eq!(body.trim(), "Add a and b\n\nBoth were missing.\n\nPitcrew-Plan: plan-1");
}

#[test]
fn linear_landing_puts_tasks_on_top_of_the_moved_branch() {
    let lab = Lab::new();
    let vault = lab.vault();
    let plan = lab.plan(&vault);
    let one = lab.integrate(&vault, 1, &plan.start, |it| write(&it.join("core/a"), "a\n"));
    let two = lab.integrate(&vault, 2, &one, |it| write(&it.join("api/b"), "b\n"));
    lab.write("theirs.txt", "theirs\n");
    let theirs = lab.commit("theirs");
    let order = land_tasks(&plan, &[&one, &two]);
    let order = LandPlan { history: History::Linear, ..order };
    let landing = vault.land(&order, &lab.policy, &lab.cancel).unwrap();
    assert_eq!((landing.commits_count, landing.files_count), (2, 2));
    assert_eq!(
        lab.git(&["log", "-2", "--format=%s"]),
        "part-2: wrote part 2\npart-1: wrote part 1"
    );
    assert_eq!(lab.git(&["rev-parse", "main~2"]), theirs.0);
    assert_eq!(lab.git(&["rev-list", "--merges", "main"]), "");
    assert_eq!(read(&lab.user.join("theirs.txt")), "theirs\n");
    let again = vault.land(&order, &lab.policy, &lab.cancel).unwrap();
    assert_eq!(again, landing, "asked again, it is the same landing");
}

#[test]
fn branch_that_is_not_checked_out_is_moved() {
    let lab = Lab::new();
    let vault = lab.vault();
    let plan = lab.plan(&vault);
    let head = lab.integrate(&vault, 1, &plan.start, |it| write(&it.join("core/a"), "a\n"));
    lab.git(&["checkout", "--quiet", "-b", "elsewhere"]);
    lab.write("dirty.txt", "dirty\n");
    let landing = vault.land(&land_order(&plan, &head), &lab.policy, &lab.cancel).unwrap();
    assert_eq!(landing.at, base("main"));
    assert_eq!(lab.rev("main"), landing.commit);
    assert_eq!(lab.rev("HEAD"), plan.tip);
    assert_eq!(lab.git(&["status", "--porcelain"]), "?? dirty.txt");
}

#[test]
fn diverged_branch_is_merged_and_checked_again() {
    let lab = Lab::new();
    let vault = lab.vault();
    let plan = lab.plan(&vault);
    let head = lab.integrate(&vault, 1, &plan.start, |it| write(&it.join("core/a"), "a\n"));
    lab.write("theirs.txt", "theirs\n");
    let theirs = lab.commit("theirs");
    let order = LandPlan {
        checks: vec!["test -f core/a && test ! -f theirs.txt".into()],
        ..land_order(&plan, &head)
    };
    let failure = failed(vault.land(&order, &lab.policy, &lab.cancel));
    assert!(matches!(failure, Failure::Checks { .. }), "{failure:?}");
    assert_eq!(lab.rev("main"), theirs);
    let order = LandPlan { checks: vec!["test -f theirs.txt".into()], ..order };
    let landing = vault.land(&order, &lab.policy, &lab.cancel).unwrap();
    assert_eq!(landing.at, base("main"));
    assert_eq!(lab.git(&["log", "-1", "--format=%P"]), theirs.0);
    assert_eq!(lab.git(&["status", "--porcelain"]), "");
}

#[test]
fn conflict_changes_nothing() {
    let lab = Lab::new();
    let vault = lab.vault();
    let plan = lab.plan(&vault);
    let head = lab.integrate(&vault, 1, &plan.start, |it| write(&it.join("README.md"), "ours\n"));
    lab.write("README.md", "theirs\n");
    let theirs = lab.commit("theirs");
    let order = land_order(&plan, &head);
    let failure = failed(vault.land(&order, &lab.policy, &lab.cancel));
    assert_eq!(failure, Failure::Conflict { paths: vec!["README.md".into()], with: Vec::new() });
    assert_eq!(lab.rev("main"), theirs);
    assert_eq!(lab.git(&["branch", "--list", "pitcrew/*"]), "");
}

#[test]
fn clean_linked_worktree_is_fast_forwarded() {
    let lab = Lab::new();
    let vault = lab.vault();
    let plan = lab.plan(&vault);
    let head = lab.integrate(&vault, 1, &plan.start, |it| write(&it.join("core/a"), "a\n"));
    lab.git(&["checkout", "--quiet", "-b", "elsewhere"]);
    let linked = lab.folder.path().canonicalize().unwrap().join("linked tree");
    lab.git(&["worktree", "add", "--quiet", linked.to_str().unwrap(), "main"]);
    let landing = vault.land(&land_order(&plan, &head), &lab.policy, &lab.cancel).unwrap();
    assert_eq!(landing.at, base("main"));
    assert_eq!(read(&linked.join("core/a")), "a\n");
    assert_eq!(lab.git_in(&linked, &["status", "--porcelain"]), "");
}

/// The user's uncommitted changes at the start of the plan are never committed.
#[test]
fn users_uncommitted_work_does_not_land() {
    let lab = Lab::new();
    lab.write("core/lib.rs", "pub fn core() {}\n// dirty\n");
    lab.write("untracked.txt", "untracked\n");
    let vault = lab.vault();
    let plan = lab.plan(&vault);
    assert_eq!(plan.dirty_count, 2);
    let head = lab.integrate(&vault, 1, &plan.start, |it| {
        assert_eq!(read(&it.join("untracked.txt")), "untracked\n");
        write(&it.join("api/b"), "b\n");
    });
    lab.git(&["stash", "--quiet", "--include-untracked"]);
    let order = land_tasks(&plan, &[&head]);
    let landing = vault.land(&order, &lab.policy, &lab.cancel).unwrap();
    assert_eq!((landing.at, landing.files_count), (base("main"), 1));
    assert_eq!(lab.git(&["rev-list", "main"]).lines().count(), 3, "a task, a merge, the first");
    assert_eq!(lab.git(&["diff", "--name-only", &plan.tip.0, "main^2"]), "api/b");
    assert_eq!(read(&lab.user.join("core/lib.rs")), "pub fn core() {}\n");
    assert!(!lab.user.join("untracked.txt").exists());
    lab.git(&["stash", "pop", "--quiet"]);
    assert_eq!(read(&lab.user.join("core/lib.rs")), "pub fn core() {}\n// dirty\n");
}

#[test]
fn plan_without_changes_lands_nothing() {
    let lab = Lab::new();
    let vault = lab.vault();
    let plan = lab.plan(&vault);
    let landing = vault.land(&land_order(&plan, &plan.start), &lab.policy, &lab.cancel).unwrap();
    assert_eq!((landing.commit, landing.files_count), (plan.tip, 0));
}

#[test]
fn second_landing_adds_only_later_work() {
    let lab = Lab::new();
    let vault = lab.vault();
    let plan = lab.plan(&vault);
    let one = lab.integrate(&vault, 1, &plan.start, |it| write(&it.join("core/a"), "a\n"));
    vault.land(&land_tasks(&plan, &[&one]), &lab.policy, &lab.cancel).unwrap();
    lab.write("core/a", "a, edited by the user\n");
    lab.commit("edited");
    let two = lab.integrate(&vault, 2, &one, |it| write(&it.join("core/b"), "b\n"));
    let order = land_tasks(&plan, &[&one, &two]);
    let landing = vault.land(&order, &lab.policy, &lab.cancel).unwrap();
    assert_eq!((landing.at, landing.files_count), (base("main"), 1));
    assert_eq!(landing.commits_count, 2, "the task that is new, and the merge");
    assert_eq!(read(&lab.user.join("core/a")), "a, edited by the user\n");
}

#[test]
fn interrupted_landing_is_finished() {
    let lab = Lab::new();
    let vault = lab.vault();
    let plan = lab.plan(&vault);
    let head = lab.integrate(&vault, 1, &plan.start, |it| write(&it.join("core/a"), "a\n"));
    let lock = lab.user.join(".git/refs/heads/main.lock");
    fs::write(&lock, "").unwrap();
    let order = land_order(&plan, &head);
    let blocked = vault.land(&order, &lab.policy, &lab.cancel).unwrap();
    assert!(matches!(blocked.at, LandedAt::Side { .. }), "{blocked:?}");
    fs::remove_file(&lock).unwrap();
    lab.git(&["reset", "--quiet", "--hard"]);
    let landed = vault.land(&order, &lab.policy, &lab.cancel).unwrap();
    assert_eq!((&landed.commit, landed.at), (&blocked.commit, base("main")));
}

#[test]
fn second_try_in_another_form_is_built_anew() {
    let lab = Lab::new();
    let vault = lab.vault();
    let plan = lab.plan(&vault);
    let one = lab.integrate(&vault, 1, &plan.start, |it| write(&it.join("core/a"), "a\n"));
    lab.write("README.md", "not committed\n");
    let order = land_tasks(&plan, &[&one]);
    let blocked = vault.land(&order, &lab.policy, &lab.cancel).unwrap();
    assert!(matches!(blocked.at, LandedAt::Side { .. }), "{blocked:?}");
    lab.git(&["checkout", "--quiet", "README.md"]);
    let message = Some("Add a".to_owned());
    let order = LandPlan { history: History::Squash, message, ..order };
    let landed = vault.land(&order, &lab.policy, &lab.cancel).unwrap();
    assert_eq!((landed.at, landed.commits_count), (base("main"), 1));
    assert_eq!(lab.git(&["log", "-1", "--format=%s"]), "Add a");
}
