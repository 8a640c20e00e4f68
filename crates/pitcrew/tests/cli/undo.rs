//! `pitcrew undo land`.

use crate::support::*;
use pitcrew_testkit::Sandbox;

/// A landed plan, and where the branch was before.
fn landed() -> (Sandbox, String) {
    let sandbox = sandbox();
    sandbox.pitcrew(&["run", &sandbox.plan(TWO_COMMANDS), "--yes"]).expect(0);
    let before = head(&sandbox);
    sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(0);
    (sandbox, before)
}

fn head(sandbox: &Sandbox) -> String {
    sandbox.git(&["rev-parse", "main"])
}

#[test]
fn undo_restores_the_branch_and_the_tree() {
    let (sandbox, before) = landed();
    let merged = head(&sandbox);
    let asked = sandbox.pitcrew(&["undo", "land", "plan-1"]).expect(2);
    asked.notes("pitcrew undo land plan-1 --yes");
    let undone = sandbox.pitcrew(&["undo", "land", "plan-1", "--yes"]).expect(0);
    undone.says("the landing of plan-1 is undone: main is at ");
    assert_eq!(head(&sandbox), before);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    assert!(!sandbox.repo().join("ui/new.txt").exists());
    let status = sandbox.pitcrew(&["status", "plan-1"]).expect(0);
    status.says("landing undone: main is at ").says("`pitcrew land plan-1` lands it again");
    sandbox.pitcrew(&["undo", "land", "plan-1", "--yes"]).expect(6).notes("was undone");
    let log = sandbox.pitcrew(&["logs", "plan-1"]).expect(0);
    log.says("landing undoing -> undone");
    // It lands again, as the same commits.
    sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(0).says("landed on main");
    assert_eq!(head(&sandbox), merged);
    assert_eq!(sandbox.read("ui/new.txt"), "1\n1\n");
}

#[test]
fn undo_reverts_what_was_already_pushed() {
    let (sandbox, _) = landed();
    let merged = head(&sandbox);
    sandbox.git(&["update-ref", "refs/remotes/origin/main", "main"]);
    let undone = sandbox.pitcrew(&["undo", "land", "plan-1", "--yes", "--json"]).expect(0).json();
    assert_eq!(undone["landing"]["undo"]["by"], "revert_of_pushed", "{undone}");
    assert_eq!(sandbox.git(&["rev-parse", "main^"]), merged);
    assert!(!sandbox.repo().join("ui/new.txt").exists());
    let message = sandbox.git(&["log", "-1", "--format=%an%n%B"]);
    assert!(message.starts_with("Test Person\nRevert \"tidy up\"\n"), "{message}");
    assert!(
        message.contains(&format!("This reverts the landing of plan-1, {merged}.")),
        "{message}"
    );
    sandbox.pitcrew(&["status", "plan-1"]).expect(0).says("main has the revert ");
    // The changes come back, although the branch contains the first landing.
    sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(0);
    assert_eq!(sandbox.read("ui/new.txt"), "1\n1\n");
    sandbox.pitcrew(&["undo", "land", "plan-1", "--yes"]).expect(0);
    assert!(!sandbox.repo().join("ui/new.txt").exists());
}

#[test]
fn undo_reverts_below_later_commits() {
    let (sandbox, _) = landed();
    sandbox.write("core/later.txt", "later\n");
    sandbox.commit("later");
    let undone = sandbox.pitcrew(&["undo", "land", "plan-1", "--yes"]).expect(0);
    undone.says("plan-1 is reverted on main by ").says("later commits are on top");
    assert_eq!(sandbox.read("core/later.txt"), "later\n");
    assert!(!sandbox.repo().join("core/new.txt").exists());
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}

#[test]
fn undo_that_conflicts_changes_nothing() {
    let (sandbox, _) = landed();
    sandbox.write("core/new.txt", "rewritten\n");
    sandbox.commit("later");
    let later = head(&sandbox);
    let refused = sandbox.pitcrew(&["undo", "land", "plan-1", "--yes"]).expect(8);
    refused.notes("was not undone").notes("conflict in core/new.txt");
    assert_eq!(head(&sandbox), later);
    sandbox.pitcrew(&["status", "plan-1"]).expect(0).says("landed as ");
}

/// Neither a changed file nor an untracked one in the way is overwritten.
#[test]
fn undo_never_touches_a_dirty_tree() {
    let sandbox = sandbox();
    let removes = "name = \"removes\"\n[[task]]\nid = \"removes\"\nregion = \"core\"\n\
                   command = \"git rm -q core/one.txt\"\n";
    sandbox.pitcrew(&["run", &sandbox.plan(removes), "--yes"]).expect(0);
    let before = head(&sandbox);
    sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(0);
    let merged = head(&sandbox);
    sandbox.write("ui/two.txt", "mine\n");
    let refused = sandbox.pitcrew(&["undo", "land", "plan-1", "--yes"]).expect(8);
    refused.notes("uncommitted changes");
    assert_eq!((sandbox.read("ui/two.txt"), head(&sandbox)), ("mine\n".into(), merged.clone()));
    sandbox.git(&["checkout", "--quiet", "ui/two.txt"]);
    sandbox.write(".git/info/exclude", "one.txt\n");
    sandbox.write("core/one.txt", "mine\n");
    let refused = sandbox.pitcrew(&["undo", "land", "plan-1", "--yes"]).expect(8);
    refused.notes("core/one.txt is not tracked and would be overwritten");
    assert_eq!((sandbox.read("core/one.txt"), head(&sandbox)), ("mine\n".into(), merged));
    std::fs::remove_file(sandbox.repo().join("core/one.txt")).expect("removed");
    sandbox.pitcrew(&["undo", "land", "plan-1", "--yes"]).expect(0);
    assert_eq!((sandbox.read("core/one.txt"), head(&sandbox)), ("one\n".into(), before));
}

/// A branch that is checked out nowhere is moved without touching any tree.
#[test]
fn undo_moves_a_branch_that_is_not_checked_out() {
    let (sandbox, before) = landed();
    sandbox.git(&["checkout", "--quiet", "-b", "other"]);
    sandbox.write("core/new.txt", "mine\n");
    sandbox.pitcrew(&["undo", "land", "plan-1", "--yes"]).expect(0);
    assert_eq!(head(&sandbox), before);
    assert_eq!(sandbox.read("core/new.txt"), "mine\n");
}

#[test]
fn plan_that_has_not_landed_cannot_be_undone() {
    let sandbox = sandbox();
    sandbox.pitcrew(&["run", &sandbox.plan(TWO_COMMANDS), "--yes"]).expect(0);
    sandbox.pitcrew(&["undo", "land", "plan-1"]).expect(6).notes("plan-1 has not landed");
    sandbox.pitcrew(&["undo", "land", "plan-9"]).expect(2);
}

#[test]
fn revert_is_signed_too() {
    let (sandbox, _) = landed();
    let key = sandbox.home().join("ada").display().to_string();
    let arguments = ["-q", "-t", "ed25519", "-N", "", "-f", &key];
    sandbox.start_program("ssh-keygen", &arguments).wait().expect(0);
    sandbox.git(&["update-ref", "refs/remotes/origin/main", "main"]);
    for (name, value) in
        [("commit.gpgSign", "true"), ("gpg.format", "ssh"), ("user.signingKey", &key)]
    {
        sandbox.git(&["config", name, value]);
    }
    let undone = sandbox.pitcrew(&["undo", "land", "plan-1", "--yes"]).expect(0);
    undone.notes("signing 1 commit with your key");
    let raw = sandbox.git(&["cat-file", "commit", "main"]);
    assert!(raw.contains("gpgsig -----BEGIN SSH SIGNATURE-----"), "{raw}");
    assert!(!sandbox.repo().join("ui/new.txt").exists());
    assert_eq!(sandbox.git(&["for-each-ref", "refs/pitcrew"]), "", "nothing is left behind");
}
