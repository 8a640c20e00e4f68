//! An agent in a box: the shim sees the same as it would without a box.

use crate::common::{self, Fixture, shim_program};
use pitcrew_process::{Policy, ShimEvent, Tier, roots, until_gone};
use std::{
    collections::BTreeMap,
    fs::{self, File},
    time::Duration,
};

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

/// S0-018: bubblewrap does not keep the agent's output open.
#[tokio::test]
async fn boxed_agent_that_closes_its_output_is_not_waited_for() {
    let fixture = boxed("echo last; exec 1>&-; trap '' TERM; while :; do sleep 1; done");
    let (_handle, mut events) = fixture.start().await;
    assert_eq!(common::line(common::heard(&mut events).await), "last");
    let Some(ShimEvent::Exited(exit)) = common::heard(&mut events).await else { panic!() };
    assert_eq!((exit.code, exit.signal), (None, Some(9)));
    assert!(exit.stderr.contains("closed its output and lived on"), "{}", exit.stderr);
}

#[tokio::test]
async fn end_of_a_boxed_agent_is_reported() {
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
async fn boxed_agent_is_connected_by_pipes() {
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

/// Freeing the memory of an agent takes longer than halting it.
#[tokio::test]
async fn halted_boxed_agent_writes_nothing_and_holds_nothing_once_it_is_gone() {
    let script = "
        for it in 1 2 3; do while :; do echo $it >> written; done & done
        ( exec 9> lock; flock 9; exec dd if=/dev/zero bs=300M count=2 2> /dev/null ) |
            ( head -c 1 > /dev/null; echo up; sleep 600 )";
    let mut halts_count = 0;
    // On a busy machine, the end may be reported first.
    for _ in 0..100 {
        if halts_count == 5 {
            break;
        }
        let fixture = boxed(script);
        let (handle, mut events) = fixture.start().await;
        assert_eq!(common::line(common::heard(&mut events).await), "up");
        handle.stop(Duration::ZERO).await.unwrap();
        let seen = events.next().await;
        let length = || fs::metadata(fixture.cwd().join("written")).unwrap().len();
        let at_the_end = length();
        let Some(ShimEvent::Halted(exit) | ShimEvent::Exited(exit)) = &seen else {
            panic!("{seen:?}")
        };
        assert_eq!((exit.code, exit.signal), (None, Some(9)));
        if let Some(ShimEvent::Halted(_)) = seen {
            halts_count += 1;
            assert!(matches!(events.next().await, Some(ShimEvent::Exited(_))));
        }
        until_gone(fixture.dir()).await;
        assert!(at_the_end > 0 && at_the_end == length(), "{at_the_end}, then {}", length());
        assert_eq!(common::processes_in(fixture.cwd()), Vec::<i32>::new());
        File::open(fixture.cwd().join("lock")).unwrap().try_lock().unwrap();
    }
    assert_eq!(halts_count, 5);
}
