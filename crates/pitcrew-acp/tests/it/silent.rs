//! Shims that say nothing any more: nobody waits for them for ever, and nothing of them is left.

use crate::stage::{END, LONG, OPEN, Stage, launch, until};
use pitcrew_acp::{Profile, attach, open};
use pitcrew_process::Presence;
use std::{fs, path::Path};

/// Its parent is the shim.
const FREEZE: &str =
    "until [ -e go ]; do sleep 0.01; done; kill -STOP $PPID; : > frozen; sleep 600";

fn is_free(attempt: &Path) -> bool {
    fs::File::open(attempt.join("lock")).expect("a lock").try_lock().is_ok()
}

#[tokio::test]
async fn an_agent_that_stopped_its_shim_is_stopped_all_the_same() {
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

/// It answers, and then it has nothing to say of all that it pretends to know.
#[tokio::test]
async fn a_false_shim_is_found_out_and_the_agent_lost() {
    let mut stage = Stage::new(END).await;
    let attempt = stage.home.path().join("attempt");
    let socket = stage.home.path().join("s");
    fs::remove_file(&socket).expect("a socket");
    let listener = tokio::net::UnixListener::bind(&socket).expect("a socket");
    let answer = async {
        use tokio::io::AsyncWriteExt;
        let (mut stream, _) = listener.accept().await.expect("a client");
        let nobody = r#"{"pid":2147483647,"start":1}"#;
        let hello = format!(
            "{{\"hello\":{{\"shim\":{nobody},\"agent\":{nobody},\"spooled\":{}}}}}\n",
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
