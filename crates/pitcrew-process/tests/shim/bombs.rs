//! Agents that start processes without end: all of them end with their agent.

use crate::common::{self, Fixture, Lifeline, heard};
use pitcrew_process::ShimEvent;
use std::{
    fs,
    time::{Duration, Instant},
};

/// Much more than it takes: the machine is busy with the bomb, and with other tests.
const END_MAX: Duration = Duration::from_secs(10);

async fn ends(kind: &str) {
    let mut fixture = Fixture::new("");
    let program = fixture.cwd().join("bombs.py");
    fs::write(&program, pitcrew_testkit::BOMBS).unwrap();
    fixture.spec.argv = vec![pitcrew_testkit::python(), program.display().to_string(), kind.into()];
    let lifeline = Lifeline::new(&fixture.cwd().join("lifeline"));
    let (handle, mut events) = fixture.start().await;
    match common::line(heard(&mut events).await).as_str() {
        "limited" => assert!(lifeline.is_held()),
        other => return eprintln!("SKIPPED a bomb of {kind}: {other}"),
    }
    let began = Instant::now();
    handle.stop(Duration::ZERO).await.unwrap();
    assert!(matches!(heard(&mut events).await, Some(ShimEvent::Exited(_))));
    let took = began.elapsed();
    eprintln!("a bomb of {kind} ended in {took:?}");
    assert!(!lifeline.is_held(), "one got away");
    assert!(took < END_MAX, "it took {took:?}");
}

/// S0-018
#[tokio::test]
async fn a_bomb_in_the_group_of_its_agent_ends_with_it() {
    ends("group").await;
}

/// S0-018
#[tokio::test]
async fn a_bomb_of_sessions_ends_with_its_agent() {
    ends("sessions").await;
}

/// S0-018: each process is gone by the time that it is looked for.
#[tokio::test]
async fn a_bomb_of_chains_ends_with_its_agent() {
    ends("chains").await;
}
