use crate::lab::{Lab, PLAN, land_order, write};
use pitcrew_git::PreparePlan;
use pitcrew_model::{Failure, PlanId};
use std::fs;

fn order(base: Option<&str>, clean_base: bool) -> PreparePlan {
    PreparePlan { plan: PLAN, base: base.map(str::to_owned), clean_base, include: Vec::new() }
}

#[test]
fn clean_tree_starts_from_the_tip_of_the_current_branch() {
    let lab = Lab::new();
    let vault = lab.vault();
    let base = lab.plan(&vault);
    assert_eq!(base.branch.as_deref(), Some("main"));
    assert_eq!(base.tip, lab.rev("HEAD"));
    assert_eq!(base.start, base.tip);
    assert_eq!((base.dirty_count, base.notes.len()), (0, 0));
    assert_eq!(
        lab.vault_git(&vault, &["rev-parse", "refs/pitcrew/plans/plan-1/head"]),
        base.start.0
    );
}

#[test]
fn same_plan_gets_the_same_base_again() {
    let lab = Lab::new();
    lab.write("new.txt", "dirty\n");
    let vault = lab.vault();
    let base = lab.plan(&vault);
    lab.write("new.txt", "dirtier\n");
    lab.commit("moved on");
    assert_eq!(lab.plan(&vault), base);
    drop(vault);
    assert_eq!(lab.plan(&lab.vault()), base, "also after a restart");
}

/// Opening the vault requires that no git is running: the journal is locked and processes of an
/// earlier run were ended.
#[test]
fn locks_of_a_killed_git_are_removed_at_restart() {
    let lab = Lab::new();
    let vault = lab.vault();
    let names = ["refs/pitcrew/plans/plan-1/head.lock", "HEAD.lock", "packed-refs.lock"];
    let locks = names.map(|it| vault.layout().vault.join(it));
    for lock in &locks {
        write(lock, "");
    }
    drop(vault);
    let vault = lab.vault();
    assert!(locks.iter().all(|it| !it.exists()));
    assert_eq!(lab.plan(&vault).tip, lab.rev("HEAD"));
}

#[test]
fn plan_includes_commits_made_after_the_vault() {
    let lab = Lab::new();
    let vault = lab.vault();
    lab.write("later.txt", "later\n");
    let later = lab.commit("later");
    assert_eq!(lab.plan(&vault).tip, later);
    assert_eq!(lab.vault_git(&vault, &["show", &format!("{later}:later.txt")]), "later");
}

#[test]
fn base_may_be_another_branch_or_a_commit() {
    let lab = Lab::new();
    let first = lab.rev("HEAD");
    lab.git(&["branch", "release"]);
    lab.commit("second");
    lab.write("dirty.txt", "x\n");
    let vault = lab.vault();
    let release = vault.prepare_plan(&order(Some("release"), false), &lab.cancel).expect("base");
    assert_eq!((release.branch.as_deref(), &release.start), (Some("release"), &first));
    assert_eq!(release.dirty_count, 0, "the dirty tree belongs to another branch");
    let by_commit = PreparePlan { plan: PlanId(2), ..order(Some(&first.0), false) };
    let by_commit = vault.prepare_plan(&by_commit, &lab.cancel).expect("base");
    assert_eq!((by_commit.branch, by_commit.start), (None, first));
}

#[test]
fn unknown_base_is_refused_by_name() {
    let lab = Lab::new();
    for name in ["nowhere", "--all", "a b", "refs/heads/"] {
        let failure =
            lab.vault().prepare_plan(&order(Some(name), false), &lab.cancel).expect_err(name);
        assert!(failure.to_string().contains(name), "{failure}");
    }
}

#[test]
fn detached_head_is_a_base_without_a_branch() {
    let lab = Lab::new();
    lab.git(&["checkout", "--quiet", "--detach"]);
    lab.write("dirty.txt", "x\n");
    let base = lab.plan(&lab.vault());
    assert_eq!(base.branch, None);
    assert_eq!(base.dirty_count, 1);
}

/// S1-045, S1-086: if a clean base is required, uncommitted changes are refused by name.
#[test]
fn clean_base_refuses_a_dirty_tree_by_path() {
    let lab = Lab::new();
    lab.write("core/lib.rs", "changed\n");
    lab.write("näw file.txt", "new\n");
    let vault = lab.vault();
    let failure =
        vault.prepare_plan(&order(Some("HEAD"), true), &lab.cancel).expect_err("a refusal");
    let Failure::Git { message } = &failure else { panic!("{failure:?}") };
    assert!(message.contains("core/lib.rs") && message.contains("näw file.txt"), "{message}");
    assert!(message.contains("commit or stash"), "{message}");
    lab.commit("clean now");
    let base = vault.prepare_plan(&order(Some("HEAD"), true), &lab.cancel).expect("clean");
    assert_eq!(base.branch.as_deref(), Some("main"));
}

#[test]
fn shallow_clone_is_noted() {
    let lab = Lab::new();
    lab.commit("second");
    let source = format!("file://{}", lab.user.display());
    let shallow = lab.folder.path().join("shallow");
    lab.git(&["clone", "--quiet", "--depth=1", &source, shallow.to_str().unwrap()]);
    let lab = Lab { user: shallow.canonicalize().unwrap(), ..lab };
    let vault = lab.vault();
    let base = lab.plan(&vault);
    assert!(base.notes.iter().any(|it| it.contains("shallow")), "{:?}", base.notes);
    let head = lab.integrate(&vault, 1, &base.start, |path| {
        fs::write(path.join("new.txt"), "new\n").unwrap();
    });
    let landing = vault
        .land(&land_order(&base, &head), &lab.policy, &lab.cancel)
        .expect("a shallow clone can be landed on");
    assert_eq!(lab.rev("main"), landing.commit);
}

#[test]
fn partial_clone_is_noted() {
    let lab = Lab::new();
    lab.git(&["config", "uploadpack.allowFilter", "true"]);
    let source = format!("file://{}", lab.user.display());
    let partial = lab.folder.path().join("partial");
    lab.git(&["clone", "--quiet", "--filter=blob:none", &source, partial.to_str().unwrap()]);
    let lab = Lab { user: partial.canonicalize().unwrap(), ..lab };
    let vault = lab.vault();
    let base = lab.plan(&vault);
    assert!(base.notes.iter().any(|it| it.contains("partial")), "{:?}", base.notes);
}

#[test]
fn unfinished_vault_is_made_again() {
    let lab = Lab::new();
    let layout = lab.vault().layout().clone();
    fs::remove_dir_all(&layout.vault).unwrap();
    fs::create_dir_all(layout.vault.with_file_name("vault.git.new/objects")).unwrap();
    let vault = lab.vault();
    assert_eq!(lab.plan(&vault).start, lab.rev("HEAD"));
    assert!(!layout.vault.with_file_name("vault.git.new").exists());
    let config = lab.vault_git(&vault, &["config", "--list"]);
    for setting in
        ["gc.auto=0", "gc.pruneexpire=never", "transfer.fsckobjects=true", "core.fsync=all"]
    {
        assert!(config.contains(setting), "{setting}");
    }
}
