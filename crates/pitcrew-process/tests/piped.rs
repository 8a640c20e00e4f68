//! Programs that are used over pipes while they run: real processes, real pipes.
#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use pitcrew_process::{Piped, Policy, RunErrorKind, spawn_piped};
use std::{ffi::OsString, fs, path::Path};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};

fn sh(script: &str, dir: &Path) -> Piped {
    let mut policy = Policy::unconfined();
    policy.env.push(("GIVEN".into(), "by name".into()));
    let argv = ["sh", "-c", script].map(OsString::from);
    spawn_piped(&policy, &argv, dir).unwrap()
}

/// Whether the process whose id is in the file `name` is alive.
fn is_alive(dir: &Path, name: &str) -> bool {
    let pid = fs::read_to_string(dir.join(name)).unwrap();
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    stat.is_ok_and(|it| !it.rsplit(')').next().unwrap().trim_start().starts_with('Z'))
}

#[tokio::test]
async fn program_reads_input_and_responds() {
    let dir = TempDir::new().unwrap();
    let Piped { mut stdin, stdout, program } =
        sh("echo $GIVEN; pwd; while read line; do echo got $line; done; echo end", dir.path());
    let mut lines = BufReader::new(stdout).lines();
    assert_eq!(lines.next_line().await.unwrap().unwrap(), "by name");
    let cwd = dir.path().canonicalize().unwrap().display().to_string();
    assert_eq!(lines.next_line().await.unwrap().unwrap(), cwd);
    stdin.write_all(b"one\n").await.unwrap();
    assert_eq!(lines.next_line().await.unwrap().unwrap(), "got one");
    drop(stdin);
    assert_eq!(lines.next_line().await.unwrap().unwrap(), "end");
    assert_eq!(lines.next_line().await.unwrap(), None);
    drop(program);
}

#[tokio::test]
async fn dropped_program_takes_its_descendants_with_it() {
    let dir = TempDir::new().unwrap();
    let script = "
        trap '' TERM INT HUP; echo $$ > own
        sh -c 'echo $$ > child; exec sleep 600' &
        sh -c '(setsid sh -c \"echo \\$\\$ > orphan; exec sleep 600\" > /dev/null 2>&1 &)'
        until [ -s child ] && [ -s orphan ]; do :; done; echo up; wait";
    let Piped { stdin, mut stdout, program } = sh(script, dir.path());
    let mut up = [0; 3];
    stdout.read_exact(&mut up).await.unwrap();
    assert_eq!(&up, b"up\n");
    for name in ["own", "child", "orphan"] {
        assert!(is_alive(dir.path(), name), "{name} is not alive");
    }
    drop(program);
    for name in ["own", "child", "orphan"] {
        assert!(!is_alive(dir.path(), name), "{name} is alive");
    }
    drop(stdin);
}

#[tokio::test]
async fn ended_program_leaves_no_process_after_the_drop() {
    let dir = TempDir::new().unwrap();
    let script = "setsid sh -c 'echo $$ > daemon; exec sleep 600' > /dev/null 2>&1 &
        until [ -s daemon ]; do :; done";
    let Piped { mut stdout, program, .. } = sh(script, dir.path());
    assert_eq!(stdout.read(&mut [0]).await.unwrap(), 0);
    assert!(is_alive(dir.path(), "daemon"));
    drop(program);
    assert!(!is_alive(dir.path(), "daemon"));
}

/// During `exec` a process has no environment, and so no marker, in many of the moments it is
/// checked.
#[tokio::test]
async fn program_that_keeps_calling_exec_does_not_escape() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("hop"), "exec sh ./hop").unwrap();
    let script = "setsid sh -c 'echo $$ > hopper; exec sh ./hop' > /dev/null 2>&1 &
        until [ -s hopper ]; do :; done";
    for _ in 0..20 {
        let Piped { mut stdout, program, .. } = sh(script, dir.path());
        assert_eq!(stdout.read(&mut [0]).await.unwrap(), 0);
        assert!(is_alive(dir.path(), "hopper"));
        drop(program);
        assert!(!is_alive(dir.path(), "hopper"));
        fs::remove_file(dir.path().join("hopper")).unwrap();
    }
}

#[tokio::test]
async fn program_that_cannot_be_started_is_named() {
    let dir = TempDir::new().unwrap();
    let argv = ["no-such-program".into()];
    let error = spawn_piped(&Policy::unconfined(), &argv, dir.path()).unwrap_err();
    assert!(
        matches!(&error.kind, RunErrorKind::NotFound { program } if program == "no-such-program")
    );
}
