//! An agent in a box: what the shim sees of it is what it would see without one.

use crate::common::{self, Fixture, shim_program};
use pitcrew_process::{Policy, ShimEvent, Tier, roots};
use std::{collections::BTreeMap, time::Duration};

pub fn boxed(script: &str) -> Fixture {
    let mut fixture = Fixture::new(script);
    let path = ("PATH".to_owned(), std::env::var("PATH").unwrap());
    let roots = roots(&BTreeMap::from([path]));
    fixture.spec.policy = Policy {
        tier: Tier::T3,
        read: roots.read,
        write: vec![fixture.cwd().to_owned()],
        deny: roots.deny,
        launcher: Some(shim_program()),
        ..Policy::unconfined()
    };
    fixture
}

/// S0-018: whoever holds the box does not keep its output open.
#[tokio::test]
async fn an_agent_in_a_box_that_closes_its_output_is_not_waited_for() {
    let fixture = boxed("echo last; exec 1>&-; trap '' TERM; while :; do sleep 1; done");
    let (_handle, mut events) = fixture.start().await;
    assert_eq!(common::line(common::heard(&mut events).await), "last");
    let Some(ShimEvent::Exited(exit)) = common::heard(&mut events).await else { panic!() };
    assert_eq!((exit.code, exit.signal), (None, Some(9)));
    assert!(exit.stderr.contains("closed its output and lived on"), "{}", exit.stderr);
}

#[tokio::test]
async fn how_an_agent_in_a_box_ended_is_told() {
    for (script, expected) in [
        ("exec 1>&-; sleep 0.5; exit 7", (Some(7), None)),
        ("kill -9 $$", (None, Some(9))),
        ("kill -TERM $$", (None, Some(15))),
    ] {
        let fixture = boxed(script);
        let (_handle, mut events) = fixture.start().await;
        let Some(ShimEvent::Exited(exit)) = common::heard(&mut events).await else { panic!() };
        assert_eq!((exit.code, exit.signal, exit.stderr.as_str()), (expected.0, expected.1, ""));
    }
}

#[tokio::test]
async fn an_agent_in_a_box_is_spoken_to_by_pipes() {
    let fixture =
        boxed("for it in 0 1 2; do readlink /proc/$$/fd/$it | cut -d: -f1; done; exec cat");
    let (handle, mut events) = fixture.start().await;
    for expected in ["pipe"; 3] {
        assert_eq!(common::line(common::heard(&mut events).await), expected);
    }
    handle.send(1, "a frame").await.unwrap();
    assert_eq!(common::line(common::heard(&mut events).await), "a frame");
    handle.stop(Duration::from_secs(10)).await.unwrap();
    let Some(ShimEvent::Exited(exit)) = common::heard(&mut events).await else { panic!() };
    assert_eq!((exit.code, exit.signal), (None, Some(15)));
}
