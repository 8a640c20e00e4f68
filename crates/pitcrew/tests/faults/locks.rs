//! A git of ours is killed in the middle of the user's repository.

use crate::support::*;
use pitcrew_testkit::{Sandbox, eventually};

/// A plan whose landing stops in the middle of the user's checkout, once.
fn lands_slowly(sandbox: &Sandbox) {
    let root = sandbox.root().display();
    let smudge = format!("[ -e '{root}/begun' ] || {{ touch '{root}/begun'; sleep 600; }}; cat");
    sandbox.git(&["config", "filter.slow.smudge", &smudge]);
    sandbox.write(".gitattributes", "*.slow filter=slow\n");
    sandbox.commit("a slow filter");
    let plan = sandbox.plan(
        "name = \"slow\"\n[[task]]\nid = \"add\"\nregion = \"core\"\ncommand = \"echo new > core/new.slow\"\n",
    );
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
}

#[test]
fn the_lock_of_a_landing_that_was_killed_is_removed_and_the_landing_goes_on() {
    let sandbox = sandbox();
    lands_slowly(&sandbox);
    let landing = sandbox.start(&["land", "plan-1", "--yes"]);
    eventually("the checkout is being changed", || {
        sandbox.root().join("begun").exists().then_some(())
    });
    let lock = sandbox.repo().join(".git/index.lock");
    assert!(lock.exists(), "git holds the index meanwhile");
    sandbox.kill_orchestrator();
    landing.wait().expect(0).says("is landed on main");
    assert!(!lock.exists());
    assert_eq!(sandbox.read("core/new.slow"), "new\n");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}

/// The lock of somebody else is theirs, also when nobody seems to hold it.
#[test]
fn a_lock_of_the_users_own_git_stays_and_is_named() {
    let sandbox = sandbox();
    let plan = sandbox.plan(
        "name = \"locked\"\n[[task]]\nid = \"add\"\nregion = \"core\"\ncommand = \"echo new > core/new.txt\"\n",
    );
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
    let lock = sandbox.repo().join(".git/index.lock");
    std::fs::write(&lock, "").expect("a lock");
    let landed = sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(10);
    landed.says("is on pitcrew/plan-1-locked as ").notes("index.lock` is there");
    assert!(lock.exists());
}
