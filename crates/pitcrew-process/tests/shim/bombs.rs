//! Agents that start processes endlessly: all of the processes end with their agent.

use crate::common::{self, Fixture, Lifeline, heard};
use pitcrew_process::ShimEvent;
use std::{
    fs,
    time::{Duration, Instant},
};

/// Much more time than needed: the machine is busy with the bomb and with other tests.
const END_MAX: Duration = Duration::from_mins(1);

async fn ends(kind: &str) {
    let mut fixture = Fixture::new("");
    let program = fixture.cwd().join("bombs.py");
    fs::write(&program, pitcrew_testkit::BOMBS).unwrap();
    let words = [pitcrew_testkit::python(), program.display().to_string()];
    fixture.spec.argv = words.into_iter().chain([kind.into(), "100".into()]).collect();
    let lifeline = Lifeline::new(&fixture.cwd().join("lifeline"));
    let (handle, mut events) = fixture.start().await;
    match common::line(heard(&mut events).await).as_str() {
        "limited" => assert!(lifeline.is_held()),
        other => return pitcrew_testkit::skipped(&format!("a bomb of {kind}"), other),
    }
    let began = Instant::now();
    // The stop request may time out, but it still takes effect.
    handle.stop(Duration::ZERO).await.ok();
    assert!(matches!(heard(&mut events).await, Some(ShimEvent::Exited(_))));
    let took = began.elapsed();
    eprintln!("a bomb of {kind} ended in {took:?}");
    assert!(!lifeline.is_held(), "one got away");
    assert!(took < END_MAX, "it took {took:?}");
}

/// S0-018: in the agent's group, in separate sessions, and each ended before it can be found. They
/// run one after another, because each takes all CPU time.
#[tokio::test]
async fn endlessly_forking_agent_is_ended_with_all_processes() {
    ends("group").await;
    ends("sessions").await;
    ends("chains").await;
}
