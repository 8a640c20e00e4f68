//! A shim that is started before its agent may start.

use crate::{
    boxed::boxed,
    common::{self, Fixture, shim_program},
};
use pitcrew_process::{Policy, PreparedShim, end_shim, prepare_shim};
use pitcrew_testkit::{eventually, until};
use std::{fs, time::Duration};

const GRACE: Duration = Duration::from_secs(10);

/// Prints the file in the checkout, and then all frames that it receives. Starts no process that
/// could be left behind.
const SCRIPT: &str = "read -r line < file; echo \"$line\"; exec cat";

fn prepare(fixture: &Fixture) -> PreparedShim {
    prepare_shim(&shim_program(), &fixture.spec).unwrap()
}

/// Returns the processes in the checkout, once our launcher waits there.
fn waiting(fixture: &Fixture) -> Vec<i32> {
    let is_launcher = |pid: &i32| {
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        words.split(|it| *it == 0).nth(1) == Some(b"confine")
    };
    eventually("the launcher is in its box", || {
        let found = common::processes_in(fixture.cwd());
        found.iter().any(is_launcher).then_some(found)
    })
}

#[tokio::test]
async fn agent_starts_in_the_box_that_was_created_before_its_checkout() {
    let fixture = boxed(SCRIPT);
    let prepared = prepare(&fixture);
    let before = waiting(&fixture);
    fs::write(fixture.cwd().join("file"), "made meanwhile\n").unwrap();
    let (handle, mut events) = prepared.go().await.unwrap();
    assert_eq!(common::line(common::heard(&mut events).await), "made meanwhile");
    let now = common::processes_in(fixture.cwd());
    assert!(!now.is_empty() && now.iter().all(|it| before.contains(it)), "{before:?} {now:?}");
    handle.send(1, "a frame").await.unwrap();
    assert_eq!(common::line(common::heard(&mut events).await), "a frame");
    handle.stop(GRACE).await.unwrap();
}

#[tokio::test]
async fn outdated_box_is_created_again() {
    let fixture = boxed(SCRIPT);
    let prepared = prepare(&fixture);
    let before = waiting(&fixture);
    fs::rename(fixture.cwd(), fixture.cwd().with_extension("old")).unwrap();
    fs::create_dir(fixture.cwd()).unwrap();
    fs::write(fixture.cwd().join("file"), "of the new folder\n").unwrap();
    let (handle, mut events) = prepared.go().await.unwrap();
    assert_eq!(common::line(common::heard(&mut events).await), "of the new folder");
    let now = common::processes_in(fixture.cwd());
    assert!(!now.iter().any(|it| before.contains(it)), "{before:?} {now:?}");
    handle.stop(GRACE).await.unwrap();
}

/// The content of the checkout decides which parts of it are writable.
#[tokio::test]
async fn box_with_a_zone_includes_files_that_were_created_later() {
    let mut fixture = boxed("echo other > theirs; cat theirs; echo own > mine/file; cat mine/file");
    let policy = fixture.spec.policy.clone();
    fixture.spec.policy = Policy { inner: Some(vec![fixture.cwd().join("mine")]), ..policy };
    let prepared = prepare(&fixture);
    fs::write(fixture.cwd().join("theirs"), "as it was\n").unwrap();
    fs::create_dir(fixture.cwd().join("mine")).unwrap();
    let (_handle, mut events) = prepared.go().await.unwrap();
    assert_eq!(common::line(common::heard(&mut events).await), "as it was");
    assert_eq!(common::line(common::heard(&mut events).await), "own");
}

#[tokio::test]
async fn agent_without_a_box_starts_when_released() {
    let fixture = Fixture::new(SCRIPT);
    let prepared = prepare(&fixture);
    fs::write(fixture.cwd().join("file"), "made meanwhile\n").unwrap();
    let (handle, mut events) = prepared.go().await.unwrap();
    assert_eq!(common::line(common::heard(&mut events).await), "made meanwhile");
    handle.stop(GRACE).await.unwrap();
}

#[tokio::test]
async fn abandoned_shim_leaves_nothing_behind() {
    let fixture = boxed("exec cat");
    let prepared = prepare(&fixture);
    waiting(&fixture);
    drop(prepared);
    let exit = end_shim(fixture.dir(), GRACE, GRACE * 6).await.unwrap();
    assert_eq!((exit.code, exit.signal), (None, None), "no agent was ever there");
    until("the box is gone", || common::processes_in(fixture.cwd()).is_empty().then_some(())).await;
    assert!(!fixture.dir().join("spec.json").exists(), "it holds secrets");
    let (handle, mut events) = fixture.start().await;
    handle.send(1, "another one").await.unwrap();
    assert_eq!(common::line(common::heard(&mut events).await), "another one");
    handle.stop(GRACE).await.unwrap();
}
