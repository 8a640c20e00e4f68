//! Full or failing disks below one part of the state: that part reports an error, the others
//! continue, and with free space everything works again.

use crate::{
    state_dir::{SMALL, at_rest, state_of},
    support::*,
};
use pitcrew_model::{Failure, TaskStatus};
use pitcrew_testkit::{Running, Sandbox, eventually, skipped};
use std::{
    fs::{self, File},
    io::Write,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

const SMALL_DISK: &str = "mount -t tmpfs -o size=32m none \"$0\"";

/// The error messages of programs; git does not always name the reason.
const FULL: [&str; 2] = ["No space left on device", "couldn't write"];

/// Fills the disk.
fn fill(folder: &Path) -> PathBuf {
    let path = folder.join("filler");
    let mut file = File::create(&path).expect("a file");
    while file.write_all(&[1; 16_384]).is_ok() {}
    while file.write_all(&[1; 512]).is_ok() {}
    path
}

/// Moves a part of the state to another disk.
fn move_to(part: &Path, disk: &Path) {
    let place = disk.join(part.file_name().expect("a name"));
    let copied = run_here("cp", &["-a", &text(part), &text(&place)]);
    assert!(copied, "{} can be copied", part.display());
    fs::remove_dir_all(part).expect("it is a folder");
    symlink(place, part).expect("a link");
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

#[expect(clippy::disallowed_methods, reason = "tests start what they need")]
fn run_here(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|it| it.success())
}

#[test]
fn full_log_disk_stops_nothing() {
    let Some(disk) = std::env::var_os(MOUNTED).map(PathBuf::from) else {
        return run_mounted("disk::full_log_disk_stops_nothing", SMALL_DISK);
    };
    let sandbox = at_rest();
    let logs = state_of(&sandbox).join("logs");
    fs::remove_dir_all(&logs).expect("there are logs");
    fs::create_dir(&logs).expect("a folder");
    move_to(&logs, &disk);
    fill(&disk);
    sandbox.pitcrew(&["run", &sandbox.plan(SMALL), "--yes"]).expect(0).says("1 of 1 completed");
    let written = fs::read_dir(&logs).expect("a folder").flatten();
    let lengths: Vec<u64> = written.map(|it| it.metadata().expect("a file").len()).collect();
    assert_eq!(lengths, [0], "nothing could be written");
}

/// The part is on its own disk: while that is full, a new plan fails with the reason; afterwards
/// plans work again.
#[track_caller]
fn fails_while_it_is_full(disk: &Path, part: &str) {
    let sandbox = at_rest();
    move_to(&state_of(&sandbox).join(part), disk);
    let filler = fill(disk);
    let plan = sandbox.plan(&SMALL.replace("[[task]]", "max_attempts = 1\n[[task]]"));
    let failed = sandbox.pitcrew(&["run", &plan, "--yes"]);
    assert!(matches!(failed.code, Some(1..=8)), "{failed}");
    let said = format!("{}{}", failed.stdout, failed.stderr);
    assert!(FULL.iter().any(|it| said.contains(it)), "{failed}");
    let board = board(&sandbox);
    assert_eq!(board.plans.len(), 2);
    assert_ne!(board.plans[1].status, pitcrew_model::PlanStatus::Completed);
    fs::remove_file(filler).expect("the filler goes");
    sandbox.pitcrew(&["retry", "plan-2"]).expect(0);
    sandbox.pitcrew(&["watch", "plan-2"]).expect(0).says("1 of 1 completed");
    sandbox.pitcrew(&["land", "plan-2", "--yes"]).expect(0);
}

#[test]
fn full_vault_disk_fails_only_its_plan() {
    let Some(disk) = std::env::var_os(MOUNTED).map(PathBuf::from) else {
        let test = "disk::full_vault_disk_fails_only_its_plan";
        return run_mounted(test, SMALL_DISK);
    };
    fails_while_it_is_full(&disk, "vault.git");
}

#[test]
fn full_attempt_disk_fails_only_the_attempt() {
    let Some(disk) = std::env::var_os(MOUNTED).map(PathBuf::from) else {
        let test = "disk::full_attempt_disk_fails_only_the_attempt";
        return run_mounted(test, SMALL_DISK);
    };
    fails_while_it_is_full(&disk, "attempts");
}

/// Whether system calls can be made to fail here; otherwise `test` is skipped.
fn can_inject(test: &str) -> bool {
    let inject = "inject=fsync:error=EIO:when=1";
    let possible = run_here("strace", &["-f", "-qq", "-o", "/dev/null", "-e", inject, "true"]);
    if !possible {
        skipped(test, "strace does not work here");
    }
    possible
}

/// Starts an orchestrator for which some `calls` on these files fail.
fn serve_with(
    sandbox: &Sandbox,
    files: &[PathBuf],
    calls: &str,
    error: &str,
    when: &str,
) -> Running {
    let (trace, inject) =
        (format!("trace={calls}"), format!("inject={calls}:error={error}:when={when}"));
    let files: Vec<String> = files.iter().map(|it| text(it)).collect();
    let mut arguments =
        vec!["-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-e", &trace, "-e", &inject];
    arguments.extend(files.iter().flat_map(|it| ["-P", it]));
    arguments.extend([BINARY, "serve"]);
    let serving = sandbox.start_program("strace", &arguments);
    serving.await_note("serving ");
    serving
}

/// The spool of an attempt cannot be written: the attempt ends, and the next one does the work.
#[test]
fn failing_spool_ends_only_its_attempt() {
    if !can_inject("disk::failing_spool_ends_only_its_attempt") {
        return;
    }
    for (error, when) in [("ENOSPC", "1"), ("ENOSPC", "4"), ("EIO", "3")] {
        let sandbox = at_rest();
        let spool = state_of(&sandbox).join("attempts/attempt-2/spool.ndjson");
        let serving = serve_with(&sandbox, &[spool], "write", error, when);
        let plan = SMALL.replace("[[task]]", "max_attempts = 2\n[[task]]");
        let run = sandbox.pitcrew(&["run", &sandbox.plan(&plan), "--yes"]).expect(0);
        assert!(run.stdout.contains("1 of 1 completed"), "{error} {when}: {run}");
        let board = board(&sandbox);
        let attempts = &board.tasks[1].attempts;
        assert_eq!(attempts.len(), 2, "{error} {when}: {attempts:?}");
        let failure = attempts[0].failure.as_ref();
        assert!(
            matches!(failure, Some(Failure::AgentExited { .. } | Failure::Protocol { .. })),
            "{error} {when}: {failure:?}"
        );
        sandbox.pitcrew(&["stop"]).expect(0);
        serving.wait();
    }
}

fn journal_of(sandbox: &Sandbox) -> [PathBuf; 2] {
    let state = state_of(sandbox);
    [state.join("journal.db"), state.join("journal.db-wal")]
}

/// The caller repeats what was refused; the reports of drivers are kept until there is space.
#[test]
fn intermittently_full_journal_loses_nothing() {
    if !can_inject("disk::intermittently_full_journal_loses_nothing") {
        return;
    }
    for when in ["3+40", "17+40"] {
        let sandbox = at_rest();
        let serving = serve_with(&sandbox, &journal_of(&sandbox), "pwrite64", "ENOSPC", when);
        let plan = sandbox.plan(SMALL);
        eventually("a plan has enough space", || {
            let run = sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]);
            let refused = run.stderr.contains("nothing was changed");
            assert!(run.code == Some(0) || refused, "{when}: {run}");
            (run.code == Some(0)).then_some(())
        });
        sandbox.pitcrew(&["watch", "plan-2"]).expect(0).says("1 of 1 completed");
        eventually("the landing has enough space", || {
            (sandbox.pitcrew(&["land", "plan-2", "--yes"]).code == Some(0)).then_some(())
        });
        sandbox.pitcrew(&["stop"]).expect(0);
        serving.wait();
        let board = board(&sandbox);
        assert_eq!(board.plans.len(), 2, "{when}");
        assert!(board.tasks.iter().all(|it| it.status == TaskStatus::Completed), "{when}");
    }
}

/// The content of such a disk is unknown: the orchestrator exits, and the next one reads what is
/// there.
#[test]
fn failed_journal_sync_stops_the_orchestrator_without_loss() {
    if !can_inject("disk::failed_journal_sync_stops_the_orchestrator_without_loss") {
        return;
    }
    for when in ["2", "4"] {
        let sandbox = at_rest();
        let serving = serve_with(&sandbox, &journal_of(&sandbox), "fsync", "EIO", when);
        let plan = sandbox.plan(SMALL);
        eventually("the plan is there", || {
            let run = sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]);
            (run.code == Some(0) || board(&sandbox).plans.len() == 2).then_some(())
        });
        sandbox.pitcrew(&["watch", "plan-2"]).expect(0).says("1 of 1 completed");
        let ended = serving.wait();
        assert!(ended.stderr.contains("the orchestrator exits"), "{when}: {ended}");
        assert_eq!(board(&sandbox).plans.len(), 2, "{when}");
    }
}
