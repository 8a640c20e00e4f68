//! Landing, abandoning and garbage collection.

use crate::support::*;

/// S4-115, S4-117: one merge on the base branch, and the checkouts are removed afterwards.
#[test]
fn plan_lands_as_one_merge() {
    let sandbox = sandbox();
    let plan = sandbox.plan(TWO_COMMANDS);
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
    let checkout = checkout(&sandbox, "second");
    assert!(checkout.join("ui").is_dir(), "{}", checkout.display());
    let diff = sandbox.pitcrew(&["diff", "plan-1"]).expect(0);
    assert!(diff.stdout.contains("+++ b/ui/new.txt"), "{diff}");
    sandbox.pitcrew(&["diff", "task-1", "--json"]).expect(0);
    let landed = sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(0);
    assert!(landed.stdout.contains("plan-1 landed on main as "), "{landed}");
    assert_eq!(sandbox.read("ui/new.txt"), "1\n1\n");
    assert_eq!(sandbox.git(&["rev-list", "--count", "--first-parent", "HEAD"]), "2");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    pitcrew_testkit::eventually("the checkouts are gone", || (!checkout.exists()).then_some(()));
    let again = sandbox.pitcrew(&["land", "plan-1"]).expect(6);
    assert!(again.stderr.starts_with("error: plan-1 has already landed"), "{again}");
    assert_eq!(again.stderr.lines().count(), 1, "nothing is shown for review: {again}");
    sandbox.pitcrew(&["status", "--all"]).expect(0).says("landed as ");
}

/// S4-110: nothing lands before a person has approved it.
#[test]
fn landing_without_a_terminal_waits_for_approval() {
    let sandbox = sandbox();
    let plan = sandbox.plan(TWO_COMMANDS);
    sandbox.pitcrew(&["land", "plan-1"]).expect(2).notes("there is no plan-1");
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
    sandbox.pitcrew(&["land", "tidy up"]).expect(3).notes("pitcrew approve request-1");
    sandbox.pitcrew(&["inbox"]).expect(0).says("into main");
    sandbox.pitcrew(&["approve", "request-1"]).expect(0);
    pitcrew_testkit::eventually("it is landed", || {
        sandbox.repo().join("ui/new.txt").exists().then_some(())
    });
}

#[test]
fn abandoned_plan_is_hidden_and_can_still_land() {
    let sandbox = sandbox();
    let plan = sandbox.plan(TWO_COMMANDS);
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
    sandbox.pitcrew(&["land", "plan-1"]).expect(3);
    let refused = sandbox.pitcrew(&["abandon", "plan-1"]).expect(2);
    assert!(refused.stderr.contains("2 completed tasks not landed yet"), "{refused}");
    assert!(refused.stderr.contains("pitcrew abandon plan-1 --yes"), "{refused}");
    sandbox.pitcrew(&["status"]).expect(0).says("plan-1");
    sandbox.pitcrew(&["abandon", "plan-1", "--yes"]).expect(0).says("pitcrew land plan-1");
    let board = sandbox.pitcrew(&["status"]).expect(0).says("no current plans");
    assert!(!board.stdout.contains("plan-1"), "{board}");
    sandbox.pitcrew(&["status", "--all"]).expect(0).says("abandoned: `pitcrew land plan-1`");
    sandbox.pitcrew(&["approve", "request-1"]).expect(6);
    sandbox.pitcrew(&["abandon", "plan-1"]).expect(0);
    sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(0);
    assert_eq!(sandbox.read("ui/new.txt"), "1\n1\n");
}

#[test]
fn running_plan_cannot_be_landed() {
    let sandbox = sandbox();
    let plan = sandbox.plan(&gated(&sandbox, "gated"));
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(6).notes("plan-1 is active");
    open_gate(&sandbox);
    sandbox.pitcrew(&["watch"]).expect(0);
}

/// A merge never overwrites uncommitted changes; the result is on a separate branch.
#[test]
fn plan_lands_on_a_separate_branch_beside_uncommitted_changes() {
    let sandbox = sandbox();
    let plan = sandbox.plan(TWO_COMMANDS);
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
    sandbox.write("core/one.txt", "mine\n");
    let beside = sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(10);
    let beside = beside.says("plan-1 is on pitcrew/plan-1-tidy-up as ");
    beside.notes("commit or stash your changes, then: pitcrew land plan-1");
    assert_eq!(sandbox.read("core/one.txt"), "mine\n");
    let status =
        sandbox.pitcrew(&["status"]).expect(0).says("the result is on pitcrew/plan-1-tidy-up");
    status.says("`pitcrew land plan-1` tries again");
    sandbox.git(&["stash", "--quiet"]);
    sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(0).says("plan-1 landed on main as ");
    assert_eq!(sandbox.read("ui/new.txt"), "1\n1\n");
    sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(6).notes("has already landed");
}

#[test]
fn result_merged_by_hand_counts_as_landed() {
    let sandbox = sandbox();
    let plan = sandbox.plan(TWO_COMMANDS);
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
    sandbox.write("core/one.txt", "mine\n");
    sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(10);
    sandbox.commit("mine");
    sandbox.git(&["merge", "--quiet", "--no-edit", "pitcrew/plan-1-tidy-up"]);
    let merged = sandbox.git(&["rev-parse", "main"]);
    sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(0).says("plan-1 landed on main as ");
    assert_eq!(sandbox.git(&["rev-parse", "main"]), merged, "nothing was added");
    sandbox.pitcrew(&["status", "--all"]).expect(0).says("landed as ");
}

/// Each form of history through the binary: by the settings of the repository, and by a flag.
#[test]
fn history_follows_settings_and_flags() {
    let sandbox = sandbox();
    sandbox.write(".pitcrew/config.toml", "[landing]\nhistory = \"linear\"\n");
    sandbox.commit("how we land");
    let plan = sandbox.plan(TWO_COMMANDS);
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
    sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(0).says("2 commits, ");
    assert_eq!(sandbox.git(&["rev-list", "--merges", "--count", "main"]).trim(), "0");
    let more = "name = \"more\"\n[[task]]\nid = \"a\"\nregion = \"core\"\ncommand = \"echo > core/a\"\n\
                [[task]]\nid = \"b\"\nregion = \"docs\"\ncommand = \"mkdir -p docs && echo > docs/b\"\n";
    sandbox.pitcrew(&["run", &sandbox.plan(more), "--yes"]).expect(0);
    let squashed = ["land", "plan-2", "--yes", "--squash", "-m", "Tidy up again"];
    sandbox.pitcrew(&squashed).expect(0).says("1 commit, ");
    assert_eq!(sandbox.git(&["log", "-1", "--format=%s"]).trim(), "Tidy up again");
    sandbox.pitcrew(&["land", "plan-2", "--squash", "--rebase"]).expect(2);
    sandbox.write(".pitcrew/config.toml", "[landing]\nhistory = \"rebase\"\n");
    let refused = sandbox.pitcrew(&["config", "show"]).expect(2);
    refused.notes("config.toml:2:11").notes("write `merge`, `squash` or `linear`");
}

#[test]
fn conflicting_branch_is_not_changed() {
    let sandbox = sandbox();
    let plan = sandbox.plan(TWO_COMMANDS);
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
    sandbox.write("core/new.txt", "mine\n");
    sandbox.commit("mine");
    let refused = sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(8);
    assert!(refused.stderr.contains("core/new.txt"), "{refused}");
    assert_eq!(sandbox.read("core/new.txt"), "mine\n");
}

/// Only checkouts of completed or abandoned tasks are removed.
#[test]
fn gc_removes_checkouts_that_are_not_needed() {
    let sandbox = sandbox();
    let plan = sandbox.plan(&fallible(&sandbox));
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(5);
    let checkout = checkout(&sandbox, "task-1");
    let preview = sandbox.pitcrew(&["gc", "--dry-run"]).expect(0);
    assert!(preview.stdout.contains("would keep"), "{preview}");
    assert!(preview.stdout.contains("pitcrew abandon task-1"), "{preview}");
    sandbox.pitcrew(&["gc"]).expect(0).notes("0 checkouts removed");
    assert!(checkout.is_dir());
    pitcrew_testkit::eventually("it can be abandoned", || {
        (sandbox.pitcrew(&["abandon", "plan-1"]).expect(0).code == Some(0) && !checkout.exists())
            .then_some(())
    });
    sandbox.pitcrew(&["gc", "--json"]).expect(0).json();
}

/// A checkout with unsaved work is kept, and the JSON output says why.
#[test]
fn gc_keeps_and_reports_a_changed_checkout() {
    let sandbox = sandbox();
    let plan = sandbox.plan(TWO_COMMANDS);
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
    let checkout = checkout(&sandbox, "second");
    std::fs::write(checkout.join("ui/late.txt"), "late\n").expect("a file");
    pitcrew_testkit::eventually("both may go", || {
        let preview = sandbox.pitcrew(&["gc", "--dry-run", "--json"]).expect(0).json();
        (preview["removable"].as_array().map(Vec::len) == Some(2)).then_some(())
    });
    let done = sandbox.pitcrew(&["gc", "--json"]).expect(0).json();
    assert_eq!(done["removed"].as_array().map(Vec::len), Some(1), "{done}");
    assert_eq!(done["removed"][0]["task"], "task-1", "{done}");
    assert_eq!(done["kept"].as_array().map(Vec::len), Some(1), "{done}");
    assert_eq!(text(&done["kept"][0]["path"]), checkout.display().to_string(), "{done}");
    assert!(text(&done["kept"][0]["reason"]).contains("it changed after its work"), "{done}");
    assert!(checkout.join("ui/late.txt").exists());
}
