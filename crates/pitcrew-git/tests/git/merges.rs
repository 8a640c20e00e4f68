//! Merges use only Pitcrew's settings, and their results are judged like an agent's work.

use crate::lab::{Lab, PLAN, attempt, failed, land_order, verify_order, write, zone};
use pitcrew_git::{PullWork, Vault, Verify};
use pitcrew_model::{AttemptId, CommitId, Failure, RefusalKind, Zone};
use std::{fs, os::unix::fs::symlink, path::Path};

const LINES: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";

fn work(
    lab: &Lab,
    vault: &Vault,
    number: u64,
    start: &CommitId,
    edit: impl FnOnce(&Path),
) -> CommitId {
    let path = lab.checkout(vault, &attempt(number), start).path;
    edit(&path);
    lab.collect(vault, &attempt(number), &path, start, &[]).expect("work").commit
}

/// A folder whose files are all moved, while another side adds a file: by default, git would move
/// that file too.
fn lab_with_a_folder() -> Lab {
    let lab = Lab::new();
    lab.write("core/sub/a.rs", LINES);
    lab.write("core/sub/b.rs", format!("{LINES}eight\n"));
    lab.commit("a folder");
    lab
}

fn move_folder(path: &Path) {
    fs::rename(path.join("core/sub"), path.join("moved")).unwrap();
}

/// The link is valid at its path, but leaves the tree from the path that the folder is moved to.
fn add_link(path: &Path) {
    symlink("../../README.md", path.join("core/sub/l")).unwrap();
}

fn files(lab: &Lab, vault: &Vault, commit: &CommitId) -> String {
    lab.vault_git(vault, &["ls-tree", "-r", "--name-only", &commit.0])
}

/// The user's own merges move new files along with a renamed folder. Pitcrew's merges do not.
#[test]
fn user_settings_do_not_move_files_in_a_merge() {
    let lab = lab_with_a_folder();
    lab.git(&["config", "--global", "merge.directoryRenames", "true"]);
    let vault = lab.vault();
    let base = lab.plan(&vault);
    let one = work(&lab, &vault, 1, &base.start, move_folder);
    let two = work(&lab, &vault, 2, &base.start, add_link);
    vault.integrate(PLAN, &base.start, &one, &lab.cancel).unwrap();
    let order = verify_order(&one, &two);
    let merged = vault.verify(&order, &lab.policy, &lab.cancel).unwrap().merged;
    let found = files(&lab, &vault, &merged);
    assert!(found.contains("core/sub/l") && !found.contains("moved/l"), "{found}");
    // The same at a landing on a branch that has moved the folder.
    move_folder(&lab.user);
    lab.commit("moved");
    let landing = vault.land(&land_order(&base, &two), &lab.policy, &lab.cancel).unwrap();
    let found = lab.git(&["ls-tree", "-r", "--name-only", &landing.commit.0]);
    assert!(found.contains("core/sub/l") && !found.contains("moved/l"), "{found}");
}

/// Attributes that an agent may not write name the driver, and so do the user's own settings.
#[test]
fn users_merge_drivers_do_not_run() {
    let lab = Lab::new();
    lab.write("core/lines", LINES);
    lab.write(".gitattributes", "core/lines merge=planted\n");
    lab.commit("lines");
    let mark = lab.home().join("driver-ran");
    let driver = format!("touch {}; cp %B %A", mark.display());
    for (key, value) in [
        ("merge.planted.driver", driver.as_str()),
        ("merge.default", "planted"),
        ("merge.text.driver", driver.as_str()),
        ("merge.renormalize", "true"),
    ] {
        lab.git(&["config", "--global", key, value]);
    }
    write(&lab.home().join(".config/git/attributes"), "* merge=planted\n");
    let vault = lab.vault();
    let base = lab.plan(&vault);
    let edit = |from: &'static str, to: &'static str| {
        move |path: &Path| write(&path.join("core/lines"), LINES.replace(from, to))
    };
    let one = work(&lab, &vault, 1, &base.start, edit("one", "ONE"));
    let two = work(&lab, &vault, 2, &base.start, edit("seven", "SEVEN"));
    let order = verify_order(&one, &two);
    let merged = vault.verify(&order, &lab.policy, &lab.cancel).unwrap().merged;
    let both = LINES.replace("one", "ONE").replace("seven", "SEVEN");
    let text = lab.vault_git(&vault, &["show", &format!("{merged}:core/lines")]);
    assert_eq!(format!("{text}\n"), both);
    lab.write("core/lines", LINES.replace("four", "FOUR"));
    lab.commit("by the user");
    let landing = vault.land(&land_order(&base, &merged), &lab.policy, &lab.cancel).unwrap();
    let text = lab.git(&["show", &format!("{}:core/lines", landing.commit)]);
    assert_eq!(format!("{text}\n"), both.replace("four", "FOUR"));
    assert!(!mark.exists(), "a driver ran");
    // If the user runs git themselves, the driver does run.
    lab.git(&["checkout", "--quiet", "-b", "own", &base.start.0]);
    lab.write("core/lines", LINES.replace("two", "TWO"));
    lab.commit("own");
    lab.git(&["merge", "--quiet", "-m", "own", "main"]);
    assert!(mark.exists(), "the driver is none");
}

/// A link that one side has moved and the other has changed. Each version alone stays in the tree.
fn lab_with_a_link() -> Lab {
    let lab = Lab::new();
    lab.write("core/sub/a.rs", LINES);
    symlink("../a-target-that-is-long-enough", lab.user.join("core/sub/l")).unwrap();
    lab.commit("a link");
    lab
}

fn move_link(path: &Path) {
    fs::rename(path.join("core/sub/l"), path.join("core/l")).unwrap();
}

fn change_link(path: &Path) {
    fs::remove_file(path.join("core/sub/l")).unwrap();
    symlink("../../outside-of-it", path.join("core/sub/l")).unwrap();
}

fn assert_leaves<T: std::fmt::Debug>(result: Result<T, Failure>) {
    let failure = result.expect_err("the link leaves");
    let Failure::Gate { refusals, .. } = &failure else { panic!("{failure:?}") };
    let found: Vec<_> = refusals.iter().map(|it| (it.path.as_str(), it.kind)).collect();
    assert_eq!(found, [("core/l", RefusalKind::SymlinkLeaves)]);
}

#[test]
fn merge_that_moves_a_link_out_of_the_tree_is_refused() {
    let lab = lab_with_a_link();
    let vault = lab.vault();
    let base = lab.plan(&vault);
    let one = work(&lab, &vault, 1, &base.start, move_link);
    let two = work(&lab, &vault, 2, &base.start, change_link);
    assert_leaves(vault.verify(&verify_order(&one, &two), &lab.policy, &lab.cancel));
    assert_leaves(vault.verify(&verify_order(&two, &one), &lab.policy, &lab.cancel));
    // A landing on a branch that has moved the link.
    let before = lab.rev("main");
    move_link(&lab.user);
    let moved = lab.commit("moved");
    let landed = vault.land(&land_order(&base, &two), &lab.policy, &lab.cancel);
    assert_leaves::<()>(Err(failed(landed)));
    assert_eq!((lab.rev("main"), before == moved), (moved, false), "the branch stays");
}

#[test]
fn pull_that_moves_a_link_out_of_the_tree_is_refused() {
    let lab = lab_with_a_link();
    let vault = lab.vault();
    let base = lab.plan(&vault);
    let path = lab.checkout(&vault, &attempt(1), &base.start).path;
    move_link(&path);
    let work = work(&lab, &vault, 2, &base.start, change_link);
    let order = PullWork {
        attempt: AttemptId(1),
        path: path.clone(),
        base: base.start.clone(),
        work,
        zone: Zone::default(),
    };
    assert_leaves(vault.pull(&order, &lab.policy, &lab.cancel));
    let target = fs::read_link(path.join("core/l")).unwrap();
    assert_eq!(target, Path::new("../a-target-that-is-long-enough"), "nothing was changed");
}

/// Git applies changes at the path to which another task has moved the file, which is outside this
/// task's region.
#[test]
fn merge_changes_nothing_outside_the_zone() {
    let lab = lab_with_a_folder();
    let vault = lab.vault();
    let base = lab.plan(&vault);
    let one = work(&lab, &vault, 1, &base.start, move_folder);
    let two = work(&lab, &vault, 2, &base.start, |path| {
        write(&path.join("core/sub/a.rs"), LINES.replace("one", "ONE"));
    });
    let verify = |region: &[&str]| {
        let order = Verify { zone: zone(region), ..verify_order(&one, &two) };
        vault.verify(&order, &lab.policy, &lab.cancel)
    };
    let failure = verify(&["core"]).expect_err("it is another's");
    assert_eq!(failure, Failure::Conflict { paths: vec!["moved/a.rs".into()], with: Vec::new() });
    let merged = verify(&["core", "moved"]).expect("it is allowed there").merged;
    let text = lab.vault_git(&vault, &["show", &format!("{merged}:moved/a.rs")]);
    assert!(text.starts_with("ONE\n"), "{text}");
}
