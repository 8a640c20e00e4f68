//! Landing and tidying up.

use crate::support::*;

/// S4-115, S4-117: one merge on the base branch, and the checkouts are gone after it.
#[test]
fn a_plan_is_landed_as_one_merge() {
    let sandbox = sandbox();
    let plan = sandbox.plan(TWO_COMMANDS);
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
    let checkout = checkout(&sandbox, "second");
    assert!(checkout.join("ui").is_dir(), "{}", checkout.display());
    let diff = sandbox.pitcrew(&["diff", "plan-1"]).expect(0);
    assert!(diff.stdout.contains("+++ b/ui/new.txt"), "{diff}");
    sandbox.pitcrew(&["diff", "task-1", "--json"]).expect(0);
    let landed = sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(0);
    assert!(landed.stdout.contains("plan-1 is landed on main as "), "{landed}");
    assert_eq!(sandbox.read("ui/new.txt"), "1\n1\n");
    assert_eq!(sandbox.git(&["rev-list", "--count", "--first-parent", "HEAD"]), "2");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    pitcrew_testkit::eventually("the checkouts are gone", || (!checkout.exists()).then_some(()));
    let again = sandbox.pitcrew(&["land", "plan-1"]).expect(6);
    assert!(again.stderr.starts_with("error: plan-1 has landed already"), "{again}");
    assert_eq!(again.stderr.lines().count(), 1, "nothing is shown for review: {again}");
    sandbox.pitcrew(&["status", "--all"]).expect(0).says("landed as ");
}

/// S4-110: nothing lands before a person has agreed.
#[test]
fn a_landing_waits_for_approval_when_nobody_can_be_asked() {
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
fn a_plan_that_is_not_to_be_landed_leaves_the_board_and_loses_nothing() {
    let sandbox = sandbox();
    let plan = sandbox.plan(TWO_COMMANDS);
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
    sandbox.pitcrew(&["land", "plan-1"]).expect(3);
    let refused = sandbox.pitcrew(&["abandon", "plan-1"]).expect(2);
    assert!(refused.stderr.contains("2 completed tasks that are not landed"), "{refused}");
    assert!(refused.stderr.contains("pitcrew abandon plan-1 --yes"), "{refused}");
    sandbox.pitcrew(&["status"]).expect(0).says("plan-1");
    sandbox.pitcrew(&["abandon", "plan-1", "--yes"]).expect(0).says("pitcrew land plan-1");
    let board = sandbox.pitcrew(&["status"]).expect(0).says("there is no current plan");
    assert!(!board.stdout.contains("plan-1"), "{board}");
    sandbox.pitcrew(&["status", "--all"]).expect(0).says("given up; `pitcrew land plan-1`");
    sandbox.pitcrew(&["approve", "request-1"]).expect(6);
    sandbox.pitcrew(&["abandon", "plan-1"]).expect(0);
    sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(0);
    assert_eq!(sandbox.read("ui/new.txt"), "1\n1\n");
}

#[test]
fn a_plan_that_runs_cannot_be_landed() {
    let sandbox = sandbox();
    let plan = sandbox.plan(&gated(&sandbox, "gated"));
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(6).notes("plan-1 is active");
    open_gate(&sandbox);
    sandbox.pitcrew(&["watch"]).expect(0);
}

/// What is not committed is never merged over; the result waits beside it.
#[test]
fn a_plan_lands_beside_a_tree_with_changes_and_says_how_to_merge_it() {
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
    sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(0).says("plan-1 is landed on main as ");
    assert_eq!(sandbox.read("ui/new.txt"), "1\n1\n");
    sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(6).notes("has landed already");
}

#[test]
fn a_result_that_was_merged_by_hand_counts_as_landed() {
    let sandbox = sandbox();
    let plan = sandbox.plan(TWO_COMMANDS);
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
    sandbox.write("core/one.txt", "mine\n");
    sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(10);
    sandbox.commit("mine");
    sandbox.git(&["merge", "--quiet", "--no-edit", "pitcrew/plan-1-tidy-up"]);
    let merged = sandbox.git(&["rev-parse", "main"]);
    sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(0).says("plan-1 is landed on main as ");
    assert_eq!(sandbox.git(&["rev-parse", "main"]), merged, "nothing was added");
    sandbox.pitcrew(&["status", "--all"]).expect(0).says("landed as ");
}

/// Each form of history through the binary: by the settings of the repository, and by a flag.
#[test]
fn a_plan_lands_in_the_form_of_history_that_is_wanted() {
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
fn a_branch_that_moved_apart_is_a_conflict_and_stays_as_it_is() {
    let sandbox = sandbox();
    let plan = sandbox.plan(TWO_COMMANDS);
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
    sandbox.write("core/new.txt", "mine\n");
    sandbox.commit("mine");
    let refused = sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(8);
    assert!(refused.stderr.contains("core/new.txt"), "{refused}");
    assert_eq!(sandbox.read("core/new.txt"), "mine\n");
}

/// Nothing that is not completed or given up is removed.
#[test]
fn checkouts_are_removed_when_nobody_needs_them() {
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

/// Work that nobody saved is not removed, and a program that reads the answer learns why.
#[test]
fn a_checkout_that_changed_is_kept_and_told() {
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
