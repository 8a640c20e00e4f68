//! Collects work in a box that was made while the worker was still running.

use crate::lab::{Lab, attempt, collect_order, refusals, write};
use pitcrew_git::{Ready, Removal, Vault};
use pitcrew_model::{CommitId, Failure, RefusalKind, Work};
use std::{fs, path::Path};

struct Scene {
    lab: Lab,
    vault: Vault,
    start: CommitId,
}

impl Scene {
    fn new() -> Self {
        let lab = Lab::new();
        let vault = lab.vault();
        let start = lab.plan(&vault).start;
        Self { lab, vault, start }
    }

    /// `None` if no box can be made.
    fn ready(&self, number: u64) -> Option<Ready> {
        self.vault.get_ready(attempt(number).attempt, &self.lab.policy)
    }

    fn collect(&self, number: u64, path: &Path, ready: Option<Ready>) -> Result<Work, Failure> {
        let order = collect_order(&attempt(number), path, &self.start, &["core"]);
        self.vault.collect_ready(&order, ready, &self.lab.policy, &self.lab.cancel)
    }

    /// Collects work that a worker makes before and during the preparation.
    fn worked(
        &self,
        number: u64,
        before: &dyn Fn(&Path),
        meanwhile: &dyn Fn(&Path),
    ) -> Result<Work, Failure> {
        let path = self.lab.checkout(&self.vault, &attempt(number), &self.start).path;
        before(&path);
        let ready = self.ready(number);
        assert_eq!(ready.is_some(), self.lab.policy.tier == pitcrew_model::Tier::T3);
        meanwhile(&path);
        self.collect(number, &path, ready)
    }

    fn shows(&self, work: &Work, file: &str) -> String {
        self.lab.vault_git(&self.vault, &["show", &format!("{}:{file}", work.commit)])
    }
}

#[test]
fn last_changes_of_a_worker_are_collected() {
    let scene = Scene::new();
    let one = |path: &Path| write(&path.join("core/one.rs"), "1\n");
    let two = |path: &Path| {
        write(&path.join("core/one.rs"), "2\n");
        write(&path.join("core/two.rs"), "2\n");
        fs::remove_file(path.join("core/lib.rs")).unwrap();
    };
    let work = scene.worked(1, &one, &two).unwrap();
    assert_eq!((scene.shows(&work, "core/one.rs"), work.files_count), ("2".into(), 3));
    let shown =
        scene.lab.vault_git(&scene.vault, &["log", "-1", "--format=%s %an", &work.commit.0]);
    assert_eq!(shown, "did it Pitcrew worker");
}

#[test]
fn last_commits_of_a_worker_are_collected() {
    let scene = Scene::new();
    let commit = |path: &Path| {
        write(&path.join("core/one.rs"), "1\n");
        scene.lab.git_in(path, &["add", "--all"]);
        scene.lab.git_in(path, &["commit", "--quiet", "--message", "mine"]);
    };
    let work = scene.worked(1, &|_| {}, &commit).unwrap();
    let shown = scene.lab.vault_git(&scene.vault, &["log", "-1", "--format=%s", &work.commit.0]);
    assert_eq!(shown, "mine");
}

#[test]
fn broken_git_folder_does_not_lose_prepared_work() {
    let scene = Scene::new();
    let work = |path: &Path| {
        write(&path.join("core/one.rs"), "1\n");
        fs::remove_dir_all(path.join(".git")).unwrap();
    };
    let gone = scene.worked(1, &|_| {}, &work).unwrap();
    assert_eq!(scene.shows(&gone, "core/one.rs"), "1");
    let file = |path: &Path| {
        work(path);
        write(&path.join(".git"), "gitdir: /etc\n");
    };
    let work = scene.worked(2, &|_| {}, &file).unwrap();
    assert_eq!(scene.shows(&work, "core/one.rs"), "1");
}

#[test]
fn gate_judges_changes_made_during_preparation() {
    let scene = Scene::new();
    let leave = |path: &Path| write(&path.join("api/lib.rs"), "mine\n");
    let refused = refusals(scene.worked(1, &|_| {}, &leave));
    assert_eq!(refused, [("api/lib.rs".to_owned(), RefusalKind::OutsideZone)]);
}

#[test]
fn preparation_is_not_used_for_another_attempt() {
    let scene = Scene::new();
    let paths = [1, 2].map(|it| scene.lab.checkout(&scene.vault, &attempt(it), &scene.start).path);
    write(&paths[1].join("core/two.rs"), "2\n");
    let work = scene.collect(2, &paths[1], scene.ready(1)).unwrap();
    assert_eq!(scene.shows(&work, "core/two.rs"), "2");
}

#[test]
fn unused_preparation_leaves_nothing() {
    let scene = Scene::new();
    let checkout = scene.lab.checkout(&scene.vault, &attempt(1), &scene.start);
    let left = || fs::read_dir(&scene.vault.layout().scratch).unwrap().count();
    let ready = scene.ready(1);
    assert_eq!(left(), usize::from(ready.is_some()));
    drop(ready);
    assert_eq!(left(), 0);
    let (path, policy, cancel) = (&checkout.path, &scene.lab.policy, &scene.lab.cancel);
    let removed = scene.vault.remove_checkout(attempt(1).attempt, path, policy, cancel).unwrap();
    assert_eq!(removed, Removal::Removed, "no process is in it");
    assert!(scene.vault.get_ready(attempt(9).attempt, &scene.lab.policy).is_none());
}
