//! Checkouts that reading sub-tasks share.

use crate::lab::{Lab, attempt, read, tree_of, write};
use pitcrew_git::{LendCheckout, Vault};
use pitcrew_model::{AttemptId, CommitId, Failure};
use pitcrew_process::Cancel;
use std::{
    cell::RefCell,
    collections::BTreeSet,
    fs,
    os::unix::fs::{MetadataExt, symlink},
    path::PathBuf,
};

const PARENT: AttemptId = AttemptId(1);

struct Scene {
    lab: Lab,
    vault: Vault,
    first: CommitId,
    second: CommitId,
    present: RefCell<BTreeSet<AttemptId>>,
}

fn scene() -> Scene {
    let lab = Lab::new();
    let vault = lab.vault();
    let (_, [first, second]) = lab.two_states(&vault);
    Scene { lab, vault, first, second, present: RefCell::default() }
}

impl Scene {
    fn lend(&self, reader: u64, start: &CommitId) -> PathBuf {
        self.present.borrow_mut().insert(AttemptId(reader));
        let present = self.present.borrow().clone();
        let (attempt, start) = (AttemptId(reader), start.clone());
        let order = LendCheckout { attempt, parent: PARENT, start, present };
        self.vault.lend_checkout(&order, &self.lab.policy, &self.lab.cancel, &|_| {}).unwrap().path
    }

    fn leave(&self, reader: u64) {
        self.present.borrow_mut().remove(&AttemptId(reader));
    }

    /// Asserts that the folder equals the state, both for git and on disk.
    fn assert_is(&self, path: &PathBuf, start: &CommitId) {
        assert_eq!(self.lab.git_in(path, &["rev-parse", "HEAD"]), start.0);
        let status = ["status", "--porcelain", "--ignored", "--untracked-files=all"];
        assert_eq!(self.lab.git_in(path, &status), "");
        let fresh = self.lab.checkout(&self.vault, &attempt(90 + start.0.len() as u64), start);
        let (ours, theirs) = (tree_of(path), tree_of(&fresh.path));
        let names = |tree: &std::collections::BTreeMap<PathBuf, _>, root: &PathBuf| {
            tree.keys().map(|it| it.strip_prefix(root).unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(names(&ours, path), names(&theirs, &fresh.path));
        assert!(ours.values().eq(theirs.values()), "{}", path.display());
        fs::remove_dir_all(&fresh.path).unwrap();
    }
}

/// A reader's changes are undone when it leaves, and not only when the next reader waits.
#[test]
fn checkout_is_reset_when_its_last_reader_leaves() {
    let scene = scene();
    let leave = |reader: u64| {
        scene.leave(reader);
        let (policy, cancel) = (&scene.lab.policy, &scene.lab.cancel);
        scene.vault.leave_lent(AttemptId(reader), policy, cancel).unwrap();
    };
    let path = scene.lend(11, &scene.first);
    assert_eq!(scene.lend(12, &scene.first), path);
    write(&path.join("core/lib.rs"), "by a reader\n");
    write(&path.join("junk/more"), "by a reader\n");
    leave(11);
    assert_eq!(read(&path.join("junk/more")), "by a reader\n", "another reader is in there");
    leave(12);
    leave(12);
    assert!(!path.join("junk").exists());
    assert_ne!(read(&path.join("core/lib.rs")), "by a reader\n");
    // The folder is not checked again, because a change made now is not attributed to a reader.
    assert_eq!(scene.lend(13, &scene.second), path);
    scene.assert_is(&path, &scene.second);
    write(&path.join("junk/more"), "by a reader\n");
    scene.leave(13);
    assert_eq!(scene.lend(14, &scene.first), path, "it was not said that it left");
    scene.assert_is(&path, &scene.first);
}

/// S4-030: readers of the same state share a checkout, which is beside the others.
#[test]
fn readers_of_the_same_state_share_a_checkout() {
    let scene = scene();
    let path = scene.lend(11, &scene.first);
    assert_eq!(path, scene.vault.layout().checkouts.join("attempt-1-reads-1"));
    assert_eq!(scene.lend(12, &scene.first), path);
    assert_eq!(scene.lend(11, &scene.first), path, "asked again it is found");
    assert_eq!(read(&path.join("core/new.rs")), "new\n");
    scene.assert_is(&path, &scene.first);
    let other = scene.lend(13, &scene.second);
    assert_ne!(other, path);
    scene.assert_is(&other, &scene.second);
}

#[test]
fn free_checkout_is_updated_by_changing_only_differences() {
    let scene = scene();
    let path = scene.lend(11, &scene.first);
    let inode = |file: &str| fs::metadata(path.join(file)).unwrap().ino();
    let untouched = inode("api/lib.rs");
    scene.leave(11);
    assert_eq!(scene.lend(12, &scene.second), path);
    assert_eq!(inode("api/lib.rs"), untouched, "what is the same is not written again");
    scene.assert_is(&path, &scene.second);
    scene.leave(12);
    assert_eq!(scene.lend(13, &scene.first), path, "and back");
    scene.assert_is(&path, &scene.first);
}

/// S4-154: no reader sees what an earlier reader wrote.
#[test]
fn readers_changes_are_undone_before_the_next_reader() {
    let scene = scene();
    let path = scene.lend(11, &scene.first);
    let before = fs::metadata(path.join("core/lib.rs")).unwrap();
    write(&path.join("core/lib.rs"), "pub fn evil() {}\n");
    let times = fs::FileTimes::new().set_modified(before.modified().unwrap());
    fs::File::open(path.join("core/lib.rs")).unwrap().set_times(times).unwrap();
    fs::remove_file(path.join("README.md")).unwrap();
    write(&path.join("added/deep/file"), "x");
    write(&path.join(".gitignore"), "*.secret\n");
    write(&path.join("hidden.secret"), "x");
    write(&path.join("nested/.git/config"), "[core]\n\tbare = false\n");
    fs::remove_dir_all(path.join("api")).unwrap();
    symlink("/", path.join("api")).unwrap();
    let trap = scene.lab.home().join("trapped");
    let config = format!("[core]\n\tfsmonitor = touch '{}'\n", trap.display());
    write(&path.join(".git/config"), config);
    let other = scene.lend(12, &scene.first);
    assert_ne!(other, path, "a changed one is not shared");
    scene.leave(11);
    scene.leave(12);
    let (one, two) = (scene.lend(13, &scene.first), scene.lend(14, &scene.second));
    assert!([&one, &two].contains(&&path) && [&one, &two].contains(&&other), "both are used again");
    scene.assert_is(&one, &scene.first);
    scene.assert_is(&two, &scene.second);
    assert!(!trap.exists(), "nothing of the reader's was run");
}

#[test]
fn users_untracked_configuration_is_there_for_every_reader() {
    let scene = scene();
    scene.lab.write(".mcp.json", "{}\n");
    let path = scene.lend(11, &scene.first);
    assert_eq!(read(&path.join(".mcp.json")), "{}\n");
    assert_eq!(scene.lend(12, &scene.first), path);
    write(&path.join(".mcp.json"), "{\"evil\": 1}\n");
    scene.leave(11);
    scene.leave(12);
    assert_eq!(scene.lend(13, &scene.second), path);
    assert_eq!(read(&path.join(".mcp.json")), "{}\n");
}

#[test]
fn partly_updated_checkout_is_made_again() {
    let scene = scene();
    let path = scene.lend(11, &scene.first);
    let record = scene.vault.layout().vault.join("pitcrew/lent/attempt-1/pool.json");
    fs::write(&record, read(&record).replace("\"ready\"", "\"making\"")).unwrap();
    write(&path.join("core/lib.rs"), "torn");
    let again = scene.lend(11, &scene.first);
    scene.assert_is(&again, &scene.first);
    assert_eq!(fs::read_dir(&scene.vault.layout().checkouts).unwrap().count(), 2);
}

/// A git that is killed at any time leaves nothing that blocks the next reader.
#[test]
fn kill_during_lending_costs_only_time() {
    let scene = scene();
    for round in 0..12 {
        let (reader, start) =
            (20 + round, if round % 2 == 0 { &scene.first } else { &scene.second });
        let cancel = Cancel::default();
        std::thread::scope(|scope| {
            let (vault, policy) = (&scene.vault, &scene.lab.policy);
            let (attempt, present) = (AttemptId(reader), BTreeSet::from([AttemptId(reader)]));
            let order = LendCheckout { attempt, parent: PARENT, start: start.clone(), present };
            let cancel = &cancel;
            let lending = scope.spawn(move || vault.lend_checkout(&order, policy, cancel, &|_| {}));
            pitcrew_testkit::eventually("it has begun, or is over", || {
                let pool = vault.layout().vault.join("pitcrew/lent/attempt-1/pool.json");
                let making = fs::read_to_string(pool).is_ok_and(|it| it.contains("making"));
                (making || lending.is_finished()).then_some(())
            });
            cancel.cancel();
            if let Err(failure) = lending.join().expect("no panic") {
                assert_eq!(failure, Failure::Interrupted);
            }
        });
        let path = scene.lend(reader, start);
        scene.assert_is(&path, start);
        scene.leave(reader);
    }
}

#[test]
fn lent_checkouts_are_removed_with_their_parent() {
    let scene = scene();
    let path = scene.lend(11, &scene.first);
    let parent = scene.vault.layout().checkouts.join("task-1-work");
    let (lab, vault) = (&scene.lab, &scene.vault);
    vault.remove_checkout(PARENT, &parent, &lab.policy, &lab.cancel).unwrap();
    assert!(!parent.exists() && !path.exists());
    assert!(!vault.layout().vault.join("pitcrew/lent/attempt-1").exists());
}

/// A removal that was interrupted after the checkout itself is finished by the next call.
#[test]
fn lent_checkouts_are_removed_if_the_parent_is_gone() {
    let scene = scene();
    let lent = scene.lend(2, &scene.first);
    let path = scene.vault.layout().checkouts.join("task-1-work");
    fs::remove_dir_all(&path).unwrap();
    let (policy, cancel) = (&scene.lab.policy, &scene.lab.cancel);
    let removed = scene.vault.remove_checkout(PARENT, &path, policy, cancel).unwrap();
    assert_eq!(removed, pitcrew_git::Removal::Removed);
    assert!(!lent.exists());
    let notes = scene.vault.layout().vault.join("pitcrew");
    assert!(!notes.join("attempts/attempt-1").exists() && !notes.join("lent/attempt-1").exists());
}
