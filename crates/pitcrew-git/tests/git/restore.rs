//! Restored work becomes a branch, and nothing else is left in the user's repository.

use crate::lab::{Lab, attempt, write};
use pitcrew_git::{RestoreWork, TakeSnapshot, Vault};
use pitcrew_model::{AttemptId, CommitId, PlanBase, TaskId};
use std::{fs, path::Path};

fn keep(lab: &Lab, vault: &Vault, base: &PlanBase, path: &Path, count: u32) -> Vec<CommitId> {
    let mut kept: Vec<CommitId> = Vec::new();
    for number in 1..=count {
        write(&path.join("core/lib.rs"), format!("{number}\n"));
        let (start, base) = (base.start.clone(), base.start.clone());
        let (path, last) = (path.to_owned(), kept.last().cloned());
        let order = TakeSnapshot { attempt: AttemptId(1), path, start, base, number, last };
        let taken = vault.take_snapshot(&order, &lab.policy, &lab.cancel).expect("a look");
        kept.push(taken.expect("something changed").commit);
    }
    kept
}

#[test]
fn failed_restore_leaves_nothing_with_the_user() {
    let lab = Lab::new();
    let vault = lab.vault();
    let base = lab.plan(&vault);
    let path = lab.checkout(&vault, &attempt(1), &base.start).path;
    let commit = keep(&lab, &vault, &base, &path, 1).remove(0);
    let (task, slug, base) = (TaskId(1), "work".into(), base.start);
    let order = RestoreWork { task, slug, number: 1, commit: commit.clone(), base };
    // A branch of this name prevents branches below it.
    lab.git(&["branch", "pitcrew"]);
    let before = lab.git(&["for-each-ref"]);
    vault.restore(&order, &lab.cancel).expect_err("there is no room for the branch");
    assert_eq!(lab.git(&["for-each-ref"]), before);
    lab.git(&["branch", "-D", "--quiet", "pitcrew"]);
    let (branch, _) = vault.restore(&order, &lab.cancel).expect("restored");
    assert_eq!(lab.rev(&branch), commit);
    assert_eq!(lab.git(&["for-each-ref", "refs/pitcrew"]), "");
}

#[test]
fn snapshots_are_dropped_despite_a_stale_lock() {
    let lab = Lab::new();
    let vault = lab.vault();
    let base = lab.plan(&vault);
    let path = lab.checkout(&vault, &attempt(1), &base.start).path;
    let kept = keep(&lab, &vault, &base, &path, 3);
    let lock = vault.layout().vault.join("packed-refs.lock");
    fs::write(&lock, "").unwrap();
    vault.drop_snapshots(AttemptId(1), &lab.cancel).expect("dropped");
    assert!(!lock.exists());
    let refs = ["for-each-ref", "--format=%(objectname)", "refs/pitcrew/snapshots"];
    assert_eq!(lab.vault_git(&vault, &refs), kept[2].0);
}
