//! Programs that are run to their end: real processes, real pipes, real signals.
#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use pitcrew_process::{
    Cancel, Overflow, Policy, Run, RunErrorKind, end_left_behind, run_confined, run_observed,
    run_trusted, shell,
};
use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};
use tempfile::TempDir;

const LONG: Duration = Duration::from_mins(1);

fn sh(script: &str, dir: &Path) -> Run {
    Run::new("sh", dir).args(["-c", script]).timeout(LONG)
}

fn run(run: Run) -> pitcrew_process::Finished {
    run_confined(&Policy::unconfined(), run, &Cancel::default()).unwrap()
}

/// Whether the process whose id is in the file `name` is alive.
fn is_alive(dir: &Path, name: &str) -> bool {
    let pid = fs::read_to_string(dir.join(name)).unwrap();
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    stat.is_ok_and(|it| !it.rsplit(')').next().unwrap().trim_start().starts_with('Z'))
}

#[test]
fn input_file_is_read_from_the_given_offset() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, "head\nbody\n").unwrap();
    let run = Run::new("cat", folder.path()).stdin_file(&path, 5);
    assert_eq!(run_trusted(run, &Cancel::default()).unwrap().stdout, b"body\n");
    let run = Run::new("cat", folder.path()).stdin_file(folder.path().join("none"), 0);
    assert!(run_trusted(run, &Cancel::default()).is_err());
}

#[test]
fn pipe_in_place_of_the_input_file_does_not_block() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RWXU).unwrap();
    let run = Run::new("cat", folder.path()).stdin_file(&path, 0);
    assert!(run_trusted(run, &Cancel::default()).is_err());
}

/// Builds a program that reads this many bytes into memory at once, after a line of input.
fn reads(bytes: u64, dir: &Path) -> Run {
    let script = format!("read -r go; exec dd if=/dev/zero of=/dev/null count=1 bs={bytes}");
    sh(&script, dir).stdin("go\n")
}

#[test]
fn program_has_no_more_memory_than_its_limit() {
    const LIMIT: u64 = 64 * 1_024 * 1_024;
    let dir = TempDir::new().unwrap();
    let (policy, cancel) = (Policy::unconfined(), Cancel::default());
    for bytes in [LIMIT / 2, LIMIT * 2] {
        let run = || reads(bytes, dir.path()).memory_bytes_max(LIMIT);
        let trusted = run_trusted(run(), &cancel).unwrap();
        let confined = run_confined(&policy, run(), &cancel).unwrap();
        for finished in [trusted, confined] {
            let said = String::from_utf8_lossy(&finished.stderr);
            assert_eq!(finished.success(), bytes < LIMIT, "{bytes}: {said}");
        }
    }
}

#[test]
fn program_that_writes_too_much_is_killed_on_overflow() {
    let dir = TempDir::new().unwrap();
    let run = Run::new("yes", dir.path()).timeout(LONG).output_bytes_max(100_000);
    let finished = run_trusted(run.overflow(Overflow::Kill), &Cancel::default()).unwrap();
    assert!(finished.truncated && !finished.timed_out && !finished.success());
    assert!(finished.took < LONG, "{:?}", finished.took);
}

#[test]
fn both_streams_and_the_exit_code_are_kept() {
    let dir = TempDir::new().unwrap();
    let finished = run(sh("echo out; echo err >&2; exit 3", dir.path()));
    assert_eq!(
        (finished.stdout.as_slice(), finished.stderr.as_slice()),
        (&b"out\n"[..], &b"err\n"[..])
    );
    assert_eq!((finished.code, finished.signal, finished.success()), (Some(3), None, false));
}

#[test]
fn program_ended_by_a_signal_reports_the_signal() {
    let dir = TempDir::new().unwrap();
    let finished = run(sh("kill -9 $$", dir.path()));
    assert_eq!((finished.code, finished.signal), (None, Some(9)));
}

#[test]
fn large_input_and_output_do_not_block_each_other() {
    let dir = TempDir::new().unwrap();
    let input = vec![b'x'; 3 * 1_024 * 1_024];
    let finished = run(Run::new("cat", dir.path()).stdin(input.clone()));
    assert!(finished.success() && !finished.truncated);
    assert!(finished.stdout == input);
}

#[test]
fn program_that_does_not_read_its_input_is_no_failure() {
    let dir = TempDir::new().unwrap();
    let finished = run(Run::new("true", dir.path()).stdin(vec![b'x'; 1_024 * 1_024]));
    assert!(finished.success());
}

#[test]
fn end_of_too_much_output_is_kept() {
    let dir = TempDir::new().unwrap();
    let script = "seq 1 100000; echo the end";
    let finished = run(sh(script, dir.path()).output_bytes_max(100));
    assert!(finished.truncated && finished.stdout.len() == 100);
    assert!(finished.stdout.ends_with(b"100000\nthe end\n"));
}

#[test]
fn shell_command_keeps_the_order_of_its_streams() {
    let dir = TempDir::new().unwrap();
    let command = "echo 1; echo 2 >&2; echo 3; pwd";
    let cancel = Cancel::default();
    let finished = shell(&Policy::unconfined(), command, dir.path(), LONG, &cancel).unwrap();
    let expected = format!("1\n2\n3\n{}\n", dir.path().canonicalize().unwrap().display());
    assert_eq!(String::from_utf8(finished.stdout).unwrap(), expected);
    assert!(finished.stderr.is_empty());
}

/// The program waits for a response to its output.
#[test]
fn output_is_observed_while_the_program_runs() {
    let dir = TempDir::new().unwrap();
    assert!(run(Run::new("mkfifo", dir.path()).arg("go")).success());
    let command = Run::shell("echo one; echo two >&2; cat go; echo end", dir.path()).timeout(LONG);
    let mut seen = Vec::new();
    let mut answered = false;
    let observe = |bytes: &[u8]| {
        seen.extend_from_slice(bytes);
        if seen.ends_with(b"two\n") {
            fs::write(dir.path().join("go"), "three\n").unwrap();
            answered = true;
        }
    };
    let finished =
        run_observed(&Policy::unconfined(), command, &Cancel::default(), observe).unwrap();
    assert!(finished.success() && answered);
    assert_eq!(seen, b"one\ntwo\nthree\nend\n");
    assert_eq!(finished.stdout, seen);
}

#[test]
fn all_output_is_observed_in_small_pieces() {
    let dir = TempDir::new().unwrap();
    let script = sh("seq 1 200000; seq 1 200000 >&2", dir.path()).output_bytes_max(100);
    let (mut total, mut largest) = (0, 0);
    let observe = |bytes: &[u8]| {
        total += bytes.len();
        largest = largest.max(bytes.len());
    };
    let finished =
        run_observed(&Policy::unconfined(), script, &Cancel::default(), observe).unwrap();
    assert!(finished.truncated && finished.stdout.len() == 100);
    assert_eq!(total, 2 * (1..=200_000).map(|it: u32| it.to_string().len() + 1).sum::<usize>());
    assert!(largest <= 64 * 1_024, "a piece of {largest} bytes");
}

#[test]
fn panicking_observer_leaves_no_process_behind() {
    let dir = TempDir::new().unwrap();
    let script = "setsid sh -c 'echo $$ > left; exec sleep 600' &
        until [ -s left ]; do :; done; echo up; wait";
    let script = sh(script, dir.path());
    let run = || {
        run_observed(&Policy::unconfined(), script, &Cancel::default(), |_| panic!("on purpose"))
    };
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err());
    assert!(!is_alive(dir.path(), "left"));
}

#[test]
fn time_out_ends_children_and_processes_that_left_the_session() {
    let dir = TempDir::new().unwrap();
    let script = "
        sh -c 'echo $$ > child; sh -c \"echo \\$\\$ > grandchild; exec sleep 600\" & wait' &
        setsid sh -c 'echo $$ > left; exec sleep 600' &
        sh -c '(setsid sh -c \"echo \\$\\$ > orphan; exec sleep 600\" &)'
        until [ -s grandchild ] && [ -s left ] && [ -s orphan ]; do :; done
        echo all are up
        wait";
    let began = Instant::now();
    let finished = run(sh(script, dir.path()).timeout(Duration::from_secs(3)));
    assert!(finished.timed_out && !finished.success() && finished.signal == Some(9));
    assert_eq!(finished.stdout, b"all are up\n");
    assert!(began.elapsed() < Duration::from_secs(20));
    for name in ["child", "grandchild", "left", "orphan"] {
        assert!(!is_alive(dir.path(), name), "{name} is alive");
    }
}

#[test]
fn check_leaves_no_process_behind() {
    let dir = TempDir::new().unwrap();
    let script = "
        sh -c 'echo $$ > background; exec sleep 600' &
        setsid sh -c 'echo $$ > daemon; exec sleep 600' > /dev/null 2>&1 &
        until [ -s background ] && [ -s daemon ]; do :; done
        echo done";
    let finished = run(sh(script, dir.path()));
    assert!(finished.success());
    assert_eq!(finished.stdout, b"done\n");
    assert!(finished.took < Duration::from_secs(20), "it waited for what it left behind");
    assert!(!is_alive(dir.path(), "background") && !is_alive(dir.path(), "daemon"));
}

#[test]
fn cancel_ends_current_and_future_runs() {
    let dir = TempDir::new().unwrap();
    let made = run(Run::new("mkfifo", dir.path()).arg("up"));
    assert!(made.success());
    let cancel = Cancel::default();
    let policy = Policy::unconfined();
    std::thread::scope(|scope| {
        let script = "trap '' TERM INT; sleep 600 & echo $! > child; echo up > up; wait";
        let run = sh(script, dir.path());
        let running = scope.spawn(|| run_confined(&policy, run, &cancel).unwrap());
        // Opening a pipe waits for the writer.
        assert_eq!(fs::read(dir.path().join("up")).unwrap(), b"up\n");
        cancel.clone().cancel();
        let finished = running.join().unwrap();
        assert!(finished.cancelled && !finished.timed_out && !finished.success());
    });
    assert!(!is_alive(dir.path(), "child"));

    let never_started = run_trusted(Run::new("touch", dir.path()).arg("file"), &cancel).unwrap();
    assert!(never_started.cancelled && !dir.path().join("file").exists());
}

/// A killed process frees its memory first and closes its files after that, so it still holds its
/// locks.
#[test]
fn killed_process_has_closed_its_files() {
    let dir = TempDir::new().unwrap();
    assert!(run(Run::new("mkfifo", dir.path()).arg("up")).success());
    let cancel = Cancel::default();
    // Much memory, and an output that is not ours.
    let script = "
        ( exec 9> lock; flock 9; exec dd if=/dev/zero bs=500M count=2 2> /dev/null ) |
            ( head -c 1 > /dev/null; echo up > up; sleep 600 )";
    std::thread::scope(|scope| {
        let run = sh(script, dir.path());
        let running = scope.spawn(|| run_confined(&Policy::unconfined(), run, &cancel).unwrap());
        // Opening a pipe waits for the writer.
        assert_eq!(fs::read(dir.path().join("up")).unwrap(), b"up\n");
        cancel.cancel();
        assert!(running.join().unwrap().cancelled);
        let lock = fs::File::open(dir.path().join("lock")).unwrap();
        lock.try_lock().unwrap();
    });
}

/// The next orchestrator ends the leftover programs of the previous one, including our own git.
#[test]
fn trusted_program_is_found_by_its_owner_only() {
    let dir = TempDir::new().unwrap();
    assert!(run(Run::new("mkfifo", dir.path()).arg("up")).success());
    let owner = dir.path().to_str().unwrap();
    let program = sh("echo up > up; exec sleep 600", dir.path()).owned_by(owner);
    let cancel = Cancel::default();
    std::thread::scope(|scope| {
        let running = scope.spawn(|| run_trusted(program, &cancel).unwrap());
        // Opening a pipe waits for the writer.
        assert_eq!(fs::read(dir.path().join("up")).unwrap(), b"up\n");
        end_left_behind(&format!("{owner}/other"));
        assert!(!running.is_finished());
        end_left_behind(owner);
        let finished = running.join().unwrap();
        assert_eq!((finished.signal, finished.timed_out), (Some(9), false));
    });
}

#[test]
fn missing_program_is_named() {
    let dir = TempDir::new().unwrap();
    let cancel = Cancel::default();
    let error = run_trusted(Run::new("no-such-program", dir.path()), &cancel).unwrap_err();
    assert!(
        matches!(&error.kind, RunErrorKind::NotFound { program } if program == "no-such-program")
    );
    assert!(error.kind.to_string().contains("no-such-program"));

    let plain = dir.path().join("plain");
    fs::write(&plain, "not a program").unwrap();
    let error = run_trusted(Run::new(&plain, dir.path()), &cancel).unwrap_err();
    assert!(matches!(error.kind, RunErrorKind::PermissionDenied { .. }));

    let nowhere = dir.path().join("nowhere");
    let error = run_trusted(Run::new("true", nowhere), &cancel).unwrap_err();
    assert!(matches!(&error.kind, RunErrorKind::Io(it) if it.to_string().contains("nowhere")));
}

/// This test needs a separate environment, so it starts itself again with one that contains
/// secrets.
#[test]
fn secrets_of_ours_do_not_reach_a_confined_program() {
    let dir = TempDir::new().unwrap();
    if std::env::var_os("SOME_TOKEN").is_none() {
        let again = Run::new(std::env::current_exe().unwrap(), dir.path())
            .args(["--exact", "secrets_of_ours_do_not_reach_a_confined_program"])
            .env("SOME_TOKEN", "secret")
            .env("GIT_DIR", "/elsewhere")
            .env("LD_LIBRARY_PATH", "/elsewhere")
            .owned_by("/somebody/else");
        let finished = run_trusted(again, &Cancel::default()).unwrap();
        assert!(finished.success(), "{}", String::from_utf8_lossy(&finished.stdout));
        return;
    }
    let mut policy = Policy::unconfined();
    policy.env.push(("FROM_POLICY".into(), "1".into()));
    let print = Run::new("env", dir.path()).env("GIVEN", "2");
    let finished = run_confined(&policy, print.clone(), &Cancel::default()).unwrap();
    let confined = String::from_utf8(finished.stdout).unwrap();
    assert!(confined.contains("FROM_POLICY=1\n") && confined.contains("GIVEN=2\n"));
    assert!(confined.contains("PATH="));
    for name in ["SOME_TOKEN", "GIT_DIR", "LD_LIBRARY_PATH", "PITCREW_OWNER"] {
        assert!(!confined.contains(name), "{name} came through");
    }
    let trusted = run_trusted(print, &Cancel::default()).unwrap();
    let trusted = String::from_utf8(trusted.stdout).unwrap();
    assert!(trusted.contains("SOME_TOKEN=secret\n") && !trusted.contains("GIT_DIR"));
    assert!(!trusted.contains("PITCREW_OWNER"), "it is not theirs who own us");
}
