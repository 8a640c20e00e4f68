//! Trees that no ordinary git creates. fsck does not reject all of them, so the gate must.

use crate::lab::{Lab, attempt, refusals};
use pitcrew_git::Vault;
use pitcrew_model::{PlanBase, RefusalKind};
use std::path::PathBuf;

struct Scene {
    lab: Lab,
    vault: Vault,
    base: PlanBase,
    path: PathBuf,
    blob: String,
}

fn scene() -> Scene {
    scene_of(|_| {})
}

/// The same with additional files in the user's repository.
fn scene_of(prepare: impl FnOnce(&Lab)) -> Scene {
    let lab = Lab::new();
    prepare(&lab);
    let vault = lab.vault();
    let base = lab.plan(&vault);
    let path = lab.checkout(&vault, &attempt(1), &base.start).path;
    let finished = lab.try_git(&path, &["hash-object", "-w", "--stdin"], "evil\n");
    let blob = String::from_utf8(finished.stdout).unwrap().trim().to_owned();
    Scene { lab, vault, base, path, blob }
}

impl Scene {
    fn hash(&self, kind: &str, content: Vec<u8>) -> String {
        let args = ["hash-object", "-w", "--literally", "-t", kind, "--stdin"];
        let finished = self.lab.try_git(&self.path, &args, content);
        assert!(finished.success(), "{}", String::from_utf8_lossy(&finished.stderr));
        String::from_utf8(finished.stdout).unwrap().trim().to_owned()
    }

    /// A tree object with exactly these bytes.
    fn tree(&self, entries: &[(&str, &str, &str)]) -> String {
        let mut content = Vec::new();
        for (mode, name, object) in entries {
            content.extend_from_slice(format!("{mode} {name}\0").as_bytes());
            content.extend(
                (0..20).map(|it| u8::from_str_radix(&object[it * 2..it * 2 + 2], 16).unwrap()),
            );
        }
        self.hash("tree", content)
    }

    /// Sets the agent's branch to a commit of that tree. Its working tree is unchanged.
    fn commit(&self, tree: &str) {
        let commit = self
            .lab
            .git_in(&self.path, &["commit-tree", tree, "-p", &self.base.start.0, "-m", "evil"]);
        let branch = self.path.join(".git/refs/heads/pitcrew/plan-1/task-1-work/a1");
        std::fs::write(branch, format!("{commit}\n")).unwrap();
    }

    #[track_caller]
    fn assert_refused(&self, tree: &str, kind: RefusalKind) -> Vec<(String, RefusalKind)> {
        self.commit(tree);
        let Self { lab, vault, base, path, .. } = self;
        let refused = refusals(lab.collect(vault, &attempt(1), path, &base.start, &[]));
        assert!(refused.iter().any(|it| it.1 == kind), "{kind:?} is not in {refused:?}");
        let work = "refs/pitcrew/plans/plan-1/task-1-work";
        assert_eq!(lab.vault_git(vault, &["for-each-ref", work]), "");
        let saved = lab.save(vault, &attempt(1), path).expect("the tree is saved all the same");
        assert_eq!(lab.vault_git(vault, &["show", &format!("{saved}:README.md")]), "# shop");
        refused
    }
}

/// Asserts that a tree with one entry of this mode and name is refused.
#[track_caller]
pub fn try_entry(mode: &str, name: &str, kind: RefusalKind) {
    let scene = scene();
    let inner = scene.tree(&[("100644", "config", &scene.blob)]);
    let object = if mode == "40000" { &inner } else { &scene.blob };
    scene.assert_refused(&scene.tree(&[(mode, name, object)]), kind);
}

#[test]
fn git_folders_in_every_disguise_are_refused() {
    for name in [".git", ".GIT", "git~1", ".git ", ".g\u{200c}it"] {
        let scene = scene();
        let inner = scene.tree(&[("100644", "config", &scene.blob)]);
        let tree = scene.tree(&[("40000", name, &inner)]);
        scene.assert_refused(&tree, RefusalKind::GitDir);
    }
}

#[test]
fn misleading_and_climbing_names_are_refused() {
    let long = "a".repeat(256);
    for name in ["..", ".", "a/b", "a\\b", "new\nline", "a\u{202e}txt.exe", &long] {
        let scene = scene();
        let tree = scene.tree(&[("100644", name, &scene.blob)]);
        scene.assert_refused(&tree, RefusalKind::BadName);
    }
}

#[test]
fn duplicate_and_unsorted_entries_are_refused() {
    let scene = scene();
    let blob = &scene.blob;
    let tree = scene.tree(&[("100644", "a", blob), ("100755", "a", blob)]);
    scene.assert_refused(&tree, RefusalKind::BadName);
    let tree = scene.tree(&[("100644", "b", blob), ("100644", "a", blob)]);
    scene.assert_refused(&tree, RefusalKind::BadName);
}

#[test]
fn odd_modes_are_refused() {
    for mode in ["100664", "0100644", "100600"] {
        let scene = scene();
        let tree = scene.tree(&[(mode, "a", &scene.blob)]);
        scene.assert_refused(&tree, RefusalKind::BadMode);
    }
}

#[test]
fn links_repositories_and_attributes_are_refused() {
    let scene = scene();
    let out = scene.hash("blob", b"../../outside".to_vec());
    scene.assert_refused(&scene.tree(&[("120000", "link", &out)]), RefusalKind::SymlinkLeaves);
    let start = &scene.base.start.0;
    scene.assert_refused(&scene.tree(&[("160000", "module", start)]), RefusalKind::Gitlink);
    let tree = scene.tree(&[("100644", ".gitattributes", &scene.blob)]);
    scene.assert_refused(&tree, RefusalKind::Executes);
    scene.assert_refused(&scene.tree(&[("120000", ".gitmodules", &out)]), RefusalKind::Executes);
    let modules = b"[submodule \"x\"]\n\tpath = x\n\turl = -u./payload\n".to_vec();
    let modules = scene.hash("blob", modules);
    let tree = scene.tree(&[("100644", ".gitmodules", &modules)]);
    scene.assert_refused(&tree, RefusalKind::Executes);
}

#[test]
fn missing_object_loses_the_commits_but_not_the_work() {
    let scene = scene();
    let nowhere = "1234567890123456789012345678901234567890";
    scene.commit(&scene.tree(&[("100644", "a", nowhere)]));
    std::fs::write(scene.path.join("real.txt"), "real\n").unwrap();
    let Scene { lab, vault, base, path, .. } = &scene;
    let work = lab.collect(vault, &attempt(1), path, &base.start, &[]).expect("work");
    assert_eq!(work.files_count, 1, "{:?}", work.files);
}

#[test]
fn small_object_that_unpacks_to_a_large_one_is_refused() {
    let scene = scene();
    let bomb = scene.hash("blob", vec![0; 21 * 1_024 * 1_024]);
    scene.assert_refused(&scene.tree(&[("100644", "bomb", &bomb)]), RefusalKind::TooLarge);
}

#[test]
fn too_many_changed_files_are_refused() {
    let scene = scene();
    let names: Vec<String> = (0..=20_000).map(|it| format!("{it:05}")).collect();
    let entries: Vec<_> =
        names.iter().map(|it| ("100644", it.as_str(), scene.blob.as_str())).collect();
    scene.assert_refused(&scene.tree(&entries), RefusalKind::TooMany);
}

/// A tree with a thousand entries for this object.
fn thousand(scene: &Scene, mode: &str, object: &str) -> String {
    let names: Vec<String> = (0..1_000).map(|it| format!("{it:03}")).collect();
    let entries: Vec<_> = names.iter().map(|it| (mode, it.as_str(), object)).collect();
    scene.tree(&entries)
}

#[test]
fn three_trees_with_a_billion_paths_are_refused() {
    let scene = scene();
    let mut tree = thousand(&scene, "100644", &scene.blob);
    for _ in 0..2 {
        tree = thousand(&scene, "40000", &tree);
    }
    let refused = scene.assert_refused(&tree, RefusalKind::TooMany);
    // The paths were counted before git could run out of memory by walking them.
    assert!(refused.iter().all(|it| it.0.starts_with("commit ")), "{refused:?}");
}

/// A folder of the base counts as one path each time, so git's memory limit has to stop the walk.
#[test]
fn users_folder_named_a_million_times_is_refused() {
    let scene = scene_of(|lab| {
        for number in 0..1_000 {
            lab.write(&format!("many/{number}.txt"), "one of many\n");
        }
        lab.commit("many");
    });
    let many = scene.lab.git(&["rev-parse", "HEAD:many"]);
    let tree = thousand(&scene, "40000", &many);
    scene.assert_refused(&thousand(&scene, "40000", &tree), RefusalKind::TooMany);
}

#[test]
fn too_many_commits_are_refused() {
    let scene = scene();
    let Scene { lab, vault, base, path, .. } = &scene;
    let branch = "refs/heads/pitcrew/plan-1/task-1-work/a1";
    let commit = "committer a <a@b> 1 +0000\ndata 1\nx\n";
    let first = format!("commit {branch}\n{commit}from {}\n\n", base.start);
    let next = format!("commit {branch}\n{commit}\n");
    let finished =
        lab.try_git(path, &["fast-import", "--quiet", "--force"], first + &next.repeat(10_000));
    assert!(finished.success(), "{}", String::from_utf8_lossy(&finished.stderr));
    let refused = refusals(lab.collect(vault, &attempt(1), path, &base.start, &[]));
    assert_eq!(refused, [("more than 10000 commits".to_owned(), RefusalKind::TooMany)]);
}

#[test]
fn other_work_of_the_vault_cannot_be_smuggled_in() {
    let scene = scene();
    let Scene { lab, vault, base, path, .. } = &scene;
    let other = lab.checkout(vault, &attempt(2), &base.start).path;
    std::fs::write(other.join("api/evil.rs"), "evil\n").unwrap();
    let saved = lab.save(vault, &attempt(2), &other).expect("saved");
    assert!(!lab.try_git(path, &["cat-file", "-e", &saved.0], "").success(), "it is not borrowed");
    // An agent that knows the name of an object can still use it: as a head, and as the tree of a
    // commit.
    let tree = lab.vault_git(vault, &["rev-parse", &format!("{saved}^{{tree}}")]);
    let commit = format!(
        "tree {tree}\nparent {}\nauthor a <a@b> 1 +0000\ncommitter a <a@b> 1 +0000\n\nx\n",
        base.start
    );
    let make = ["hash-object", "-t", "commit", "-w", "--literally", "--stdin"];
    let forged = String::from_utf8(lab.try_git(path, &make, commit).stdout).unwrap();
    for head in [&saved.0, forged.trim()] {
        std::fs::write(path.join(".git/HEAD"), format!("{head}\n")).unwrap();
        let work = lab.collect(vault, &attempt(1), path, &base.start, &["core"]).expect("work");
        assert_eq!(work.commit, base.start, "nothing of the other came in");
    }
}
