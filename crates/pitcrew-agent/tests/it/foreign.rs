//! The agent's end of the protocol: it answers any client input or exits, without a panic.

use crate::stage::{LONG, cast};
use pitcrew_process::{Cancel, Run, run_trusted};
use pitcrew_testkit::corpus;
use serde_json::Value;

#[test]
fn any_client_input_is_answered() {
    let folder = tempfile::tempdir().expect("a folder");
    corpus!("session").check(25, |bytes| {
        let run = Run::new(cast(), folder.path())
            .args(["agent"])
            .stdin(bytes)
            .env("HOME", folder.path())
            .timeout(LONG);
        let finished = run_trusted(run, &Cancel::default()).expect("it should start");
        let complaints = String::from_utf8_lossy(&finished.stderr);
        assert!(matches!(finished.code, Some(0 | 1)), "{:?}: {complaints}", finished.code);
        assert!(!complaints.contains("panicked"), "{complaints}");
        for line in finished.stdout.split(|it| *it == b'\n').filter(|it| !it.is_empty()) {
            let answer: Value = serde_json::from_slice(line).expect("answers are JSON");
            assert_eq!(answer["jsonrpc"], "2.0");
        }
    });
}
