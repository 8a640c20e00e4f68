//! Agents and shims that stop responding: waits for them end, and none of their processes is left.

use crate::stage::{END, LONG, OPEN, Stage, launch, until};
use pitcrew_acp::{ErrorKind, ErrorRule, Profile, attach, open};
use pitcrew_model::{EffectId, ErrorCause, StopReason};
use pitcrew_process::Presence;
use std::{fs, path::Path};

/// Its parent is the shim.
const FREEZE: &str =
    "until [ -e go ]; do sleep 0.01; done; kill -STOP $PPID; : > frozen; sleep 600";

fn is_free(attempt: &Path) -> bool {
    fs::File::open(attempt.join("lock")).expect("a lock").try_lock().is_ok()
}

#[tokio::test]
async fn an_agent_that_froze_its_shim_is_stopped() {
    let home = tempfile::tempdir().expect("a folder");
    let script = format!("{}{FREEZE}", OPEN.replace("read -r prompt\n", ""));
    let launch = launch(home.path(), &["sh", "-c", &script]);
    let (session, _events) = open(launch).await.expect("a session");
    fs::write(home.path().join("checkout/go"), "").expect("a file");
    let frozen = home.path().join("checkout/frozen");
    until(|| frozen.exists()).await;
    let exit = session.stop(std::time::Duration::from_secs(2)).await;
    assert_eq!((exit.code, exit.signal), (None, None));
    assert!(is_free(&home.path().join("attempt")));
}

/// It answers, but cannot deliver the data that it announced.
#[tokio::test]
async fn a_fake_shim_is_detected_and_the_agent_lost() {
    let mut stage = Stage::new(END).await;
    let attempt = stage.home.path().join("attempt");
    let socket = stage.home.path().join("s");
    fs::remove_file(&socket).expect("a socket");
    let listener = tokio::net::UnixListener::bind(&socket).expect("a socket");
    let answer = async {
        use tokio::io::AsyncWriteExt;
        let (mut stream, _) = listener.accept().await.expect("a client");
        let missing = r#"{"pid":2147483647,"start":1}"#;
        let hello = format!(
            "{{\"hello\":{{\"shim\":{missing},\"agent\":{missing},\"spooled\":{}}}}}\n",
            u64::MAX
        );
        stream.write_all(hello.as_bytes()).await.expect("a client");
        std::future::pending::<()>().await;
    };
    let cwd = stage.home.path().join("checkout");
    let back = tokio::select! {
        back = attach(&attempt, &cwd, Profile::default(), None, LONG) => back.expect("its session is in the spool"),
        () = answer => unreachable!("it never ends"),
    };
    assert_eq!(back.presence, Presence::Lost);
    assert!(is_free(&attempt));
    while stage.events.next().await.is_some() {}
}

/// It waits for a limit and reports that only on stderr. Its turn ended while no client was
/// attached, and the session continues.
#[tokio::test]
async fn a_silent_wait_ends_the_turn() {
    let script = r#"
say 'I begin.'
echo 'turn 1: it waits for capacity, retry in 1170s' >&2
echo 'a list was fetched' >&2
read -r cancel
echo '{"id":16,"result":{"stopReason":"cancelled"}}'
read -r prompt
echo '{"id":24,"result":{"stopReason":"end_turn"}}'
read forever
"#;
    let rule = ErrorRule { says: "waits for*retry".into(), kind: ErrorKind::Quota };
    let log_turn = Some("turn ".into());
    let profile = Profile { log_errors: vec![rule], log_turn, ..Profile::default() };
    let stage = Stage::of(script, profile.clone()).await;
    let session = stage.session.clone();
    let turn = tokio::spawn(async move { session.prompt(EffectId(2), "go").await });
    let spool = stage.home.path().join("attempt/spool.ndjson");
    until(|| fs::read_to_string(&spool).is_ok_and(|it| it.contains("cancelled"))).await;
    turn.abort();
    let Stage { session, events, home } = stage;
    drop((session, events));
    let (dir, cwd) = (home.path().join("attempt"), home.path().join("checkout"));
    let back = attach(&dir, &cwd, profile, None, LONG).await.expect("a session");
    let end = back.session.prompt(EffectId(2), "go").await.expect("a turn");
    let StopReason::Error { cause: ErrorCause::Quota { until: Some(_) }, message } = end.stop
    else {
        panic!("{:?}", end.stop)
    };
    assert_eq!(message, "turn 1: it waits for capacity, retry in 1170s");
    assert_eq!(end.last_words, "I begin.");
    let next = back.session.prompt(EffectId(3), "go on").await.expect("a turn");
    assert_eq!(next.stop, StopReason::EndTurn);
    back.session.stop(std::time::Duration::from_millis(100)).await;
}
