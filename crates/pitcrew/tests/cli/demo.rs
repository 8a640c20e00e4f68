//! `pitcrew demo`.

use pitcrew_process::{LANDLOCK_ABI_MIN, landlock_abi};
use pitcrew_testkit::{Sandbox, skipped};
use serde_json::Value;
use std::fs;

fn nowhere() -> Sandbox {
    Sandbox::without_repository(env!("CARGO_BIN_EXE_pitcrew"))
}

/// S0-005, S0-074: a plan is decomposed, confirmed, run, followed and reported.
#[test]
fn demo_lands_one_merge_and_cleans_up() {
    let sandbox = nowhere();
    let shown = sandbox.pitcrew(&["demo"]).expect(0);
    let shown = shown.says("9 of 9 completed, 10 attempts").says("plan-1 landed on main as ");
    assert!(shown.stdout.contains("api-format  2 attempts"), "{shown}");
    let shown =
        shown.notes("Retrying task-4 api-format: check `sh checks/test.sh checks/format.rs`");
    let place =
        shown.stderr.lines().find_map(|it| it.trim().strip_suffix("keep it with --keep DIR)"));
    let place =
        place.and_then(|it| it.split_once("/lap-board")).expect("the demo says where it is").0;
    assert!(!std::path::Path::new(place).exists(), "{place} is still there");
}

/// A machine without bubblewrap: a command writes only to the files that exist in its region.
#[test]
fn demo_completes_without_bubblewrap() {
    if landlock_abi() < LANDLOCK_ABI_MIN {
        return skipped("the demo in T2", "the kernel has too old a version of Landlock");
    }
    let mut sandbox = nowhere();
    sandbox.set("PITCREW_SANDBOX", "T2");
    let shown = sandbox.pitcrew(&["demo"]).expect(0);
    shown.says("9 of 9 completed, 10 attempts").notes("Agents run in sandbox tier T2");
}

/// S0-025, S0-069: a dependent task starts after its dependency is integrated, and the reason of a
/// failure is in the next prompt. Through the binary, over the real protocol.
#[test]
fn demo_events_show_order_and_retry() {
    let sandbox = nowhere();
    let events = sandbox.pitcrew(&["demo", "--json"]).expect(0).json_lines();
    let is_event =
        |it: &Value| it["line"] == "event" && it["plan"].is_string() | it["text"].is_null();
    assert!(events.iter().all(is_event), "every line has the same form");
    assert!(events.is_sorted_by(|a, b| a["seq"].as_u64() < b["seq"].as_u64()), "in order, once");
    let event = |it: &Value| it["entry"]["event"].clone();
    let place = |wanted: &dyn Fn(&Value) -> bool| {
        events.iter().position(|it| wanted(&event(it))).expect("it happened")
    };
    let moved = |task: &'static str, to: &'static str| {
        move |it: &Value| it["type"] == "task_moved" && it["task"] == task && it["to"] == to
    };
    assert!(place(&moved("task-1", "completed")) < place(&moved("task-2", "starting")));
    assert!(place(&moved("task-8", "completed")) < place(&moved("task-9", "starting")));
    let failed = |it: &Value| it["type"] == "attempt_ended" && it["outcome"] == "failed";
    assert_eq!(events.iter().filter(|it| failed(&event(it))).count(), 1);
    assert_eq!(event(&events[place(&failed)])["failure"]["kind"], "checks");
    let merged = |it: &Value| it["type"] == "landing_moved" && it["to"] == "merged";
    assert!(place(&merged) > place(&moved("task-9", "completed")));
}

#[test]
fn demo_without_git_fails_cleanly() {
    let mut sandbox = nowhere();
    let root = sandbox.root().to_owned();
    fs::create_dir(root.join("empty")).expect("a folder");
    sandbox.set("PATH", &root.join("empty").display().to_string());
    sandbox.set("TMPDIR", &root.display().to_string());
    sandbox.pitcrew(&["demo"]).expect(1).notes("`git` was not found: install it");
    let left = fs::read_dir(&root).expect("the folder").flatten();
    let left: Vec<_> = left.map(|it| it.file_name().into_string().expect("UTF-8")).collect();
    assert!(!left.iter().any(|it| it.starts_with("pitcrew-demo")), "{left:?}");
}

#[test]
fn demo_refuses_an_existing_folder() {
    let sandbox = nowhere();
    let home = sandbox.home().display().to_string();
    sandbox.pitcrew(&["demo", "--keep", &home]).expect(2).notes("exists");
}
