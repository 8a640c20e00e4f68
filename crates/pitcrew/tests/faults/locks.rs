//! One of our git processes is killed in the user's repository.

use crate::support::*;
use pitcrew_testkit::{Sandbox, eventually};

/// A plan whose landing stops once in the middle of the user's checkout.
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
fn killed_landing_removes_its_lock_and_continues() {
    let sandbox = sandbox();
    lands_slowly(&sandbox);
    let landing = sandbox.start(&["land", "plan-1", "--yes"]);
    eventually("the checkout is being changed", || {
        sandbox.root().join("begun").exists().then_some(())
    });
    let lock = sandbox.repo().join(".git/index.lock");
    assert!(lock.exists(), "git holds the index meanwhile");
    sandbox.kill_orchestrator();
    landing.wait().expect(0).says("landed on main");
    assert!(!lock.exists());
    assert_eq!(sandbox.read("core/new.slow"), "new\n");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}

/// A lock of someone else is never removed, even if no process seems to hold it.
#[test]
fn user_git_lock_is_kept_and_reported() {
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
