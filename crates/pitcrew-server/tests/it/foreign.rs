//! The orchestrator answers any input on the socket, and keeps serving.

use crate::lab::{LONG, Lab};
use pitcrew_api::paths;
use pitcrew_testkit::{Corpus, corpus};
use std::{fs, path::Path};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::UnixStream,
    runtime::Runtime,
    time::timeout,
};

/// Which side closes the connection.
#[derive(Clone, Copy, PartialEq)]
enum Close {
    /// The test closes it after the input, which may not be a complete request.
    Ours,
    /// The orchestrator closes it after its answer.
    Theirs,
}

/// Sends `bytes` and returns the complete answer.
async fn say(socket: &Path, bytes: &[u8], close: Close) -> Vec<u8> {
    let talk = async {
        let mut stream = UnixStream::connect(socket).await.unwrap();
        // The orchestrator may stop reading early.
        stream.write_all(bytes).await.ok();
        if close == Close::Ours {
            stream.shutdown().await.ok();
        }
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.ok();
        answer
    };
    timeout(LONG, talk).await.expect("it answers and closes")
}

fn request(lab: &Lab, head: &[u8], body: &[u8]) -> Vec<u8> {
    let fields = format!(
        " HTTP/1.1\r\nhost: pitcrew\r\nauthorization: {}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        lab.person(),
        body.len()
    );
    [head, fields.as_bytes(), body].concat()
}

/// A path as written in a request, for any bytes.
fn escaped(target: &[u8]) -> Vec<u8> {
    let escape = |byte: &u8| match byte {
        0x21..=0x7e => vec![*byte],
        _ => format!("%{byte:02x}").into_bytes(),
    };
    target.iter().flat_map(escape).collect()
}

/// Sends all mutations of the corpus; no answer is an internal error.
fn try_all(
    lab: &Lab,
    runtime: &Runtime,
    corpus: &Corpus,
    close: Close,
    make: impl Fn(&[u8]) -> Vec<u8>,
) {
    let socket = lab.socket();
    corpus.check(40, |bytes| {
        let answer = runtime.block_on(say(&socket, &make(bytes), close));
        let status = answer.strip_prefix(b"HTTP/1.1 ").unwrap_or_default();
        assert!(close == Close::Ours || !status.is_empty(), "there is no answer");
        assert!(!status.starts_with(b"5"), "{}", String::from_utf8_lossy(&answer));
    });
    let health = request(lab, b"GET /v1/health", b"");
    let health = runtime.block_on(say(&socket, &health, Close::Theirs));
    assert!(health.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&health));
}

#[test]
fn any_request_is_answered_and_the_next_one_too() {
    let runtime = Runtime::new().unwrap();
    let mut lab = runtime.block_on(Lab::started());
    try_all(&lab, &runtime, &corpus!("request"), Close::Ours, <[u8]>::to_vec);
    try_all(&lab, &runtime, &corpus!("target"), Close::Theirs, |target| {
        request(&lab, &[b"GET ".as_slice(), &escaped(target)].concat(), b"")
    });
    let golden =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../pitcrew-model/tests/golden/command.ndjson");
    let golden = fs::read_to_string(golden).unwrap();
    // A valid plan would be executed.
    let commands = golden.lines().filter(|it| !it.contains("create_plan"));
    let commands = commands.map(|it| it.as_bytes().to_vec());
    let head = format!("POST {}", paths::COMMANDS);
    try_all(&lab, &runtime, &corpus!("body").with("golden", commands), Close::Theirs, |body| {
        request(&lab, head.as_bytes(), body)
    });
    assert!(!lab.has_ended() && !lab.log().contains("panicked"), "{}", lab.log());
    runtime.block_on(lab.kill());
}
