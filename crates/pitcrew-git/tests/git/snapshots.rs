//! Snapshots are taken while a worker writes, and do not change its checkout.

use crate::lab::{Lab, attempt, tree_of, write};
use pitcrew_git::{TakeSnapshot, Vault};
use pitcrew_model::{AttemptId, CommitId, Failure, PlanBase, Snapshot};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

struct Scene {
    lab: Lab,
    vault: Vault,
    base: PlanBase,
    path: PathBuf,
}

impl Scene {
    fn new() -> Self {
        let lab = Lab::new();
        let vault = lab.vault();
        let base = lab.plan(&vault);
        let path = lab.checkout(&vault, &attempt(1), &base.start).path;
        Self { lab, vault, base, path }
    }

    fn try_to_take(
        &self,
        number: u32,
        last: Option<&Snapshot>,
    ) -> Result<Option<Snapshot>, Failure> {
        let order = TakeSnapshot {
            attempt: AttemptId(1),
            path: self.path.clone(),
            start: self.base.start.clone(),
            base: self.base.start.clone(),
            number,
            last: last.map(|it| it.commit.clone()),
        };
        self.vault.take_snapshot(&order, &self.lab.policy, &self.lab.cancel)
    }

    #[track_caller]
    fn take(&self, number: u32, last: Option<&Snapshot>) -> Option<Snapshot> {
        self.try_to_take(number, last).expect("a look")
    }

    fn vault_git(&self, args: &[&str]) -> String {
        self.lab.vault_git(&self.vault, args)
    }

    fn text(&self, commit: &CommitId, path: &str) -> String {
        self.vault_git(&["show", &format!("{commit}:{path}")])
    }

    fn names(&self, commit: &CommitId) -> String {
        self.vault_git(&["ls-tree", "-r", "--name-only", &commit.0])
    }
}

/// Everything in a folder, including `.git`.
fn whole(root: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut all = tree_of(root);
    all.extend(tree_of(&root.join(".git")));
    all
}

#[test]
fn snapshot_has_uncommitted_but_not_ignored_files() {
    let scene = Scene::new();
    write(&scene.path.join(".gitignore"), "target\n");
    write(&scene.path.join("core/lib.rs"), "one\ntwo\n");
    write(&scene.path.join("core/new file.rs"), [0xff, 0, b'\n']);
    write(&scene.path.join("target/out"), "built\n");
    fs::remove_file(scene.path.join("README.md")).unwrap();
    scene.lab.git_in(&scene.path, &["add", "core/lib.rs"]);
    let before = whole(&scene.path);

    let taken = scene.take(1, None).expect("something changed");

    assert_eq!(whole(&scene.path), before, "the agent's tree, index and HEAD stay as they are");
    assert_eq!((taken.files_count, taken.deletions), (4, 2));
    assert_eq!(scene.names(&taken.commit), ".gitignore\napi/lib.rs\ncore/lib.rs\ncore/new file.rs");
    let name = "refs/pitcrew/snapshots/attempt-1/1";
    assert_eq!(scene.vault_git(&["rev-parse", name]), taken.commit.0);
    let parent = scene.vault_git(&["rev-parse", &format!("{name}^")]);
    assert_eq!(parent, scene.base.start.0, "each stands on its own, on top of the start");
}

#[test]
fn unchanged_tree_makes_no_snapshot() {
    let scene = Scene::new();
    assert_eq!(scene.take(1, None), None);
    assert_eq!(scene.take(1, None), None);
    write(&scene.path.join("core/lib.rs"), "one\n");
    let first = scene.take(1, None).expect("something changed");
    assert_eq!(scene.take(2, Some(&first)), None);
    // The same content is written again.
    write(&scene.path.join("core/lib.rs"), "one\n");
    assert_eq!(scene.take(2, Some(&first)), None);
    assert_eq!(scene.take(2, Some(&first)), None);
    write(&scene.path.join("core/lib.rs"), "two\n");
    let second = scene.take(2, Some(&first)).expect("something changed");
    assert_eq!(scene.text(&first.commit, "core/lib.rs"), "one");
    assert_eq!(scene.text(&second.commit, "core/lib.rs"), "two");
}

/// The start gets no number, so the same number is requested again.
#[test]
fn worker_that_starts_over_is_snapshotted_from_there() {
    let scene = Scene::new();
    let start_over = || scene.lab.git_in(&scene.path, &["checkout", "--quiet", "."]);
    write(&scene.path.join("core/lib.rs"), "one\n");
    start_over();
    assert_eq!(scene.take(1, None), None);
    write(&scene.path.join("core/lib.rs"), "one\n");
    let first = scene.take(1, None).expect("something changed");
    start_over();
    assert_eq!(scene.take(2, Some(&first)), None);
    assert_eq!(scene.take(2, Some(&first)), None);
    // The file is changed and changed back.
    write(&scene.path.join("core/lib.rs"), "one\n");
    assert_eq!(scene.take(2, Some(&first)), None);
    start_over();
    assert_eq!(scene.take(2, Some(&first)), None);
    // The saved state is the start, and not the last snapshot.
    let saved = scene.lab.save(&scene.vault, &attempt(1), &scene.path);
    assert_eq!(saved, Some(scene.base.start.clone()));
    let refs = scene.vault_git(&["for-each-ref", "refs/pitcrew/snapshots"]);
    assert_eq!(refs.lines().count(), 1);

    // An empty commit that is undone changes only HEAD.
    scene.lab.git_in(&scene.path, &["commit", "--quiet", "--allow-empty", "-m", "empty"]);
    let second = scene.take(2, Some(&first)).expect("its HEAD moved");
    scene.lab.git_in(&scene.path, &["reset", "--quiet", "--soft", "HEAD~1"]);
    assert_eq!(scene.take(3, Some(&second)), None);
    write(&scene.path.join("core/lib.rs"), "two\n");
    let third = scene.take(3, Some(&second)).expect("something changed");
    assert_eq!(scene.text(&third.commit, "core/lib.rs"), "two");
    assert_eq!(scene.take(4, Some(&third)), None);
}

/// An existing ref of this number may be at a state that is not new.
#[test]
fn ref_without_a_new_state_is_replaced() {
    let scene = Scene::new();
    write(&scene.path.join("core/lib.rs"), "one\n");
    let first = scene.take(1, None).expect("something changed");
    let name = "refs/pitcrew/snapshots/attempt-1/2";
    for (known, text) in [(&scene.base.start, "two"), (&first.commit, "three")] {
        scene.vault_git(&["update-ref", name, &known.0]);
        write(&scene.path.join("core/lib.rs"), text);
        let second = scene.take(2, Some(&first)).expect("something changed");
        assert_eq!(scene.text(&second.commit, "core/lib.rs"), text);
        assert_eq!(scene.vault_git(&["rev-parse", name]), second.commit.0);
    }
}

/// After a crash, the same order is repeated for a tree that has changed.
#[test]
fn same_number_returns_the_same_snapshot() {
    let scene = Scene::new();
    write(&scene.path.join("core/lib.rs"), "one\n");
    let first = scene.take(1, None).expect("something changed");
    fs::remove_dir_all(&scene.path).unwrap();
    assert_eq!(scene.take(1, None), Some(first));
}

/// The record of the last snapshot may be lost.
#[test]
fn lost_record_costs_only_time() {
    let scene = Scene::new();
    write(&scene.path.join("core/lib.rs"), "one\n");
    let first = scene.take(1, None).expect("something changed");
    let notes = scene.vault.layout().vault.join("pitcrew/attempts/attempt-1");
    fs::remove_dir_all(&notes).unwrap();
    assert_eq!(scene.take(2, Some(&first)), None);
    write(&scene.path.join("core/lib.rs"), "two\n");
    let second = scene.take(2, Some(&first)).expect("something changed");
    assert_eq!(scene.text(&second.commit, "core/lib.rs"), "two");
}

#[test]
fn agents_commits_are_kept_as_commits() {
    let scene = Scene::new();
    write(&scene.path.join("core/lib.rs"), "one\n");
    let first = scene.take(1, None).expect("something changed");
    scene.lab.git_in(&scene.path, &["commit", "--quiet", "-am", "my own words"]);
    let second = scene.take(2, Some(&first)).expect("its HEAD moved");
    assert_eq!(scene.vault_git(&["log", "-1", "--format=%s", &second.commit.0]), "my own words");
    assert_eq!(scene.take(3, Some(&second)), None);
}

#[test]
fn broken_or_missing_git_folder_loses_only_the_commits() {
    let scene = Scene::new();
    write(&scene.path.join("core/lib.rs"), "one\n");
    fs::remove_dir_all(scene.path.join(".git")).unwrap();
    let first = scene.take(1, None).expect("something changed");
    assert_eq!(scene.text(&first.commit, "core/lib.rs"), "one");
    write(&scene.path.join(".git"), "gitdir: /nowhere\n");
    assert_eq!(scene.take(2, Some(&first)), None);
}

#[test]
fn missing_checkout_is_an_error() {
    let scene = Scene::new();
    fs::remove_dir_all(&scene.path).unwrap();
    let error = scene.try_to_take(1, None).expect_err("nothing to look at");
    assert!(error.to_string().contains("is gone"), "{error}");
}

#[test]
fn nested_repository_is_kept_with_its_files() {
    let scene = Scene::new();
    let nested = scene.path.join("nested");
    write(&nested.join("file"), "inside\n");
    scene.lab.git_in(&nested, &["init", "--quiet"]);
    let first = scene.take(1, None).expect("something changed");
    assert_eq!(scene.text(&first.commit, "nested/file"), "inside");
    assert_eq!(scene.take(2, Some(&first)), None);
    write(&nested.join("file"), "changed\n");
    let second = scene.take(2, Some(&first)).expect("something changed");
    assert_eq!(scene.text(&second.commit, "nested/file"), "changed");
}

/// Otherwise the file would be stored again every half minute.
#[test]
fn files_too_large_for_any_attempt_are_left_out() {
    let scene = Scene::new();
    let large = fs::File::create(scene.path.join("core.dump")).unwrap();
    large.set_len(21 * 1_024 * 1_024).unwrap();
    assert_eq!(scene.take(1, None), None);
    write(&scene.path.join("core/lib.rs"), "one\n");
    let first = scene.take(1, None).expect("something changed");
    assert!(!scene.names(&first.commit).contains("core.dump"));
    large.set_len(22 * 1_024 * 1_024).unwrap();
    assert_eq!(scene.take(2, Some(&first)), None);
}

/// After the end of the attempt, its last state equals the last snapshot.
#[test]
fn kept_state_is_not_saved_again() {
    let scene = Scene::new();
    write(&scene.path.join("core/lib.rs"), "one\n");
    let first = scene.take(1, None).expect("something changed");
    let saved = scene.lab.save(&scene.vault, &attempt(1), &scene.path);
    assert_eq!(saved, Some(first.commit.clone()));
    write(&scene.path.join("core/lib.rs"), "two\n");
    let saved = scene.lab.save(&scene.vault, &attempt(1), &scene.path).expect("saved");
    assert_ne!(saved, first.commit);
    assert_eq!(scene.text(&saved, "core/lib.rs"), "two");
}

#[test]
fn tree_with_concurrent_writes_can_be_kept() {
    let scene = Scene::new();
    write(&scene.path.join("core/lib.rs"), "steady\n");
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut number = 0_u64;
            while !stop.load(Ordering::Relaxed) {
                number += 1;
                let file = scene.path.join(format!("busy/{}", number % 7));
                write(&file, format!("{number}\n").repeat(2_000));
                if number.is_multiple_of(3) {
                    fs::remove_file(&file).unwrap();
                }
            }
        });
        let mut last = None;
        for number in 1..=10 {
            if let Ok(Some(taken)) = scene.try_to_take(number, last.as_ref()) {
                last = Some(taken);
            }
        }
        stop.store(true, Ordering::Relaxed);
        let last = last.expect("a snapshot of a busy tree");
        assert_eq!(scene.text(&last.commit, "core/lib.rs"), "steady");
    });
    scene.vault_git(&["fsck", "--strict", "--no-dangling"]);
}

/// Every object lookup may search every pack.
#[test]
fn many_snapshots_do_not_leave_many_packs() {
    let scene = Scene::new();
    let mut last = None;
    for number in 1..=55 {
        write(&scene.path.join("core/lib.rs"), format!("{number}\n"));
        last = scene.take(number, last.as_ref());
    }
    let packs = fs::read_dir(scene.vault.layout().vault.join("objects/pack")).unwrap();
    let packs = packs.flatten().filter(|it| it.path().extension().is_some_and(|it| it == "pack"));
    assert!(packs.count() < 30);
    let first = scene.vault_git(&["show", "refs/pitcrew/snapshots/attempt-1/1:core/lib.rs"]);
    assert_eq!(first, "1", "the first one is there as it was");
    scene.vault_git(&["fsck", "--strict", "--no-dangling"]);
}

/// A few ordinary changes are added by name. All others must be kept too.
#[test]
fn unusual_changes_are_kept() {
    let scene = Scene::new();
    write(&scene.path.join("core/-x \u{fc}.rs"), "1\n");
    let first = scene.take(1, None).expect("a plain name");
    assert_eq!(scene.text(&first.commit, "core/-x \u{fc}.rs"), "1");

    // A folder replaces a file, and a file replaces a folder.
    fs::remove_file(scene.path.join("README.md")).unwrap();
    write(&scene.path.join("README.md/inner"), "2\n");
    fs::remove_dir_all(scene.path.join("api")).unwrap();
    write(&scene.path.join("api"), "3\n");
    std::os::unix::fs::symlink("nowhere", scene.path.join("link")).unwrap();
    let second = scene.take(2, Some(&first)).expect("they took each other's place");
    let names = "README.md/inner\napi\n\"core/-x \\303\\274.rs\"\ncore/lib.rs\nlink";
    assert_eq!(scene.names(&second.commit), names);

    write(&scene.path.join("core/a \"quoted\"\nname"), "4\n");
    let third = scene.take(3, Some(&second)).expect("a name of two lines");
    assert_eq!(scene.names(&third.commit).lines().count(), 6);

    for number in 0..300 {
        write(&scene.path.join(format!("many/{number}")), "5\n");
    }
    let fourth = scene.take(4, Some(&third)).expect("many");
    assert_eq!(scene.names(&fourth.commit).lines().count(), 306);
    assert_eq!(scene.take(5, Some(&fourth)), None);

    fs::remove_dir_all(scene.path.join("many")).unwrap();
    let fifth = scene.take(5, Some(&fourth)).expect("they are gone");
    assert_eq!(scene.names(&fifth.commit).lines().count(), 6);
}

/// The agent may use its own pipes for its work.
#[test]
fn working_agent_loses_only_pipes_that_block_git() {
    let scene = Scene::new();
    write(&scene.path.join("core/more.rs"), "more\n");
    for pipe in ["core/pipe", "core/.gitignore"] {
        let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU);
        rustix::fs::mknodat(rustix::fs::CWD, scene.path.join(pipe), kind, mode, 0).unwrap();
    }
    let taken = scene.take(1, None).expect("something new");
    assert_eq!(scene.text(&taken.commit, "core/more.rs"), "more");
    assert!(scene.path.join("core/pipe").exists() && !scene.path.join("core/.gitignore").exists());
}
