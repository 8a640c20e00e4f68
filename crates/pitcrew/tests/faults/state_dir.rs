//! A state folder that is damaged, read-only, full or owned by someone else.

use crate::support::*;
use pitcrew_testkit::{Process, Sandbox, eventually};
use std::{
    fs::{self, File},
    io::{Seek, SeekFrom, Write},
    os::unix::net::UnixListener,
    path::{Path, PathBuf},
};

pub const SMALL: &str = "name = \"small\"\n[[task]]\nid = \"a\"\nregion = \"core\"\ncommand = \"echo a > core/a.txt\"\n";

/// The folder of the only workspace.
pub fn state_of(sandbox: &Sandbox) -> PathBuf {
    let workspaces = sandbox.home().join(".local/state/pitcrew/workspaces");
    let mut entries = fs::read_dir(workspaces).expect("there is state").flatten();
    entries.next().expect("there is a workspace").path()
}

/// A workspace with a completed plan and a stopped orchestrator.
pub fn at_rest() -> Sandbox {
    let sandbox = sandbox();
    sandbox.pitcrew(&["run", &sandbox.plan(SMALL), "--yes"]).expect(0);
    sandbox.pitcrew(&["stop"]).expect(0);
    sandbox
}

/// Asserts that nothing starts, the error names the reason, and the file is not changed.
#[track_caller]
fn assert_journal_is_refused(sandbox: &Sandbox, journal: &Path, reason: &str) {
    let before = fs::read(journal).expect("a file");
    for arguments in [&["status"][..], &["retry", "plan-1"]] {
        let refused = sandbox.pitcrew(arguments).expect(7);
        assert!(refused.stderr.contains(reason), "{refused}");
        assert!(refused.stderr.contains("journal.db"), "{refused}");
    }
    assert_eq!(fs::read(journal).expect("a file"), before);
}

#[test]
fn file_that_is_not_a_journal_is_not_changed() {
    let sandbox = at_rest();
    let journal = state_of(&sandbox).join("journal.db");
    let good = fs::read(&journal).expect("a file");
    fs::write(&journal, "this is not a database, but somebody may still want it\n".repeat(99))
        .expect("a file");
    assert_journal_is_refused(&sandbox, &journal, "it is not a journal");
    // With the original content everything works again.
    fs::write(&journal, good).expect("a file");
    sandbox.pitcrew(&["status", "--all"]).expect(0).says("completed");
}

#[test]
fn damaged_journal_is_refused() {
    let sandbox = at_rest();
    let journal = state_of(&sandbox).join("journal.db");
    let mut file = File::options().write(true).open(&journal).expect("a file");
    file.seek(SeekFrom::Start(4_096)).expect("it has pages");
    file.write_all(&[0xA5; 4_096]).expect("they can be overwritten");
    let refused = sandbox.pitcrew(&["status"]).expect(7);
    assert!(refused.stderr.contains("journal.db"), "{refused}");
    assert!(refused.stderr.contains("damaged"), "{refused}");
}

/// The version is at a fixed place in the header of the database.
#[test]
fn newer_journal_is_refused_with_a_message() {
    let sandbox = at_rest();
    let journal = state_of(&sandbox).join("journal.db");
    let mut file = File::options().write(true).open(&journal).expect("a file");
    file.seek(SeekFrom::Start(60)).expect("it has a header");
    file.write_all(&99_i32.to_be_bytes()).expect("it can be overwritten");
    assert_journal_is_refused(&sandbox, &journal, "newer pitcrew (journal version 99");
}

#[test]
fn stale_socket_is_replaced() {
    let sandbox = at_rest();
    let folder =
        sandbox.root().join("run/pitcrew").join(state_of(&sandbox).file_name().expect("a name"));
    let socket = folder.join("door/serve.sock");
    drop(UnixListener::bind(&socket).expect("the place is free"));
    assert!(socket.exists(), "a dead socket is left behind");
    sandbox.pitcrew(&["status", "--all"]).expect(0).says("completed");
    sandbox.pitcrew(&["stop"]).expect(0);
    fs::write(&socket, "not even a socket").expect("a file");
    sandbox.pitcrew(&["status", "--all"]).expect(0).says("completed");
}

/// After a kill, many concurrent commands start one orchestrator, and all of them are served.
#[test]
fn concurrent_commands_after_a_kill_start_one_orchestrator() {
    let sandbox = sandbox();
    sandbox.pitcrew(&["run", &sandbox.plan(SMALL), "--yes"]).expect(0);
    sandbox.kill_orchestrator();
    let commands: Vec<_> = (0..6).map(|_| sandbox.start(&["status", "--all"])).collect();
    for command in commands {
        command.wait().expect(0).says("completed");
    }
    let serving = Process::naming(&sandbox.root().display().to_string());
    assert_eq!(serving.len(), 1, "{serving:?}");
    let second = sandbox.pitcrew(&["serve"]).expect(6);
    assert!(second.stderr.contains("only one orchestrator works on a workspace"), "{second}");
    sandbox.pitcrew(&["status", "--all"]).expect(0).says("completed");
}

/// A removed checkout is reported like a fault of the agent and affects no other task.
#[test]
fn removed_checkout_fails_only_its_task() {
    let sandbox = sandbox();
    let gate = sandbox.root().join("gate");
    let task = script(&format!("run cd / && {}\ncomplete it", wait_at(&gate)));
    let plan = sandbox.plan(&beside_a_sibling(&task));
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    await_reached(&gate);
    fs::remove_dir_all(checkout(&sandbox, "faulty")).expect("it is there");
    open_gate(&gate);
    sandbox.pitcrew(&["watch", "plan-1"]).expect(4).says("1 of 2 completed");
}

/// A missing vault is reported, and the journal can still be read.
#[test]
fn missing_vault_is_reported() {
    let sandbox = at_rest();
    fs::remove_dir_all(state_of(&sandbox).join("vault.git")).expect("there is a vault");
    sandbox.pitcrew(&["status", "--all"]).expect(0).says("completed");
    let refused = sandbox.pitcrew(&["land", "plan-1", "--yes"]);
    assert!(matches!(refused.code, Some(1 | 8)), "{refused}");
    assert!(!sandbox.repo().join("core/a.txt").exists());
    // New work creates a new vault.
    sandbox.pitcrew(&["run", &sandbox.plan(SMALL), "--yes"]).expect(0);
    sandbox.pitcrew(&["land", "plan-2", "--yes"]).expect(0);
}

/// A sandbox whose state is in the mounted folder.
fn with_state_in(folder: &Path) -> Sandbox {
    let sandbox = sandbox();
    fs::create_dir(sandbox.home().join(".local")).expect("a folder");
    std::os::unix::fs::symlink(folder, sandbox.home().join(".local/state")).expect("a link");
    sandbox
}

#[test]
fn read_only_state_folder_is_reported() {
    let Some(folder) = std::env::var_os(MOUNTED).map(PathBuf::from) else {
        return run_mounted(
            "state_dir::read_only_state_folder_is_reported",
            "mount -t tmpfs -o ro none \"$0\"",
        );
    };
    let sandbox = with_state_in(&folder);
    let plan = sandbox.plan(SMALL);
    for arguments in [&["status"][..], &["run", &plan, "--yes"]] {
        let refused = sandbox.pitcrew(arguments).expect(7);
        assert!(refused.stderr.contains("Read-only file system"), "{refused}");
        assert!(refused.stderr.contains("XDG_STATE_HOME"), "{refused}");
    }
}

/// New work is refused with a reason, existing state is intact, and with free space everything
/// works again.
#[test]
fn full_disk_refuses_new_work_without_loss() {
    let Some(folder) = std::env::var_os(MOUNTED).map(PathBuf::from) else {
        return run_mounted(
            "state_dir::full_disk_refuses_new_work_without_loss",
            "mount -t tmpfs -o size=300m none \"$0\"",
        );
    };
    let sandbox = with_state_in(&folder);
    let plan = sandbox.plan(SMALL);
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
    let filler = folder.join("filler");
    let mut file = File::create(&filler).expect("a file");
    while file.write_all(&[1; 16_384]).is_ok() {}
    while file.write_all(&[1; 512]).is_ok() {}
    // Longer than the rest of a partly filled page.
    let long = sandbox.root().join("long.toml");
    fs::write(&long, SMALL.replace("echo a", &format!("echo {}", "a".repeat(100_000))))
        .expect("a file");
    let long = long.display().to_string();
    let refused = sandbox.pitcrew(&["run", &long, "--yes"]).expect(1);
    assert!(refused.stderr.contains("the disk is full"), "{refused}");
    assert!(refused.stderr.contains("nothing was changed"), "{refused}");
    assert_eq!(board(&sandbox).plans.len(), 1);
    sandbox.pitcrew(&["logs", "plan-1"]).expect(0);
    drop(file);
    fs::remove_file(&filler).expect("the filler goes");
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
    sandbox.kill_orchestrator();
    eventually("both plans are there", || (board(&sandbox).plans.len() == 2).then_some(()));
}

/// Below the minimum, new work is refused with that reason instead of failing later.
#[test]
fn low_disk_space_is_a_typed_failure() {
    let Some(folder) = std::env::var_os(MOUNTED).map(PathBuf::from) else {
        return run_mounted(
            "state_dir::low_disk_space_is_a_typed_failure",
            "mount -t tmpfs -o size=64m none \"$0\"",
        );
    };
    let mut sandbox = sandbox();
    sandbox.set("PITCREW_WORKTREES", &folder.display().to_string());
    let plan = sandbox.plan(SMALL);
    let refused = sandbox.pitcrew(&["run", &plan, "--yes"]).expect(5);
    assert!(refused.stdout.contains("MiB free at"), "{refused}");
    let board = board(&sandbox);
    assert_eq!(task_of(&board, "a").attempts.len(), 1);
}
