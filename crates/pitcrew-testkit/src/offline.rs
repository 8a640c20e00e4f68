//! A network namespace with only this machine's loopback.

use crate::skipped;
use std::process::{Command, Stdio};

/// Set in a process inside such a network.
const MARKER: &str = "PITCREW_TEST_OFFLINE";

/// Drops network privileges, enters an empty network, and brings its loopback up. The process is
/// root in it, as in most containers; some agents do not support that.
const ENTER: &[&str] = &["--user", "--map-root-user", "--net", "sh", "-c"];
const BEGIN: &str = "ip link set lo up && exec \"$@\"";

/// Whether this process is in an empty network.
pub fn is_offline() -> bool {
    std::env::var_os(MARKER).is_some()
}

/// Whether this machine allows an empty network; the error is the reason.
pub fn can_be_offline() -> Result<(), String> {
    if is_offline() {
        return Ok(());
    }
    let output = entering(&["true"]).output().map_err(|it| format!("unshare: {it}"))?;
    let complaint = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if output.status.success() { Ok(()) } else { Err(complaint) }
}

/// Runs the body of a test in a process that has no network except its own loopback; if the machine
/// does not allow it, runs it here.
///
/// `test` is the path of the test, by which the new process finds it.
#[track_caller]
pub fn offline(test: &str, body: impl FnOnce()) {
    if is_offline() {
        return body();
    }
    if let Err(reason) = can_be_offline() {
        skipped(&format!("the empty network of {test}"), &reason);
        return body();
    }
    let program = std::env::current_exe().expect("a test is a program");
    let program = program.to_str().expect("its path is UTF-8");
    let output = offline_command(&[program, "--exact", test, "--nocapture", "--test-threads=1"])
        .output()
        .expect("it could be started a moment ago");
    let (stdout, stderr) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let ran = stdout.contains("test result: ok. 1 passed");
    assert!(output.status.success() && ran, "offline {test}:\n{stdout}\n{stderr}");
    eprint!("{stderr}");
}

/// A command in a process that has no network except its own loopback; if the machine does not
/// allow it, in this one.
#[expect(clippy::disallowed_methods, reason = "tests start what they test")]
pub fn offline_command(words: &[&str]) -> Command {
    if is_offline() || can_be_offline().is_err() {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).stdin(Stdio::null());
        return command;
    }
    let mut command = entering(words);
    command.env(MARKER, "1");
    command
}

#[expect(clippy::disallowed_methods, reason = "tests start what they test")]
fn entering(command: &[&str]) -> Command {
    let mut unshare = Command::new("unshare");
    unshare.args(ENTER).arg(BEGIN).arg("sh").args(command).stdin(Stdio::null());
    unshare
}
