//! An agent may do anything to its checkout. Its work is judged or saved all the same.

use crate::lab::{Lab, attempt, make_executable, read, refusals, write};
use pitcrew_git::Vault;
use pitcrew_model::{PlanBase, RefusalKind, Work};
use std::{fs, path::Path, path::PathBuf};

struct Scene {
    lab: Lab,
    vault: Vault,
    base: PlanBase,
    path: PathBuf,
}

fn scene() -> Scene {
    let lab = Lab::new();
    let vault = lab.vault();
    let base = lab.plan(&vault);
    let path = lab.checkout(&vault, &attempt(1), &base.start).path;
    write(&path.join("core/lib.rs"), "work\n");
    Scene { lab, vault, base, path }
}

impl Scene {
    fn collect(&self) -> Work {
        let Self { lab, vault, base, path } = self;
        lab.collect(vault, &attempt(1), path, &base.start, &["core"]).expect("work")
    }

    fn git(&self, args: &[&str]) -> String {
        self.lab.git_in(&self.path, args)
    }

    #[track_caller]
    fn assert_one_file(&self) {
        let work = self.collect();
        assert_eq!(work.files_count, 1, "{:?}", work.files);
        let text =
            self.lab.vault_git(&self.vault, &["show", &format!("{}:core/lib.rs", work.commit)]);
        assert_eq!(text, "work");
        let parent = self.lab.vault_git(&self.vault, &["rev-parse", &format!("{}^", work.commit)]);
        assert_eq!(parent, self.base.start.0);
    }
}

#[test]
fn the_git_folder_is_deleted() {
    let scene = scene();
    fs::remove_dir_all(scene.path.join(".git")).unwrap();
    scene.assert_one_file();
}

#[test]
fn the_git_folder_is_a_repository_of_its_own() {
    let scene = scene();
    fs::remove_dir_all(scene.path.join(".git")).unwrap();
    scene.git(&["init", "--quiet"]);
    scene.git(&["add", "."]);
    scene.git(&["commit", "--quiet", "-m", "a new history"]);
    scene.assert_one_file();
}

#[test]
fn the_git_folder_points_to_the_users() {
    let scene = scene();
    fs::remove_dir_all(scene.path.join(".git")).unwrap();
    let users = scene.lab.user.join(".git");
    write(&scene.path.join(".git"), format!("gitdir: {}\n", users.display()));
    let index = fs::read(users.join("index")).unwrap();
    scene.assert_one_file();
    assert_eq!(fs::read(users.join("index")).unwrap(), index);
}

#[test]
fn the_settings_index_and_head_are_garbage() {
    for file in ["config", "HEAD", "index"] {
        let scene = scene();
        write(&scene.path.join(".git").join(file), "\0garbage[[[\n");
        scene.assert_one_file();
    }
}

#[test]
fn the_history_is_rebased_below_the_start() {
    let scene = scene();
    scene.git(&["checkout", "--quiet", "--orphan", "other"]);
    scene.git(&["add", "."]);
    scene.git(&["commit", "--quiet", "-m", "squashed"]);
    scene.assert_one_file();
}

#[test]
fn objects_of_the_agents_commits_are_missing() {
    let scene = scene();
    scene.git(&["commit", "--quiet", "--all", "-m", "first"]);
    let blob = scene.git(&["rev-parse", "HEAD:core/lib.rs"]);
    let object = scene.path.join(".git/objects").join(&blob[..2]).join(&blob[2..]);
    fs::remove_file(object).unwrap();
    scene.assert_one_file();
}

#[test]
fn files_are_hidden_from_the_agents_own_git() {
    let scene = scene();
    scene.git(&["update-index", "--assume-unchanged", "core/lib.rs"]);
    assert_eq!(scene.git(&["status", "--porcelain"]), "");
    scene.assert_one_file();
}

/// Hooks, filters and monitors of the agent's git folder are not run by us.
#[test]
fn traps_in_the_git_folder_do_not_spring() {
    let scene = scene();
    let trap = scene.lab.folder.path().join("trap.sh");
    let sprung = scene.lab.folder.path().join("sprung");
    write(&trap, format!("#!/bin/sh\ntouch '{}'\ncat\n", sprung.display()));
    make_executable(&trap);
    let trap = trap.to_str().unwrap();
    for key in
        ["core.fsmonitor", "filter.x.clean", "filter.x.smudge", "diff.external", "core.sshCommand"]
    {
        scene.git(&["config", key, trap]);
    }
    let hooks = scene.path.join(".git/hooks");
    scene.git(&["config", "core.hooksPath", hooks.to_str().unwrap()]);
    for hook in ["pre-commit", "post-commit", "post-index-change", "reference-transaction"] {
        write(&hooks.join(hook), read(Path::new(trap)));
        make_executable(&hooks.join(hook));
    }
    write(&scene.path.join(".git/info/attributes"), "* filter=x\n");
    scene.assert_one_file();
    assert!(!sprung.exists());
    scene.lab.save(&scene.vault, &attempt(1), &scene.path).expect("saved");
    assert!(!sprung.exists());
    scene.git(&["status"]);
    assert!(sprung.exists(), "plain git springs them");
    pitcrew_testkit::escape_stopped(
        "trap our git in the checkout",
        "gate",
        "any",
        "own git folder",
    );
}

#[test]
fn nested_repositories_are_refused_and_yet_saved() {
    let scene = scene();
    for name in ["core/with", "core/without", "core/with/deeper"] {
        write(&scene.path.join(name).join("file.txt"), name);
        scene.lab.git_in(&scene.path.join(name), &["init", "--quiet"]);
    }
    for name in ["core/with/deeper", "core/with"] {
        scene.lab.git_in(&scene.path.join(name), &["add", "."]);
        scene.lab.git_in(&scene.path.join(name), &["commit", "--quiet", "-m", "nested"]);
    }
    let Scene { lab, vault, base, path } = &scene;
    let refused = refusals(lab.collect(vault, &attempt(1), path, &base.start, &["core"]));
    assert_eq!(
        refused,
        [
            ("core/with".to_owned(), RefusalKind::Gitlink),
            ("core/without".to_owned(), RefusalKind::Gitlink)
        ]
    );
    let saved = lab.save(vault, &attempt(1), path).expect("saved");
    for name in ["core/with", "core/without", "core/with/deeper"] {
        assert_eq!(lab.vault_git(vault, &["show", &format!("{saved}:{name}/file.txt")]), name);
    }
}

#[test]
fn a_checkout_that_was_never_made_has_nothing_to_save() {
    let Scene { lab, vault, .. } = scene();
    let order = pitcrew_git::SaveWork { name: attempt(7), path: None };
    assert_eq!(vault.save(&order, &lab.policy, &lab.cancel).unwrap(), None);
}

#[test]
fn a_checkout_that_is_gone_is_what_was_saved_last() {
    let Scene { lab, vault, path, .. } = scene();
    let saved = lab.save(&vault, &attempt(1), &path);
    assert!(saved.is_some());
    fs::remove_dir_all(&path).unwrap();
    assert_eq!(lab.save(&vault, &attempt(1), &path), saved);
}
