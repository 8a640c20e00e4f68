//! Landings during a user's own git operation: it is left unchanged, and the result is at a
//! separate branch.

use crate::lab::{Lab, land_order, tree_of, write};
use pitcrew_git::Vault;
use pitcrew_model::{CommitId, LandedAt, PlanBase};
use std::fs;

struct Scene {
    lab: Lab,
    vault: Vault,
    plan: PlanBase,
    head: CommitId,
}

/// A plan that adds `core/a` and changes `README.md`.
fn scene() -> Scene {
    let lab = Lab::new();
    let vault = lab.vault();
    let plan = lab.plan(&vault);
    let head = lab.integrate(&vault, 1, &plan.start, |it| {
        write(&it.join("core/a"), "a\n");
        write(&it.join("README.md"), "# better shop\n");
    });
    Scene { lab, vault, plan, head }
}

impl Scene {
    /// Lands, and asserts that the only change for the user is one new branch.
    #[track_caller]
    fn assert_side(&self, words: &str) {
        let Self { lab, vault, plan, head } = self;
        let (tree, tip) = (tree_of(&lab.user), lab.rev("main"));
        let index = fs::read(lab.user.join(".git/index")).unwrap();
        let user_head = fs::read(lab.user.join(".git/HEAD")).unwrap();
        let landing = vault.land(&land_order(plan, head), &lab.policy, &lab.cancel).unwrap();
        let LandedAt::Side { branch, reason } = &landing.at else { panic!("{landing:?}") };
        assert_eq!(branch, "pitcrew/plan-1-shop");
        assert!(reason.contains(words), "{reason}");
        assert_eq!(lab.rev(branch), landing.commit);
        assert_eq!(lab.rev("main"), tip);
        assert_eq!(tree_of(&lab.user), tree);
        assert_eq!(fs::read(lab.user.join(".git/index")).unwrap(), index);
        assert_eq!(fs::read(lab.user.join(".git/HEAD")).unwrap(), user_head);
        let again = vault.land(&land_order(plan, head), &lab.policy, &lab.cancel).unwrap();
        assert_eq!(again, landing, "asked again, it is the same");
    }
}

#[test]
fn overlapping_dirty_tree_lands_on_a_side_branch() {
    let scene = scene();
    scene.lab.write("README.md", "# dirty\n");
    scene.assert_side("uncommitted changes");
}

#[test]
fn dirty_tree_without_overlap_lands_on_a_side_branch() {
    let scene = scene();
    scene.lab.write("api/lib.rs", "dirty\n");
    scene.assert_side("uncommitted changes");
}

#[test]
fn staged_change_lands_on_a_side_branch() {
    let scene = scene();
    scene.lab.write("new.txt", "staged\n");
    scene.lab.git(&["add", "new.txt"]);
    scene.assert_side("uncommitted changes");
}

#[test]
fn untracked_file_in_the_way_lands_on_a_side_branch() {
    let scene = scene();
    scene.lab.write("core/a", "mine\n");
    scene.assert_side("core/a");
}

#[test]
fn ignored_file_in_the_way_lands_on_a_side_branch() {
    let scene = scene();
    fs::write(scene.lab.user.join(".git/info/exclude"), "a\n").unwrap();
    scene.lab.write("core/a", "precious and ignored\n");
    scene.assert_side("core/a");
}

#[test]
fn locked_index_lands_on_a_side_branch() {
    let scene = scene();
    fs::write(scene.lab.user.join(".git/index.lock"), "").unwrap();
    scene.assert_side("index.lock");
}

#[test]
fn merge_in_progress_lands_on_a_side_branch() {
    let scene = scene();
    let lab = &scene.lab;
    lab.git(&["checkout", "--quiet", "-b", "other"]);
    lab.write("other.txt", "other\n");
    lab.commit("other");
    lab.git(&["checkout", "--quiet", "main"]);
    lab.git(&["merge", "--quiet", "--no-ff", "--no-commit", "other"]);
    scene.assert_side("a merge is in progress");
}

#[test]
fn rebase_in_progress_lands_on_a_side_branch() {
    let scene = scene();
    let lab = &scene.lab;
    lab.git(&["checkout", "--quiet", "-b", "other"]);
    lab.write("api/lib.rs", "other\n");
    lab.commit("other");
    lab.git(&["checkout", "--quiet", "main"]);
    lab.write("api/lib.rs", "main\n");
    lab.commit("main");
    assert!(!lab.try_git(&lab.user, &["rebase", "--quiet", "other"], "").success());
    scene.assert_side("being rebased");
}

#[test]
fn detached_start_lands_on_a_side_branch() {
    let lab = Lab::new();
    lab.git(&["checkout", "--quiet", "--detach"]);
    let vault = lab.vault();
    let plan = lab.plan(&vault);
    let head = lab.integrate(&vault, 1, &plan.start, |it| write(&it.join("core/a"), "a\n"));
    Scene { lab, vault, plan, head }.assert_side("no branch");
}

#[test]
fn missing_branch_lands_on_a_side_branch() {
    let scene = scene();
    let Scene { lab, vault, plan, head } = &scene;
    lab.git(&["checkout", "--quiet", "-b", "other"]);
    lab.git(&["branch", "--quiet", "-D", "main"]);
    let landing = vault.land(&land_order(plan, head), &lab.policy, &lab.cancel).unwrap();
    assert!(matches!(&landing.at, LandedAt::Side { reason, .. } if reason.contains("gone")));
}

#[test]
fn existing_side_branch_is_not_changed() {
    let scene = scene();
    let Scene { lab, vault, plan, head } = &scene;
    lab.git(&["branch", "pitcrew/plan-1-shop"]);
    lab.write("README.md", "# dirty\n");
    let landing = vault.land(&land_order(plan, head), &lab.policy, &lab.cancel).unwrap();
    assert!(
        matches!(&landing.at, LandedAt::Side { branch, .. } if branch == "pitcrew/plan-1-shop-2")
    );
    assert_eq!(lab.rev("pitcrew/plan-1-shop"), plan.tip);
}
