//! Reconnecting to an agent: no message is missed, and none is sent twice.

use crate::common::{self, Fixture, heard, is_alive, line};
use pitcrew_model::Exit;
use pitcrew_process::{Presence, ShimEvent, ShimEvents, attach_shim, end_shim};
use std::{fs, time::Duration};

const PATIENCE: Duration = Duration::from_secs(30);
const GRACE: Duration = Duration::from_secs(10);

fn fixture(script: &str) -> Fixture {
    let mut fixture = Fixture::new(script);
    fixture.spec.lease_ms = 600_000;
    fixture
}

/// Returns a short description of every event until the end.
async fn all(mut events: ShimEvents) -> Vec<String> {
    let mut seen = Vec::new();
    while let Some(event) = events.next().await {
        seen.push(match event {
            ShimEvent::Frame { line, .. } => format!("frame {line}"),
            ShimEvent::Sent { id, line, .. } => format!("sent {id} {line}"),
            ShimEvent::Garbage { reason, .. } => format!("garbage {reason}"),
            ShimEvent::Halted(exit) => format!("halted {exit}"),
            ShimEvent::Exited(exit) => format!("exited {exit}"),
        });
    }
    seen
}

async fn until_written(fixture: &Fixture, name: &str) {
    let path = fixture.dir().join(name);
    pitcrew_testkit::until(&format!("{name} is there"), || path.exists().then_some(())).await;
}

#[tokio::test]
async fn reconnected_client_receives_both_directions_and_continues() {
    let fixture = fixture("exec cat");
    let (handle, mut events) = fixture.start().await;
    handle.send(1, "one").await.unwrap();
    handle.send(2, "two").await.unwrap();
    assert_eq!(line(heard(&mut events).await), "one");
    assert_eq!(line(heard(&mut events).await), "two");
    let shim = handle.pid();
    drop((handle, events));

    let attached = attach_shim(fixture.dir(), PATIENCE).await.unwrap();
    assert_eq!(attached.shim.pid(), shim, "the same shim");
    let Presence::Alive { spooled, .. } = attached.presence else { panic!("it is alive") };
    assert_eq!(spooled, fs::metadata(fixture.dir().join("spool.ndjson")).unwrap().len());
    attached.shim.send(2, "two").await.unwrap();
    attached.shim.send(3, "three").await.unwrap();
    let mut events = attached.events;
    let mut before = Vec::new();
    while events.position() < spooled {
        before.push(events.next().await.unwrap());
    }
    assert_eq!(before.len(), 4, "two each way: {before:?}");
    assert!(matches!(&before[0], ShimEvent::Sent { offset: 0, id: 1, line } if line == "one"));
    assert_eq!(line(heard(&mut events).await), "three", "the second is not sent again");
    attached.shim.stop(GRACE).await.unwrap();
    assert_eq!(all(events).await, ["exited signal 15"]);
}

#[tokio::test]
async fn output_of_an_agent_that_ended_alone_is_received() {
    let fixture = fixture("read line; until [ -e go ]; do sleep 0.01; done; echo late; exit 5");
    let (handle, mut events) = fixture.start().await;
    handle.send(1, "begin").await.unwrap();
    assert!(matches!(events.next().await, Some(ShimEvent::Sent { .. })));
    drop((handle, events));
    fs::write(fixture.cwd().join("go"), "").unwrap();
    until_written(&fixture, "exit.json").await;
    let attached = attach_shim(fixture.dir(), PATIENCE).await.unwrap();
    assert_eq!((attached.presence, attached.shim.pid()), (Presence::Ended, None));
    assert!(attached.shim.send(2, "x").await.is_err());
    attached.shim.stop(GRACE).await.unwrap();
    let seen = all(attached.events).await;
    assert_eq!(seen, ["sent 1 begin", "frame late", "exited exit code 5"]);
}

/// Whatever the agent does while a client reconnects, every event is received exactly once.
#[tokio::test]
async fn end_during_a_reconnection_loses_no_event() {
    for _ in 0..20 {
        let fixture = fixture("read line; echo bye; exit 3");
        let (handle, events) = fixture.start().await;
        handle.send(1, "go").await.unwrap();
        drop((handle, events));
        let attached = attach_shim(fixture.dir(), PATIENCE).await.unwrap();
        let lost = attached.presence == Presence::Lost;
        assert!(!lost, "it ended by itself");
        let seen = all(attached.events).await;
        assert_eq!(seen, ["sent 1 go", "frame bye", "exited exit code 3"]);
    }
}

#[tokio::test]
async fn agent_is_lost_if_no_client_returns_within_the_lease() {
    let mut fixture = fixture("sleep 600 & echo $! > child; echo up; wait");
    fixture.spec.lease_ms = 100;
    let (handle, mut events) = fixture.start().await;
    assert_eq!(line(heard(&mut events).await), "up");
    drop((handle, events));
    until_written(&fixture, "exit.json").await;
    let attached = attach_shim(fixture.dir(), PATIENCE).await.unwrap();
    assert_eq!(attached.presence, Presence::Lost);
    assert!(!is_alive(&fixture, "child"));
    assert_eq!(all(attached.events).await, ["frame up", "exited signal 15"]);
    assert!(fixture.exit().stderr.contains("no client reconnected"), "{:?}", fixture.exit());
}

#[tokio::test]
async fn agent_that_was_asked_to_end_is_lost_to_later_clients() {
    let fixture = fixture("trap 'exit 0' TERM; echo up; while :; do sleep 0.01; done");
    let (handle, mut events) = fixture.start().await;
    assert_eq!(line(heard(&mut events).await), "up");
    handle.stop(GRACE).await.unwrap();
    assert_eq!(all(events).await, ["exited exit code 0"]);
    let attached = attach_shim(fixture.dir(), PATIENCE).await.unwrap();
    assert_eq!(attached.presence, Presence::Lost);
}

#[tokio::test]
async fn agent_that_never_started_is_lost() {
    let fixture = fixture("exec cat");
    let attached = attach_shim(fixture.dir(), PATIENCE).await.unwrap();
    assert_eq!(attached.presence, Presence::Lost);
    assert_eq!(all(attached.events).await, ["exited lost"]);
}

#[tokio::test]
async fn agent_of_a_killed_shim_is_lost_and_ended() {
    let fixture = fixture("echo up; exec sleep 600");
    let (handle, mut events) = fixture.start().await;
    assert_eq!(line(heard(&mut events).await), "up");
    common::kill(handle.pid().unwrap());
    drop((handle, events));
    let attached = attach_shim(fixture.dir(), PATIENCE).await.unwrap();
    assert_eq!(attached.presence, Presence::Lost);
    assert_eq!(common::processes_in(fixture.cwd()), Vec::<i32>::new());
    assert_eq!(all(attached.events).await, ["frame up", "exited lost"]);
}

/// Records that a killed shim has written are not lost.
#[tokio::test]
async fn unsent_records_of_a_killed_shim_are_read_from_the_spool() {
    let fixture = fixture("seq 1 100000; echo end; exec sleep 600");
    let (handle, mut events) = fixture.start().await;
    assert_eq!(line(heard(&mut events).await), "1");
    let spool = fixture.dir().join("spool.ndjson");
    pitcrew_testkit::until("all is written down", || {
        let text = fs::read_to_string(&spool).unwrap();
        text.trim_end().ends_with(r#""line":"end"}}"#).then_some(())
    })
    .await;
    common::kill(handle.pid().unwrap());
    let seen = all(events).await;
    assert_eq!(seen.len(), 100_001, "99 999 numbers, the word and the end");
    let last = ["frame 99999", "frame 100000", "frame end", "exited lost"];
    assert_eq!(seen[seen.len() - 4..], last);
}

#[tokio::test]
async fn time_without_a_client_is_reported() {
    let fixture = fixture("echo up; exec sleep 600");
    let (handle, mut events) = fixture.start().await;
    assert_eq!(line(heard(&mut events).await), "up");
    drop((handle, events));
    let left = std::time::Instant::now();
    pitcrew_testkit::until("some time has passed", || {
        (left.elapsed() > Duration::from_millis(50)).then_some(())
    })
    .await;
    let attached = attach_shim(fixture.dir(), PATIENCE).await.unwrap();
    let Presence::Alive { away, .. } = attached.presence else { panic!("it is alive") };
    assert!(away >= Duration::from_millis(30) && away < PATIENCE, "{away:?}");
    let exit = end_shim(fixture.dir(), GRACE, PATIENCE).await;
    assert_eq!(exit, Some(Exit { code: None, signal: Some(15), stderr: String::new() }));
}

/// A shim that was stopped by its own agent must not block a client that reconnects.
#[tokio::test]
async fn silent_shim_is_ended_with_its_agent_and_lost() {
    let fixture = fixture("(trap '' TERM; exec sleep 600) & echo up; exec sleep 600");
    let (handle, mut events) = fixture.start().await;
    assert_eq!(line(heard(&mut events).await), "up");
    common::freeze(handle.pid().unwrap());
    drop((handle, events));
    let attached = attach_shim(fixture.dir(), Duration::from_millis(500)).await.unwrap();
    assert_eq!(attached.presence, Presence::Lost);
    assert_eq!(common::processes_in(fixture.cwd()), Vec::<i32>::new());
    assert_eq!(all(attached.events).await, ["frame up", "exited lost"]);
}

#[tokio::test]
async fn shim_that_becomes_silent_is_ended_and_its_records_are_read() {
    let fixture = fixture("echo up; exec sleep 600");
    let (handle, mut events) = fixture.start().await;
    assert_eq!(line(heard(&mut events).await), "up");
    drop((handle, events));
    let attached = attach_shim(fixture.dir(), PATIENCE).await.unwrap();
    common::freeze(attached.shim.pid().expect("it is alive"));
    let mut events = attached.events;
    let mut seen = Vec::new();
    while let Some(event) = events.next_within(Duration::from_millis(500)).await {
        seen.push(event);
    }
    assert!(events.was_silent());
    let lost = Exit { code: None, signal: None, stderr: String::new() };
    let [ShimEvent::Frame { line, .. }, ShimEvent::Exited(exit)] = &seen[..] else {
        panic!("{seen:?}")
    };
    assert_eq!((line.as_str(), exit), ("up", &lost));
    assert_eq!(common::processes_in(fixture.cwd()), Vec::<i32>::new());
}

#[tokio::test]
async fn silent_shim_that_ignores_a_stop_request_is_ended() {
    let fixture = fixture("echo up; exec sleep 600");
    let (handle, mut events) = fixture.start().await;
    assert_eq!(line(heard(&mut events).await), "up");
    common::freeze(handle.pid().unwrap());
    let exit = end_shim(fixture.dir(), GRACE, Duration::from_millis(500)).await;
    assert_eq!(exit, Some(Exit { code: None, signal: None, stderr: String::new() }));
    assert_eq!(common::processes_in(fixture.cwd()), Vec::<i32>::new());
    assert_eq!(all(events).await, ["exited lost"]);
}

/// During the grace period the agent is still alive, but no client can continue with it.
#[tokio::test]
async fn agent_that_is_being_ended_is_lost_to_later_clients() {
    let fixture = fixture(
        "trap 'echo asked; until [ -e go ]; do sleep 0.01; done; exit 0' TERM; echo up
         while :; do sleep 0.01; done",
    );
    let (handle, mut events) = fixture.start().await;
    assert_eq!(line(heard(&mut events).await), "up");
    handle.stop(Duration::from_mins(10)).await.unwrap();
    assert_eq!(line(heard(&mut events).await), "asked");
    drop((handle, events));
    let mut coming = Box::pin(attach_shim(fixture.dir(), PATIENCE));
    let soon = tokio::time::timeout(Duration::from_millis(500), &mut coming).await;
    assert!(soon.is_err(), "it is there and waits: {soon:?}");
    fs::write(fixture.cwd().join("go"), "").unwrap();
    let attached = coming.await.unwrap();
    assert_eq!(attached.presence, Presence::Lost);
    assert_eq!(all(attached.events).await, ["frame up", "frame asked", "exited exit code 0"]);
}
