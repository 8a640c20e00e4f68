//! The wire format, which `--json` shows too.

use crate::journal::{Journal, PLAN};
use expect_test::{ExpectFile, expect_file};
use pitcrew_model::{Event, Failure, RequestKind, TaskStatus, WorkerId};
use pitcrew_views::Summary;
use serde::{Serialize, de::DeserializeOwned};
use std::fmt::Debug;

fn journal() -> Journal {
    let mut journal = Journal::active();
    journal.task(1, "core", "core", &[]);
    journal.task(2, "api", "", &[1]);
    journal.start(1, 1, 1);
    journal.run(1, 1);
    journal.fail(1, 1, Failure::NoCompletion, TaskStatus::Pending);
    journal.start(1, 2, 2);
    journal.run(1, 2);
    let note = "edits core/a.rs".to_owned();
    journal.push(Event::ActivityNoted { worker: WorkerId(2), note });
    let question = "Which port?".to_owned();
    journal.ask(1, Some((1, 2)), RequestKind::Question { question });
    journal
}

/// Checks that the value is sent as the golden file, and that the golden file is read as the value.
#[track_caller]
fn check<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T, golden: &ExpectFile) {
    let text = serde_json::to_string_pretty(value).expect("it can be encoded");
    golden.assert_eq(&(text + "\n"));
    let read: T = serde_json::from_str(&golden.data()).expect("the golden file can be read");
    assert_eq!(&read, value);
}

#[test]
fn the_board_v1() {
    check(&journal().view(), &expect_file!["golden/board-v1.json"]);
}

#[test]
fn the_inbox_v1() {
    let journal = journal();
    check(&journal.inbox.view(&journal.board), &expect_file!["golden/inbox-v1.json"]);
}

#[test]
fn the_summary_v1() {
    let summary = Summary::of(&journal().view(), PLAN).expect("the plan is shown");
    check(&summary, &expect_file!["golden/summary-v1.json"]);
}
