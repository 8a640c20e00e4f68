//! Pulls the work of a sub-task into its parent's checkout.

use crate::lab::{Lab, attempt, make_executable, read, tree_of, write};
use pitcrew_git::{PullWork, Vault};
use pitcrew_model::{AttemptId, CommitId, Failure, PlanBase, Work, Zone};
use std::{fs, path::PathBuf};

struct Scene {
    lab: Lab,
    vault: Vault,
    base: PlanBase,
    /// The parent's checkout, with uncommitted work in it.
    path: PathBuf,
    /// The commit that the sub-task started from.
    shared: CommitId,
}

const LINES: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n";

fn scene() -> Scene {
    let lab = Lab::new();
    lab.write("core/lines.txt", LINES);
    lab.commit("lines");
    let vault = lab.vault();
    let base = lab.plan(&vault);
    let path = lab.checkout(&vault, &attempt(1), &base.start).path;
    write(&path.join("core/parent.rs"), "uncommitted\n");
    write(&path.join("api/lib.rs"), "committed\n");
    lab.git_in(&path, &["add", "api"]);
    lab.git_in(&path, &["commit", "--quiet", "-m", "by the agent"]);
    write(&path.join("staged.txt"), "staged\n");
    lab.git_in(&path, &["add", "staged.txt"]);
    let shared = lab.save(&vault, &attempt(1), &path).unwrap();
    Scene { lab, vault, base, path, shared }
}

impl Scene {
    /// The result of a sub-task that edits the parent's state.
    fn child(&self, number: u64, edit: impl FnOnce(&PathBuf)) -> CommitId {
        let path = self.lab.checkout(&self.vault, &attempt(number), &self.shared).path;
        edit(&path);
        self.lab.collect(&self.vault, &attempt(number), &path, &self.shared, &[]).unwrap().commit
    }

    fn pull(&self, work: &CommitId) -> Result<Work, Failure> {
        let order = PullWork {
            attempt: AttemptId(1),
            path: self.path.clone(),
            base: self.shared.clone(),
            work: work.clone(),
            zone: Zone::default(),
        };
        self.vault.pull(&order, &self.lab.policy, &self.lab.cancel)
    }

    fn git(&self, args: &[&str]) -> String {
        self.lab.git_in(&self.path, args)
    }
}

/// S1-035: the child's work is merged into the parent's tree. The parent's uncommitted changes stay
/// uncommitted, and its index and HEAD are unchanged.
#[test]
fn sub_task_work_is_merged_into_the_parents_tree() {
    let scene = scene();
    let work = scene.child(2, |path| {
        write(&path.join("core/child.rs"), "child\n");
        write(&path.join("core/lines.txt"), LINES.replace("one", "ONE"));
        make_executable(&path.join("api/lib.rs"));
        fs::remove_file(path.join("README.md")).unwrap();
    });
    // The parent continues to work.
    write(&scene.path.join("core/lines.txt"), LINES.replace("nine", "NINE"));
    write(&scene.path.join("core/parent.rs"), "uncommitted, and more\n");
    let (head, index) = (scene.git(&["rev-parse", "HEAD"]), scene.git(&["ls-files", "-s"]));
    let pulled = scene.pull(&work).unwrap();
    assert_eq!((pulled.files_count, &pulled.commit), (4, &work));
    assert_eq!(read(&scene.path.join("core/child.rs")), "child\n");
    let merged = LINES.replace("one", "ONE").replace("nine", "NINE");
    assert_eq!(read(&scene.path.join("core/lines.txt")), merged);
    assert!(!scene.path.join("README.md").exists());
    assert_eq!(read(&scene.path.join("core/parent.rs")), "uncommitted, and more\n");
    assert_eq!(scene.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(scene.git(&["ls-files", "-s"]), index);
    let status = scene.git(&["status", "--porcelain"]);
    assert!(status.contains("A  staged.txt") && status.contains("?? core/child.rs"), "{status}");
    assert_eq!(scene.pull(&work).unwrap(), pulled, "asked again nothing happens");
    let refs = scene.lab.vault_git(&scene.vault, &["for-each-ref", "refs/pitcrew/pulls"]);
    assert_eq!(refs, "");
}

#[test]
fn conflict_is_named_and_the_tree_is_unchanged() {
    let scene = scene();
    let work = scene.child(2, |path| {
        write(&path.join("core/lines.txt"), LINES.replace("five", "child"));
        write(&path.join("core/fine.rs"), "fine\n");
    });
    write(&scene.path.join("core/lines.txt"), LINES.replace("five", "parent"));
    let before = tree_of(&scene.path);
    let failure = scene.pull(&work).expect_err("a conflict");
    assert_eq!(failure, Failure::Conflict { paths: vec!["core/lines.txt".into()], with: vec![] });
    assert_eq!(tree_of(&scene.path), before);
    // The parent reverts its change and tries again.
    write(&scene.path.join("core/lines.txt"), LINES);
    scene.pull(&work).unwrap();
    assert_eq!(read(&scene.path.join("core/fine.rs")), "fine\n");
}

#[test]
fn ignored_file_in_the_way_is_not_overwritten() {
    let scene = scene();
    let work = scene.child(2, |path| write(&path.join("local.cfg"), "of the child\n"));
    write(&scene.path.join(".gitignore"), "*.cfg\n");
    write(&scene.path.join("local.cfg"), "precious\n");
    let before = tree_of(&scene.path);
    let failure = scene.pull(&work).expect_err("a conflict");
    assert_eq!(failure, Failure::Conflict { paths: vec!["local.cfg".into()], with: vec![] });
    assert_eq!(tree_of(&scene.path), before);
}

#[test]
fn several_children_are_pulled_one_after_another() {
    let scene = scene();
    let works = [2, 3, 4].map(|number| {
        scene.child(number, |path| write(&path.join(format!("core/{number}.rs")), "new\n"))
    });
    for work in &works {
        assert_eq!(scene.pull(work).unwrap().files_count, 1);
    }
    for number in [2, 3, 4] {
        assert_eq!(read(&scene.path.join(format!("core/{number}.rs"))), "new\n");
    }
    let work = scene.lab.collect(
        &scene.vault,
        &attempt(1),
        &scene.path,
        &scene.base.start,
        &["core", "api", "staged.txt"],
    );
    assert_eq!(work.unwrap().files_count, 6, "it is the parent's work now");
}

/// A kill during the change leaves some files new and one incomplete.
#[test]
fn interrupted_pull_is_finished() {
    let scene = scene();
    let work = scene.child(2, |path| {
        write(&path.join("core/a.rs"), "a of the child\n");
        write(&path.join("core/b.rs"), "b of the child\n");
        write(&path.join("core/lines.txt"), LINES.replace("one", "ONE"));
        fs::remove_file(path.join("README.md")).unwrap();
    });
    write(&scene.path.join("core/lines.txt"), LINES.replace("nine", "NINE"));
    let pulled = scene.pull(&work).unwrap();
    let wanted = tree_of(&scene.path);
    let record =
        scene.vault.layout().vault.join(format!("pitcrew/attempts/attempt-1/pulls/{work}.json"));
    fs::write(&record, read(&record).replace("\"done\"", "\"applying\"")).unwrap();
    fs::remove_file(scene.path.join("core/a.rs")).unwrap();
    write(&scene.path.join("core/b.rs"), "b of");
    write(&scene.path.join("core/lines.txt"), LINES.replace("nine", "NINE"));
    write(&scene.path.join("README.md"), "# shop\n");
    write(&scene.path.join("core/parent.rs"), "it went on meanwhile\n");
    assert_eq!(scene.pull(&work).unwrap(), pulled);
    let now = tree_of(&scene.path);
    let parents = scene.path.join("core/parent.rs");
    assert_eq!(read(&parents), "it went on meanwhile\n");
    assert_eq!(wanted.len(), now.len());
    assert!(wanted.iter().all(|(path, file)| path == &parents || now.get(path) == Some(file)));
    let torn = format!("refs/pitcrew/pulls/attempt-1/{work}-torn:core/b.rs");
    let torn = scene.lab.vault_git(&scene.vault, &["show", &torn]);
    assert_eq!(torn, "b of", "what was found there is kept");
}

/// A file in the middle cannot be written, as on a full disk.
#[test]
fn failed_pull_is_undone() {
    let scene = scene();
    let work = scene.child(2, |path| {
        write(&path.join("core/a.rs"), "a of the child\n");
        write(&path.join("core/lines.txt"), LINES.replace("one", "ONE"));
        fs::remove_file(path.join("README.md")).unwrap();
    });
    let git = |args: &[&str]| scene.lab.vault_git(&scene.vault, args).trim().to_owned();
    // No file system supports names of this length.
    let blob = git(&["rev-parse", &format!("{work}:core/a.rs")]);
    let list = git(&["ls-tree", &work.0]) + &format!("\n100644 blob {blob}\t{}\n", "x".repeat(300));
    let made = scene.lab.try_git(&scene.vault.layout().vault, &["mktree"], list);
    let tree = String::from_utf8(made.stdout).unwrap();
    let long = git(&["commit-tree", "-p", &scene.shared.0, "-m", "long", tree.trim()]);
    write(&scene.path.join("core/lines.txt"), LINES.replace("nine", "NINE"));
    let before = tree_of(&scene.path);
    for _ in 0..2 {
        let failure = scene.pull(&CommitId(long.clone())).expect_err("no such name");
        assert!(failure.to_string().contains("too long"), "{failure}");
        assert_eq!(tree_of(&scene.path), before);
    }
    scene.pull(&work).unwrap();
    assert_eq!(read(&scene.path.join("core/a.rs")), "a of the child\n");
}

#[test]
fn missing_checkout_is_reported() {
    let scene = scene();
    let work = scene.child(2, |path| write(&path.join("core/child.rs"), "child\n"));
    fs::remove_dir_all(&scene.path).unwrap();
    let failure = scene.pull(&work).expect_err("no checkout");
    assert!(matches!(failure, Failure::Checkout { .. }), "{failure:?}");
}
