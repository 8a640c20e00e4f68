//! Full disks, read-only disks and disks that lose writes. Each is a real one, in its own namespace
//! or under a tracer; a machine that allows neither skips the test.

use crate::support::{
    assert_outbox_follows_events, batch, child_dir, child_inside, ended, everything, note, open,
    program, temp_dir, turn,
};
use pitcrew_store::{AppendErrorKind, Batch, Journal as _, OpenErrorKind, SqliteJournal};
use pitcrew_testkit::skipped;
use std::{
    fs::{self, File},
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
};

const PAGE: u64 = 4_096;

/// A command line that mounts with `mount`, and then runs its arguments.
fn with_mount(mount: &str, dir: &Path) -> Command {
    let mut command = program("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c"]);
    command.arg(format!("{mount} && exec \"$@\"")).arg(dir);
    command
}

/// Returns whether the command line works on this machine; otherwise `test` is skipped.
fn is_possible(mut command: Command, test: &str) -> bool {
    command.arg("true").stdout(Stdio::null()).stderr(Stdio::null());
    let possible = command.status().is_ok_and(|it| it.success());
    if !possible {
        skipped(test, &format!("`{}` does not work here", command.get_program().display()));
    }
    possible
}

fn run(command: &mut Command) {
    let output = command.output().expect("the command starts");
    assert!(
        output.status.success(),
        "{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Takes all free space except for `pages_left`.
fn fill(dir: &Path, pages_left: u64) {
    let mut file = File::create(dir.join("filler")).expect("a file");
    let page = [1; 4_096];
    while file.write_all(&page).is_ok() {}
    let length = file.metadata().expect("a length").len();
    file.set_len((length / PAGE).saturating_sub(pages_left) * PAGE).expect("some space");
}

fn free(dir: &Path) {
    fs::remove_file(dir.join("filler")).expect("the filler goes");
}

fn some_batch(after: u64) -> Batch {
    let text = "t".repeat(9_000);
    batch(after, [turn(&text), note(&text), ended(after.saturating_sub(3)), note("end")])
}

/// The disk is full from the k-th page on, for every k that an append or an opening needs.
#[test]
fn a_full_disk_refuses_a_batch_and_nothing_else() {
    if let Some(dir) = child_dir() {
        return fill_and_append(&dir);
    }
    let (test, dir) = ("disk::a_full_disk_refuses_a_batch_and_nothing_else", temp_dir());
    let disk = || with_mount("mount -t tmpfs -o size=4m none \"$0\"", dir.path());
    if is_possible(disk(), test) {
        run(&mut child_inside(disk(), test, dir.path()));
    }
}

fn fill_and_append(dir: &Path) {
    let mut refused = (0, 0);
    let mut appended = Vec::new();
    for pages_left in 0..32 {
        // A new journal each time: space that an earlier round reserved would hide the full disk.
        let mut journal = open(dir);
        fill(dir, pages_left);
        for _ in 0..2 {
            let batch = some_batch(appended.len() as u64);
            match journal.append(&batch).map_err(|it| it.kind) {
                Ok(()) => appended.extend(batch.entries),
                Err(AppendErrorKind::Full(_)) => refused.0 += 1,
                Err(other) => panic!("{pages_left} pages left: {other}: {other:?}"),
            }
            assert_eq!(everything(&journal), appended, "{pages_left} pages left");
        }
        free(dir);
        let batch = some_batch(appended.len() as u64);
        journal.append(&batch).expect("there is space again");
        appended.extend(batch.entries);
        drop(journal);
        fill(dir, pages_left);
        match SqliteJournal::open(dir).map_err(|it| it.kind) {
            Ok(journal) => assert_eq!(everything(&journal), appended),
            Err(OpenErrorKind::Full(_)) => refused.1 += 1,
            Err(other) => panic!("{pages_left} pages left: {other}: {other:?}"),
        }
        free(dir);
    }
    let journal = open(dir);
    assert_eq!(everything(&journal), appended);
    assert_outbox_follows_events(&journal);
    assert!(refused.0 > 4 && refused.1 > 4, "the disk was really full: {refused:?}");
}

#[test]
fn a_read_only_disk_is_reported() {
    if let Some(dir) = child_dir() {
        let kind = SqliteJournal::open(&dir).expect_err("nothing can be written").kind;
        assert!(matches!(kind, OpenErrorKind::ReadOnly(_)), "{kind:?}");
        return;
    }
    let dir = temp_dir();
    open(dir.path()).append(&batch(0, [note("a")])).expect("it appends");
    let disk =
        || with_mount("mount --bind \"$0\" \"$0\" && mount -o remount,bind,ro \"$0\"", dir.path());
    let test = "disk::a_read_only_disk_is_reported";
    if is_possible(disk(), test) {
        run(&mut child_inside(disk(), test, dir.path()));
        run(&mut child_inside(disk(), test, &dir.path().join("not/there/yet")));
    }
}

/// Runs the program that is added with every `when`-th of `calls` on the journal's files failing.
fn with_fault(dir: &Path, calls: &str, error: &str, when: &str) -> Command {
    let mut command = program("strace");
    command.args(["-f", "--seccomp-bpf", "-qq", "-o", "/dev/null"]);
    command.args(["-e", &format!("trace={calls}")]);
    command.args(["-e", &format!("inject={calls}:error={error}:when={when}")]);
    for name in ["journal.db", "journal.db-wal"] {
        command.arg("-P").arg(dir.join(name));
    }
    command
}

const WRITES: &str = "write,pwrite64,ftruncate";
const SYNCS: &str = "fsync,fdatasync";

/// The number of failed writes to reach.
const WRITES_FAILED_MAX: u64 = 500;
/// Writes from one failure to the next: enough for an open and a batch.
const FAILURES_APART: u64 = 25;

/// The disk has no room for the k-th write, for every k up to 500, and has room at the next one.
#[test]
fn a_failed_write_refuses_its_batch_at_any_position() {
    if let Some(dir) = child_dir() {
        return append_through_full_moments(&dir);
    }
    let test = "disk::a_failed_write_refuses_its_batch_at_any_position";
    if !is_possible(with_fault(Path::new("/"), WRITES, "ENOSPC", "1"), test) {
        return;
    }
    for first in 1..=FAILURES_APART {
        let dir = temp_dir();
        let when = format!("{first}+{FAILURES_APART}");
        run(&mut child_inside(with_fault(dir.path(), WRITES, "ENOSPC", &when), test, dir.path()));
        let refused: u64 = number_in(&dir.path().join("refused"));
        assert!(refused >= WRITES_FAILED_MAX / FAILURES_APART, "only {refused} writes failed");
        let journal = open(dir.path());
        assert_eq!(journal.last().expect("it reads").0, number_in(&dir.path().join("appended")));
        assert_outbox_follows_events(&journal);
    }
}

/// Appends until 500 or more writes have failed.
fn append_through_full_moments(dir: &Path) {
    let (mut appended, mut refused) = (Vec::new(), 0);
    while refused < WRITES_FAILED_MAX / FAILURES_APART {
        let mut journal = match SqliteJournal::open(dir).map_err(|it| it.kind) {
            Ok(journal) => journal,
            Err(OpenErrorKind::Full(_)) => {
                refused += 1;
                continue;
            }
            Err(other) => panic!("{other}: {other:?}"),
        };
        // A small number, so that the log is often written back and restarted.
        for _ in 0..8 {
            let batch = some_batch(appended.len() as u64);
            match journal.append(&batch).map_err(|it| it.kind) {
                Ok(()) => appended.extend(batch.entries),
                Err(AppendErrorKind::Full(_)) => refused += 1,
                Err(other) => panic!("{other}: {other:?}"),
            }
            assert_eq!(everything(&journal), appended);
        }
        assert!(appended.len() < 20_000, "no write failed");
    }
    fs::write(dir.join("appended"), appended.len().to_string()).expect("a file");
    fs::write(dir.join("refused"), refused.to_string()).expect("a file");
}

fn number_in(file: &Path) -> u64 {
    let text = fs::read_to_string(file).expect("the child wrote it");
    text.parse().expect("a number")
}

/// After a failed sync nothing is acknowledged, and earlier acknowledged batches are there.
#[test]
fn a_failed_sync_ends_the_journal() {
    ends_the_journal("disk::a_failed_sync_ends_the_journal", SYNCS, 1..30);
}

/// The same for a disk that refuses writes.
#[test]
fn a_failed_write_ends_the_journal() {
    ends_the_journal("disk::a_failed_write_ends_the_journal", WRITES, (1..200).step_by(9));
}

/// The k-th call fails with an I/O error, for every k.
#[track_caller]
fn ends_the_journal(test: &str, calls: &str, numbers: impl IntoIterator<Item = u32>) {
    if let Some(dir) = child_dir() {
        return append_until_the_disk_fails(&dir);
    }
    if !is_possible(with_fault(Path::new("/"), calls, "EIO", "1"), test) {
        return;
    }
    let mut acknowledged_max = 0;
    for number in numbers {
        let dir = temp_dir();
        let broken = with_fault(dir.path(), calls, "EIO", &number.to_string());
        run(&mut child_inside(broken, test, dir.path()));
        let acknowledged = number_in(&dir.path().join("acknowledged"));
        let journal = open(dir.path());
        assert!(journal.last().expect("it reads").0 >= acknowledged, "call {number}");
        assert!(acknowledged / 4 < u64::from(number), "each batch has a sync of its own");
        assert_outbox_follows_events(&journal);
        acknowledged_max = acknowledged_max.max(acknowledged);
    }
    assert!(acknowledged_max > 0, "no batch was written before the disk failed");
}

fn append_until_the_disk_fails(dir: &Path) {
    let mut last = 0;
    match SqliteJournal::open(dir).map_err(|it| it.kind) {
        Ok(mut journal) => {
            let kind = loop {
                match journal.append(&some_batch(last)) {
                    Ok(()) => last += 4,
                    Err(error) => break error.kind,
                }
                assert!(last < 1_000, "nothing failed");
            };
            assert!(matches!(kind, AppendErrorKind::Io(_)), "{kind:?}");
            let kind = journal.append(&some_batch(last)).expect_err("it is over").kind;
            assert!(matches!(kind, AppendErrorKind::Io(_)), "{kind:?}");
        }
        Err(kind) => assert!(matches!(kind, OpenErrorKind::Io(_)), "{kind:?}"),
    }
    fs::write(dir.join("acknowledged"), last.to_string()).expect("a file");
}
