//! Checkouts of sub-tasks that are filled before they are ordered.

use crate::lab::{Lab, attempt, below, tree_of, write};
use pitcrew_git::{CheckoutKind, FillAhead, PrepareCheckout, Vault};
use pitcrew_model::{AttemptId, CommitId, Failure, TaskId};
use std::{
    cell::Cell,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

const PARENT: AttemptId = AttemptId(1);
const CHILD: u64 = 7;

struct Scene {
    lab: Lab,
    vault: Vault,
    parent: PathBuf,
    first: CommitId,
    second: CommitId,
}

fn scene() -> Scene {
    let lab = Lab::new();
    let vault = lab.vault();
    let (parent, [first, second]) = lab.two_states(&vault);
    Scene { lab, vault, parent, first, second }
}

impl Scene {
    fn fill(&self, commit: &CommitId) {
        let (task, slug, commit) = (TaskId(CHILD), "work".into(), commit.clone());
        let order = FillAhead { parent: PARENT, task, slug, commit };
        self.vault.fill_ahead(&order, &self.lab.policy);
    }

    fn order(start: &CommitId) -> PrepareCheckout {
        let (name, kind) = (attempt(CHILD), CheckoutKind::Subtask);
        PrepareCheckout { name, kind, start: start.clone(), setup: Vec::new() }
    }

    fn prepare(&self, start: &CommitId) -> Result<PathBuf, Failure> {
        let order = Self::order(start);
        let made = self.vault.prepare_checkout(&order, &self.lab.policy, &self.lab.cancel, &|_| {});
        made.map(|it| it.path)
    }

    fn folder(&self) -> PathBuf {
        self.vault.layout().checkouts.join("subtask-7-work")
    }

    /// Asserts that the folder equals a checkout that was made when it was ordered, both for git
    /// and on disk.
    fn assert_is(&self, path: &Path, start: &CommitId) {
        let fresh = self.lab.checkout(&self.vault, &attempt(90), start).path;
        assert_eq!(below(path), below(&fresh));
        assert_eq!(self.lab.git_in(path, &["rev-parse", "HEAD"]), start.0);
        let branches = self.lab.git_in(path, &["for-each-ref", "--format=%(refname)"]);
        assert_eq!(branches, "refs/heads/pitcrew/plan-1/subtask-7-work/a1");
        for seen in [&["status", "--porcelain", "--ignored"][..], &["ls-files", "--stage"]] {
            assert_eq!(self.lab.git_in(path, seen), self.lab.git_in(&fresh, seen));
        }
    }
}

fn inode(path: &Path) -> u64 {
    fs::metadata(path).unwrap().ino()
}

/// Only the files that differ are written again.
#[test]
fn prefilled_checkout_is_updated_to_the_ordered_state() {
    let scene = scene();
    scene.fill(&scene.first);
    let same = inode(&scene.folder().join("api/lib.rs"));
    let path = scene.prepare(&scene.second).unwrap();
    assert_eq!(path, scene.folder());
    assert_eq!(inode(&path.join("api/lib.rs")), same);
    scene.assert_is(&path, &scene.second);
    write(&path.join("api/lib.rs"), "work\n");
    let work = scene.lab.collect(&scene.vault, &attempt(CHILD), &path, &scene.second, &[]);
    assert_eq!(work.unwrap().files_count, 1);
}

#[test]
fn prefilled_checkout_with_the_ordered_state_is_unchanged() {
    let scene = scene();
    scene.fill(&scene.second);
    let same = inode(&scene.folder().join("core/lib.rs"));
    let path = scene.prepare(&scene.second).unwrap();
    assert_eq!(inode(&path.join("core/lib.rs")), same);
    scene.assert_is(&path, &scene.second);
}

/// Attributes affect the content of files that did not change.
#[test]
fn changed_attributes_cause_a_new_fill() {
    let scene = scene();
    write(&scene.parent.join("api/.gitattributes"), "*.rs text eol=crlf\n");
    let third = scene.lab.save(&scene.vault, &attempt(1), &scene.parent).unwrap();
    scene.fill(&scene.second);
    let claims = Cell::new(0);
    let (lab, claimed) = (&scene.lab, |_: &Path| claims.set(claims.get() + 1));
    let made =
        scene.vault.prepare_checkout(&Scene::order(&third), &lab.policy, &lab.cancel, &claimed);
    let path = made.unwrap().path;
    assert_eq!(fs::read(path.join("api/lib.rs")).unwrap(), b"pub fn api() {}\r\n");
    assert_eq!(claims.get(), 2, "the other folder is reported");
    scene.assert_is(&path, &third);
}

#[test]
fn checkout_is_made_on_order_if_prefill_failed() {
    let scene = scene();
    scene.fill(&CommitId("1".repeat(40)));
    let path = scene.prepare(&scene.second).unwrap();
    scene.assert_is(&path, &scene.second);
}

#[test]
fn cancelled_order_removes_the_prefilled_folder() {
    let scene = scene();
    scene.fill(&scene.first);
    scene.lab.cancel.cancel();
    assert_eq!(scene.prepare(&scene.second), Err(Failure::Interrupted));
    assert!(!scene.folder().exists());
}

/// A parent that starts several sub-tasks in a row is snapshotted again before the first checkout
/// is used.
#[test]
fn same_sub_task_is_not_filled_twice() {
    let scene = scene();
    scene.fill(&scene.first);
    let same = inode(&scene.folder().join("api/lib.rs"));
    scene.fill(&scene.second);
    let path = scene.prepare(&scene.second).unwrap();
    assert_eq!(inode(&path.join("api/lib.rs")), same);
    scene.assert_is(&path, &scene.second);
}

#[test]
fn unused_prefilled_checkout_is_removed() {
    let scene = scene();
    scene.fill(&scene.first);
    assert!(scene.folder().join("core/lib.rs").exists());
    scene.vault.drop_ahead(PARENT);
    assert!(!scene.folder().exists());
    scene.fill(&scene.first);
    let order = FillAhead {
        parent: PARENT,
        task: TaskId(8),
        slug: "other".into(),
        commit: scene.first.clone(),
    };
    scene.vault.fill_ahead(&order, &scene.lab.policy);
    assert!(!scene.folder().exists(), "one for each parent");
    scene.vault.drop_all_ahead();
    assert!(!scene.folder().with_file_name("subtask-8-other").exists());
    scene.fill(&scene.first);
    assert!(!scene.folder().exists(), "nothing is begun any more");
}

/// A kill during the fill leaves a folder that no agent has used.
#[test]
fn folder_filled_by_a_killed_process_is_removed() {
    let scene = scene();
    scene.fill(&scene.first);
    let notes = || {
        fs::read_dir(scene.vault.layout().vault.join("pitcrew/ahead")).unwrap().flatten().count()
    };
    assert_eq!(notes(), 1);
    // An interrupted removal may have deleted files in any order.
    fs::remove_file(scene.folder().join(".git/HEAD")).unwrap();
    let vault = scene.lab.vault();
    assert!(!scene.folder().exists());
    assert_eq!(notes(), 0);
    let made = vault.prepare_checkout(
        &Scene::order(&scene.second),
        &scene.lab.policy,
        &scene.lab.cancel,
        &|_| {},
    );
    assert_eq!(made.unwrap().path, scene.folder());
    drop(scene.lab.vault());
    assert!(scene.folder().exists(), "an agent may have used it");
}

/// Folders with a note are removed when the vault is opened, so no note may name a checkout in use.
#[test]
fn leftover_note_does_not_remove_a_used_checkout() {
    let scene = scene();
    scene.fill(&scene.first);
    let note = scene.vault.layout().vault.join("pitcrew/ahead/task-7.json");
    let noted = fs::read(&note).unwrap();
    scene.vault.drop_ahead(PARENT);
    fs::write(&note, noted).unwrap();
    let path = scene.prepare(&scene.second).unwrap();
    assert_eq!(path, scene.folder());
    drop(scene.lab.vault());
    scene.assert_is(&path, &scene.second);
}

#[test]
fn foreign_folder_is_not_prefilled() {
    let scene = scene();
    write(&scene.folder().join("precious.txt"), "precious\n");
    scene.fill(&scene.first);
    drop(scene.lab.vault());
    assert_eq!(tree_of(&scene.folder()).len(), 1);
}
