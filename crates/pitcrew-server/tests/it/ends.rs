//! How an orchestrator ends, and the state in which the next one starts.

use crate::{
    lab::Lab,
    stream::{Stream, StreamItem},
};
use hyper::Method;
use pitcrew_api::{EventStreamLine, Health, ShuttingDown, paths};
use pitcrew_model::PlanStatus;
use rustix::process::Signal;
use std::{
    fs,
    os::unix::{fs::PermissionsExt, net::UnixListener},
    time::Duration,
};

/// Below every time limit, and enough for a busy machine.
const PROMPTLY: Duration = Duration::from_secs(15);

/// The socket is accessible only to its owner, replaces a stale one, and is removed with its
/// orchestrator.
#[tokio::test]
async fn the_socket_is_private_and_a_stale_one_is_replaced() {
    let mut lab = Lab::started().await;
    let socket = lab.socket();
    lab.kill().await;
    assert!(socket.exists(), "a kill leaves it");
    fs::remove_file(&socket).unwrap();
    drop(UnixListener::bind(&socket).unwrap());
    lab.start().await;
    assert_eq!(lab.socket(), socket);
    assert_eq!(fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
    let health: Health = lab.get(paths::HEALTH).await;
    assert!(health.check_version().is_ok());
    assert!(health.workspace.ends_with("/repository"), "{health:?}");
    lab.signal(Signal::TERM);
    lab.wait_for_end().await;
    assert!(!socket.exists());
}

/// A shutdown request gets an answer, and readers see the end of the stream.
#[tokio::test]
async fn a_shutdown_is_answered_and_ends_the_streams() {
    let mut lab = Lab::started().await;
    let mut stream = Stream::open(&lab, "/v1/events?follow=true").await;
    let (status, body) = lab.call_as(Some(&lab.person()), Method::POST, paths::SHUTDOWN, "").await;
    assert_eq!(status, 200);
    let answer: ShuttingDown = serde_json::from_slice(&body).unwrap();
    assert_eq!(answer.workers_live_count, 0);
    loop {
        match stream.next::<EventStreamLine>().await {
            StreamItem::Line(_) => {}
            StreamItem::End => break,
            StreamItem::BrokenOff => panic!("it broke off"),
        }
    }
    let took = lab.wait_for_end().await;
    assert!(took < PROMPTLY, "{took:?}");
}

/// Clients cannot delay the end, with an open stream or an incomplete request.
#[tokio::test]
async fn a_signal_ends_the_orchestrator_despite_connected_clients() {
    use tokio::io::AsyncWriteExt;
    for signal in [Signal::TERM, Signal::INT] {
        let mut lab = Lab::started().await;
        let mut half = tokio::net::UnixStream::connect(lab.socket()).await.unwrap();
        let head = format!(
            "POST /v1/commands HTTP/1.1\r\nhost: x\r\nauthorization: {}\r\ncontent-length: 100\r\n\r\n{{",
            lab.person()
        );
        half.write_all(head.as_bytes()).await.unwrap();
        let _stream = Stream::open(&lab, "/v1/events?follow=true").await;
        lab.signal(signal);
        let took = lab.wait_for_end().await;
        assert!(took < PROMPTLY, "{took:?}");
    }
}

/// A connection without a token is closed in time; an authenticated one stays.
#[tokio::test]
async fn a_connection_without_a_token_is_closed_soon() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let lab = Lab::started().await;
    let head = "GET /v1/health HTTP/1.1\r\nhost: x\r\n";
    let unknown = format!("{head}authorization: Bearer {}\r\n\r\n", "0".repeat(64));
    let known = format!("{head}authorization: {}\r\n\r\n", lab.person());
    let connect = async || tokio::net::UnixStream::connect(lab.socket()).await.unwrap();
    let mut stays = connect().await;
    stays.write_all(known.as_bytes()).await.unwrap();
    let leaves = ["", "G", head, &unknown].map(async |said| {
        let mut stream = connect().await;
        stream.write_all(said.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        let closed = tokio::time::timeout(PROMPTLY, stream.read_to_end(&mut answer)).await;
        assert!(closed.is_ok(), "it stays open after {said:?}");
    });
    futures::future::join_all(leaves).await;
    stays.write_all(known.as_bytes()).await.unwrap();
    let mut answer = String::new();
    while answer.matches("HTTP/1.1 200").count() < 2 {
        let mut bytes = [0; 4_096];
        let count = stays.read(&mut bytes).await.unwrap();
        assert!(count > 0, "it was closed: {answer}");
        answer.push_str(&String::from_utf8_lossy(&bytes[..count]));
    }
}

/// Idle means: no client, no worker, nothing due.
#[tokio::test]
async fn the_orchestrator_exits_when_idle() {
    let mut lab = Lab::new();
    lab.start_with("300").await;
    let plan = lab.plan("name = \"i\"\n[[task]]\nid = \"t\"\ncommand = \"sleep 1\"\n").await;
    // A task that takes longer than the idle timeout.
    let took = lab.wait_for_end().await;
    assert!(took >= Duration::from_secs(1), "{took:?}: it exited before its worker ended");
    assert!(!lab.socket().exists());
    lab.start().await;
    lab.until_plan(plan, PlanStatus::Completed).await;
}

/// One orchestrator per workspace: the second one reports the first and does not disturb it.
#[tokio::test]
async fn a_second_orchestrator_is_refused() {
    let lab = Lab::started().await;
    let run = lab.second();
    assert!(!run.success());
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(said.contains(&format!("process {}", lab.pid().as_raw_pid())), "{said}");
    let health: Health = lab.get(paths::HEALTH).await;
    assert_eq!(i64::from(health.pid), i64::from(lab.pid().as_raw_pid()));
}
