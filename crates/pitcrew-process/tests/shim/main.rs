//! The shim between a client and an agent: real processes, real sockets, real pipes.
#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

#[path = "../common/mod.rs"]
mod common;
mod attach;
mod bombs;
mod boxed;
mod prepared;

use common::{Fixture, LINE_BYTES_MAX, is_alive, shim_program};
use pitcrew_model::Exit;
use pitcrew_process::{ShimErrorKind, ShimEvent, end_shim, start_shim};
use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    os::unix::{
        fs::{PermissionsExt, symlink},
        net::UnixStream,
    },
    time::{Duration, Instant},
};

const GRACE: Duration = Duration::from_secs(10);

#[tokio::test]
async fn frames_pass_both_ways_and_are_recorded() {
    let fixture = Fixture::new("exec cat");
    let (handle, mut events) = fixture.start().await;
    for id in 1..=3 {
        handle.send(id, &format!(r#"{{"number":{id},"text":"grün \" \\"}}"#)).await.unwrap();
    }
    let mut offset_before = None;
    for id in 1..=3 {
        let Some(ShimEvent::Frame { offset, line, .. }) = common::heard(&mut events).await else {
            panic!()
        };
        assert_eq!(line, format!(r#"{{"number":{id},"text":"grün \" \\"}}"#));
        assert!(offset_before < Some(offset));
        offset_before = Some(offset);
    }
    handle.stop(GRACE).await.unwrap();
    let Some(ShimEvent::Exited(exit)) = common::heard(&mut events).await else { panic!() };
    assert_eq!((exit.code, exit.signal), (None, Some(15)));
    assert_eq!(events.next().await, None);

    let spool = fs::read_to_string(fixture.dir().join("spool.ndjson")).unwrap();
    assert_eq!(spool.lines().filter(|it| it.starts_with(r#"{"in":{"offset":"#)).count(), 3);
    assert_eq!(spool.lines().filter(|it| it.starts_with(r#"{"out":{"offset":"#)).count(), 3);
    let marked = spool.find(r#"{"out":"#).unwrap();
    assert!(spool[marked..].starts_with(&format!(r#"{{"out":{{"offset":{marked},"time":"#)));
    assert_eq!(fixture.exit(), exit);
}

#[tokio::test]
async fn frame_with_a_known_id_is_dropped() {
    let fixture = Fixture::new("exec cat");
    let (handle, mut events) = fixture.start().await;
    handle.send(7, "once").await.unwrap();
    handle.send(7, "once").await.unwrap();
    handle.send(8, "last").await.unwrap();
    assert_eq!(common::line(common::heard(&mut events).await), "once");
    assert_eq!(common::line(common::heard(&mut events).await), "last");
    handle.stop(GRACE).await.unwrap();
}

#[tokio::test]
async fn output_of_an_agent_that_ends_by_itself_is_complete() {
    let script = "echo first; echo complaint >&2; printf 'second\nhalf a line'; exit 5";
    let fixture = Fixture::new(script);
    let (handle, mut events) = fixture.start().await;
    assert_eq!(common::line(common::heard(&mut events).await), "first");
    assert_eq!(common::line(common::heard(&mut events).await), "second");
    let Some(ShimEvent::Garbage { reason, .. }) = common::heard(&mut events).await else {
        panic!()
    };
    assert!(reason.contains("half a line"), "{reason}");
    let exit = Exit { code: Some(5), signal: None, stderr: "complaint\n".into() };
    assert_eq!(events.next().await, Some(ShimEvent::Exited(exit.clone())));
    assert_eq!(events.next().await, None);
    assert_eq!(fixture.exit(), exit);
    // There is nothing left to stop, which is not an error.
    handle.stop(GRACE).await.unwrap();
    assert!(!fixture.spec.socket.exists());
}

/// S0-018: the agent can never send output again, so the shim does not wait for it.
#[tokio::test]
async fn agent_that_closes_its_output_and_keeps_running_is_ended() {
    let fixture = Fixture::new("echo last; exec 1>&-; trap '' TERM; while :; do sleep 1; done");
    let (_handle, mut events) = fixture.start().await;
    assert_eq!(common::line(common::heard(&mut events).await), "last");
    let Some(ShimEvent::Exited(exit)) = common::heard(&mut events).await else { panic!() };
    assert_eq!((exit.code, exit.signal), (None, Some(9)));
    assert!(exit.stderr.contains("closed its output and lived on"), "{}", exit.stderr);
    let record = fs::read_to_string(fixture.dir().join("exit.json")).unwrap();
    assert!(record.contains("\"ordered\":false"), "no request was made: {record}");
    assert_eq!(common::processes_in(fixture.cwd()), Vec::<i32>::new());
}

/// The end of the output may come shortly before the end of the agent.
#[tokio::test]
async fn agent_that_closes_its_output_may_end_by_itself() {
    let fixture = Fixture::new("exec 1>&-; sleep 0.5; exit 7");
    let (_handle, mut events) = fixture.start().await;
    let Some(ShimEvent::Exited(exit)) = common::heard(&mut events).await else { panic!() };
    assert_eq!((exit.code, exit.signal, exit.stderr.as_str()), (Some(7), None, ""));
}

#[tokio::test]
async fn remaining_processes_end_with_the_agent() {
    let fixture = Fixture::new(
        "sleep 600 & echo $! > background
         (setsid sh -c 'echo $$ > daemon; exec sleep 600' > /dev/null 2>&1 &)
         until [ -s daemon ]; do :; done; exit 0",
    );
    let (_handle, mut events) = fixture.start().await;
    let Some(ShimEvent::Exited(exit)) = common::heard(&mut events).await else { panic!() };
    assert_eq!(exit.code, Some(0));
    assert!(!is_alive(&fixture, "background") && !is_alive(&fixture, "daemon"));
}

#[tokio::test]
async fn stop_ends_an_agent_that_ignores_it_and_escaped_processes() {
    let fixture = Fixture::new(
        "trap '' TERM INT HUP
         sh -c '(setsid sh -c \"trap \\\"\\\" TERM; echo \\$\\$ > escaped; while :; do sleep 1; done\" &)'
         setsid sh -c 'echo $$ > left; exec sleep 600' &
         until [ -s escaped ] && [ -s left ]; do :; done
         echo up; while :; do sleep 1; done",
    );
    let (handle, mut events) = fixture.start().await;
    assert_eq!(common::line(common::heard(&mut events).await), "up");
    assert!(is_alive(&fixture, "escaped") && is_alive(&fixture, "left"));
    handle.stop(Duration::from_millis(100)).await.unwrap();
    let Some(ShimEvent::Exited(exit)) = common::heard(&mut events).await else { panic!() };
    assert_eq!((exit.code, exit.signal), (None, Some(9)));
    assert!(!is_alive(&fixture, "escaped") && !is_alive(&fixture, "left"));
}

/// Such a caller does not wait for the end, which may take longer than its time-out.
#[tokio::test]
async fn caller_that_only_sends_stop_is_answered_before_the_end() {
    let fixture = Fixture::new("trap '' TERM; echo up; while :; do sleep 1; done");
    let (handle, mut events) = fixture.start().await;
    assert_eq!(common::line(common::heard(&mut events).await), "up");
    let mut visitor = UnixStream::connect(&fixture.spec.socket).unwrap();
    visitor.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    writeln!(visitor, r#"{{"stop":{{"grace_ms":600000}}}}"#).unwrap();
    assert_eq!(visitor.read_to_end(&mut Vec::new()).unwrap(), 0);
    handle.stop(Duration::ZERO).await.unwrap();
    assert!(matches!(common::heard(&mut events).await, Some(ShimEvent::Exited(_))));
}

#[tokio::test]
async fn process_that_keeps_changing_its_id_does_not_escape() {
    // Each generation starts the next one in a separate session and ends. All of them hold the
    // lifeline.
    let hopper = "exec 3> lifeline
        echo 'setsid sh ./hop > /dev/null 2>&1 < /dev/null & exit' > hop
        for each in 1 2 3 4 5 6 7 8; do sh ./hop; done; echo up; exec sleep 600";
    let fixture = Fixture::new(hopper);
    let lifeline = common::Lifeline::new(&fixture.cwd().join("lifeline"));
    let (handle, mut events) = fixture.start().await;
    assert_eq!(common::line(common::heard(&mut events).await), "up");
    assert!(lifeline.is_held());
    handle.stop(Duration::ZERO).await.unwrap();
    assert!(matches!(common::heard(&mut events).await, Some(ShimEvent::Exited(_))));
    assert!(!lifeline.is_held(), "a generation got away");
}

#[tokio::test]
async fn agent_is_ended_after_the_lease_if_its_client_is_lost() {
    let mut fixture = Fixture::new("sleep 600 & echo $! > child; echo up; wait");
    fixture.spec.lease_ms = 300;
    let (handle, mut events) = fixture.start().await;
    assert_eq!(common::line(common::heard(&mut events).await), "up");
    let (shim, began) = (handle.pid().unwrap(), Instant::now());
    let handle_to_shim = common::watch(shim);
    drop((handle, events));
    common::await_end(&handle_to_shim);
    assert!(began.elapsed() >= Duration::from_millis(300), "the lease was not kept");
    assert!(!is_alive(&fixture, "child"));
    assert_eq!(fixture.exit().signal, Some(15));
}

#[tokio::test]
async fn client_that_returns_within_the_lease_continues() {
    let mut fixture = Fixture::new("exec cat");
    fixture.spec.lease_ms = 60_000;
    let (handle, mut events) = fixture.start().await;
    handle.send(1, "one").await.unwrap();
    handle.send(2, "two").await.unwrap();
    assert_eq!(common::line(common::heard(&mut events).await), "one");
    let Some(ShimEvent::Frame { offset, line, .. }) = common::heard(&mut events).await else {
        panic!()
    };
    assert_eq!(line, "two");
    drop((handle, events));

    let mut again = UnixStream::connect(&fixture.spec.socket).unwrap();
    writeln!(again, r#"{{"attach":{{"from":{offset}}}}}"#).unwrap();
    writeln!(again, r#"{{"send":{{"id":2,"frame":"two"}}}}"#).unwrap();
    writeln!(again, r#"{{"send":{{"id":3,"frame":"three"}}}}"#).unwrap();
    let mut lines = BufReader::new(again.try_clone().unwrap()).lines().map(Result::unwrap);
    assert!(lines.next().unwrap().starts_with(r#"{"hello":{"shim":{"pid":"#));
    assert!(lines.next().unwrap().ends_with(r#""line":"two"}}"#));
    assert!(lines.next().unwrap().ends_with(r#""id":3,"line":"three"}}"#));
    assert!(lines.next().unwrap().ends_with(r#""line":"three"}}"#));
    writeln!(again, r#"{{"stop":{{"grace_ms":10000}}}}"#).unwrap();
    assert!(lines.next().unwrap().starts_with(r#"{"exited":{"code":null,"signal":15"#));
    assert_eq!(lines.next(), None);
}

/// A frame that cannot be stored is not passed on, because it would be missing after a crash.
#[tokio::test]
async fn agent_ends_if_the_disk_is_full_and_the_reason_is_reported() {
    for (script, frame) in [("echo x; exec sleep 600", None), ("exec sleep 600", Some("x"))] {
        let fixture = Fixture::new(script);
        fs::create_dir(fixture.dir()).unwrap();
        symlink("/dev/full", fixture.dir().join("spool.ndjson")).unwrap();
        let (handle, mut events) = fixture.start().await;
        if let Some(frame) = frame {
            handle.send(1, frame).await.unwrap();
        }
        let Some(ShimEvent::Exited(exit)) = common::heard(&mut events).await else { panic!() };
        assert!(exit.stderr.contains("No space left on device"), "{}", exit.stderr);
        assert_eq!(common::processes_in(fixture.cwd()), Vec::<i32>::new());
    }
}

#[tokio::test]
async fn killed_shim_leaves_no_agent_behind() {
    let fixture = Fixture::new(
        "echo why >&2; (setsid sh -c 'echo $$ > daemon; exec sleep 600' &)
         until [ -s daemon ]; do :; done; echo up; exec sleep 600",
    );
    let (handle, mut events) = fixture.start().await;
    assert_eq!(common::line(common::heard(&mut events).await), "up");
    common::kill(handle.pid().unwrap());
    let Some(ShimEvent::Exited(exit)) = common::heard(&mut events).await else { panic!() };
    assert_eq!(exit, Exit { code: None, signal: None, stderr: "why\n".into() });
    assert_eq!(common::processes_in(fixture.cwd()), Vec::<i32>::new());
    assert!(matches!(handle.send(1, "x").await.unwrap_err().kind, ShimErrorKind::Gone(_)));
}

/// Including processes that the agent did not start itself: a nested run marks its processes anew.
#[tokio::test]
async fn nested_run_of_an_agent_ends_after_its_shim_was_killed() {
    let fixture = Fixture::new(
        "export PITCREW_RUN=$PITCREW_RUN//1-2-0
         (setsid sh -c 'echo $$ > daemon; exec sleep 600' > /dev/null 2>&1 &)
         until [ -s daemon ]; do :; done; echo up; exec sleep 600",
    );
    let (handle, mut events) = fixture.start().await;
    assert_eq!(common::line(common::heard(&mut events).await), "up");
    common::kill(handle.pid().unwrap());
    assert!(matches!(common::heard(&mut events).await, Some(ShimEvent::Exited(_))));
    assert_eq!(common::processes_in(fixture.cwd()), Vec::<i32>::new());
}

#[tokio::test]
async fn agent_can_be_ended_without_a_connection() {
    let mut fixture = Fixture::new("echo up; exec sleep 600");
    fixture.spec.lease_ms = 600_000;
    let never_started = end_shim(fixture.dir(), GRACE, GRACE).await;
    assert_eq!(never_started, Some(Exit { code: None, signal: None, stderr: String::new() }));

    let (handle, mut events) = fixture.start().await;
    assert_eq!(common::line(common::heard(&mut events).await), "up");
    drop((handle, events));
    let exit = end_shim(fixture.dir(), GRACE, GRACE).await.unwrap();
    assert_eq!((exit.code, exit.signal), (None, Some(15)));
    assert_eq!(common::processes_in(fixture.cwd()), Vec::<i32>::new());
}

#[tokio::test]
async fn agent_of_a_killed_shim_is_ended_by_the_next_client() {
    let fixture = Fixture::new("echo why >&2; echo up; exec sleep 600");
    let (handle, mut events) = fixture.start().await;
    assert_eq!(common::line(common::heard(&mut events).await), "up");
    common::kill(handle.pid().unwrap());
    drop((handle, events));
    let exit = end_shim(fixture.dir(), GRACE, GRACE).await;
    assert_eq!(exit, Some(Exit { code: None, signal: None, stderr: "why\n".into() }));
    assert_eq!(common::processes_in(fixture.cwd()), Vec::<i32>::new());
}

#[tokio::test]
async fn abandoned_start_leaves_no_agent_behind() {
    let fixture = Fixture::new("exec sleep 600");
    fs::create_dir(fixture.dir()).unwrap();
    fs::write(fixture.dir().join("exit.json"), r#"{"code":9,"signal":null,"stderr":""}"#).unwrap();
    let program = shim_program();
    tokio::select! {
        biased;
        _ = start_shim(&program, &fixture.spec) => panic!("it cannot be there already"),
        () = std::future::ready(()) => {}
    }
    let began = Instant::now();
    // Longer than the shim waits for its first client, so that a wrong wait becomes visible.
    let exit = end_shim(fixture.dir(), GRACE, GRACE * 6).await.unwrap();
    assert_eq!((exit.code, exit.signal), (None, Some(15)), "not the end of an earlier agent");
    assert!(
        began.elapsed() < Duration::from_secs(8),
        "it waited for a client that cannot come: {exit:?}"
    );
    assert_eq!(common::processes_in(fixture.cwd()), Vec::<i32>::new());
}

#[tokio::test]
async fn endless_line_does_not_fill_the_memory() {
    let fixture = Fixture::new(
        "echo before; head -c 300000000 /dev/zero | tr '\\0' a; echo; echo after; exec sleep 600",
    );
    let (handle, mut events) = fixture.start().await;
    assert_eq!(common::line(common::heard(&mut events).await), "before");
    // The line is reported each time it is too long, so that the client can give up the agent.
    let mut told_count = 0;
    let after = loop {
        match events.next().await {
            Some(ShimEvent::Garbage { reason, .. }) => {
                assert!(reason.starts_with("a line of "), "{reason}");
                told_count += 1;
            }
            other => break other,
        }
    };
    assert_eq!(told_count, 300_000_000 / LINE_BYTES_MAX);
    assert_eq!(common::line(after), "after");
    let peak = common::peak_bytes(handle.pid().unwrap());
    assert!(peak < LINE_BYTES_MAX * 2 + 16 * 1_024 * 1_024, "the shim grew to {peak} bytes");
    handle.stop(GRACE).await.unwrap();
}

#[tokio::test]
async fn largest_frame_passes_both_ways() {
    let fixture = Fixture::new("exec cat");
    let (handle, mut events) = fixture.start().await;
    let frame = "é".repeat(LINE_BYTES_MAX / 2);
    let (sent, event) = tokio::join!(handle.send(1, &frame), common::heard(&mut events));
    sent.unwrap();
    assert!(common::line(event) == frame);
    let error = handle.send(2, &format!("{frame}x")).await.unwrap_err();
    assert!(matches!(error.kind, ShimErrorKind::BadFrame { .. }));
    let error = handle.send(2, "two\nlines").await.unwrap_err();
    assert!(matches!(error.kind, ShimErrorKind::BadFrame { .. }));
    handle.stop(GRACE).await.unwrap();
}

#[tokio::test]
async fn bytes_that_are_not_text_are_garbage_and_the_rest_continues() {
    let fixture = Fixture::new("printf 'a\\377b\\nfine\\n'; exec sleep 600");
    let (handle, mut events) = fixture.start().await;
    let Some(ShimEvent::Garbage { offset: 0, reason }) = common::heard(&mut events).await else {
        panic!()
    };
    assert!(reason.starts_with("not UTF-8"), "{reason}");
    assert_eq!(common::line(common::heard(&mut events).await), "fine");
    handle.stop(GRACE).await.unwrap();
}

#[tokio::test]
async fn agent_is_blocked_while_no_client_reads() {
    let fixture = Fixture::new("yes 'a line of some length that is repeated for ever and ever'");
    let (handle, mut events) = fixture.start().await;
    let spool = fixture.dir().join("spool.ndjson");
    // The spool has stopped if it has not grown for thirty checks, enough time for many megabytes.
    let mut lengths = [0; 30];
    pitcrew_testkit::until("the spool stands still", || {
        lengths.rotate_left(1);
        lengths[29] = fs::metadata(&spool).unwrap().len();
        (lengths[0] == lengths[29] && lengths[0] > 60_000_000).then_some(())
    })
    .await;
    let length = lengths[0];
    assert!(length < 80_000_000, "the spool grew to {length} bytes");
    assert!(common::peak_bytes(handle.pid().unwrap()) < 16 * 1_024 * 1_024);
    assert!(common::line(common::heard(&mut events).await).starts_with("a line of some length"));
    // The stop request is received even if the events are blocked.
    handle.stop(GRACE).await.unwrap();
    let mut last = None;
    while let Some(event) = events.next().await {
        last = Some(event);
    }
    assert!(matches!(last, Some(ShimEvent::Exited(_))));
}

#[tokio::test]
async fn agent_that_does_not_read_can_be_stopped() {
    let fixture = Fixture::new("exec sleep 600");
    let (handle, mut events) = fixture.start().await;
    let frame = "x".repeat(LINE_BYTES_MAX);
    let mut flood = std::pin::pin!(async {
        for id in 1.. {
            if handle.send(id, &frame).await.is_err() {
                return;
            }
        }
    });
    let stuck = tokio::time::timeout(Duration::from_secs(2), &mut flood).await;
    assert!(stuck.is_err(), "nothing held the flood up");
    handle.stop(GRACE).await.unwrap();
    let (last, ()) = tokio::join!(common::heard(&mut events), flood);
    assert!(matches!(last, Some(ShimEvent::Exited(_))));
}

#[tokio::test]
async fn agent_that_cannot_be_executed_is_reported_as_missing() {
    let mut fixture = Fixture::new("");
    fixture.spec.argv = vec!["no-such-agent".into()];
    let error = start_shim(&shim_program(), &fixture.spec).await.unwrap_err();
    let ShimErrorKind::AgentMissing { reason } = error.kind else { panic!("{error}") };
    assert!(reason.contains("no-such-agent"), "{reason}");
    assert!(!fixture.spec.socket.exists());

    let plain = fixture.cwd().join("plain");
    fs::write(&plain, "not a program").unwrap();
    fixture.spec.argv = vec![plain.display().to_string()];
    let error = start_shim(&shim_program(), &fixture.spec).await.unwrap_err();
    assert!(matches!(error.kind, ShimErrorKind::AgentMissing { .. }));

    // A broken executable, which the system refuses to start.
    fs::set_permissions(&plain, fs::Permissions::from_mode(0o755)).unwrap();
    let error = start_shim(&shim_program(), &fixture.spec).await.unwrap_err();
    assert!(matches!(error.kind, ShimErrorKind::AgentMissing { .. }), "{error:?}");
}

#[tokio::test]
async fn shim_that_cannot_start_reports_the_reason() {
    let mut fixture = Fixture::new("exec cat");
    let error = start_shim("/no/such/pitcrew".as_ref(), &fixture.spec).await.unwrap_err();
    assert!(matches!(error.kind, ShimErrorKind::NotStarted { .. }));

    let error = start_shim("/bin/echo".as_ref(), &fixture.spec).await.unwrap_err();
    let ShimErrorKind::NotStarted { reason } = error.kind else { panic!("{error}") };
    assert!(reason.contains("it said"), "{reason}");

    fixture.spec.socket = fixture.dir().join("x".repeat(120));
    let error = start_shim(&shim_program(), &fixture.spec).await.unwrap_err();
    let ShimErrorKind::NotStarted { reason } = error.kind else { panic!("{error}") };
    assert!(reason.contains("cannot listen on"), "{reason}");
}

#[tokio::test]
async fn attempt_has_one_shim_at_a_time_and_keeps_earlier_spools() {
    let fixture = Fixture::new("exec cat");
    let (handle, mut events) = fixture.start().await;
    let error = start_shim(&shim_program(), &fixture.spec).await.unwrap_err();
    assert!(matches!(error.kind, ShimErrorKind::AlreadyRunning));
    handle.send(1, "still here").await.unwrap();
    assert_eq!(common::line(common::heard(&mut events).await), "still here");
    handle.stop(GRACE).await.unwrap();
    assert!(matches!(common::heard(&mut events).await, Some(ShimEvent::Exited(_))));

    let (handle, mut events) = fixture.start().await;
    assert!(!fixture.dir().join("exit.json").exists());
    handle.send(1, "again").await.unwrap();
    assert_eq!(common::line(common::heard(&mut events).await), "again");
    let before = fs::read_to_string(fixture.dir().join("spool-1.ndjson")).unwrap();
    assert!(before.contains("still here"));
    handle.stop(GRACE).await.unwrap();
}

#[tokio::test]
async fn only_its_user_can_connect_to_a_shim_and_it_has_no_variables_of_ours() {
    let fixture = Fixture::new("env; echo; exec sleep 600");
    let (handle, mut events) = fixture.start().await;
    let mode = fs::metadata(&fixture.spec.socket).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    for name in ["spec.json", "spool.ndjson", "stderr.log"] {
        let mode = fs::metadata(fixture.dir().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    let environment = fs::read(format!("/proc/{}/environ", handle.pid().unwrap())).unwrap();
    assert_eq!(environment, b"");
    let mut names = Vec::new();
    loop {
        match common::line(common::heard(&mut events).await) {
            line if line.is_empty() => break,
            line => names.push(line.split('=').next().unwrap().to_owned()),
        }
    }
    names.retain(|it| !["PWD", "SHLVL", "_", "OLDPWD"].contains(&it.as_str()));
    names.sort();
    assert_eq!(names, ["GIVEN", "PATH", "PITCREW_RUN"]);
    handle.stop(GRACE).await.unwrap();
}

#[tokio::test]
async fn large_error_output_is_bounded_on_disk_and_its_end_is_kept() {
    let fixture = Fixture::new("yes complaint | head -c 20000000 >&2; echo the reason >&2; exit 1");
    let (_handle, mut events) = fixture.start().await;
    let Some(ShimEvent::Exited(exit)) = common::heard(&mut events).await else { panic!() };
    assert!(exit.stderr.ends_with("complaint\nthe reason\n"));
    assert!(exit.stderr.len() <= pitcrew_model::limits::OUTPUT_TAIL_BYTES);
    let size = |name| fs::metadata(fixture.dir().join(name)).unwrap().len();
    assert!(size("stderr.log") + size("stderr.old.log") < 10_000_000);
}
