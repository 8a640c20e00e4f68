//! Full disks, read-only disks and disks that lose writes. Each is a real one, in a namespace or
//! under a tracer of its own; where the machine allows neither, the test says so and checks nothing.

use crate::support::{
    assert_outbox_follows_events, batch, child_dir, child_inside, ended, everything, note, open,
    program, temp_dir, turn,
};
use pitcrew_store::{AppendErrorKind, Batch, Journal as _, OpenErrorKind, SqliteJournal};
use std::{
    fs::{self, File},
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
};

const PAGE: u64 = 4_096;

/// A command line that mounts with `mount`, and then runs what is added to it.
fn with_mount(mount: &str, dir: &Path) -> Command {
    let mut command = program("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c"]);
    command.arg(format!("{mount} && exec \"$@\"")).arg(dir);
    command
}

fn is_possible(mut command: Command) -> bool {
    command.arg("true").stdout(Stdio::null()).stderr(Stdio::null());
    let possible = command.status().is_ok_and(|it| it.success());
    if !possible {
        eprintln!("not possible here, nothing was checked: {command:?}");
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

/// Takes all the space there is, but for `pages_left`.
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
    let dir = temp_dir();
    let disk = || with_mount("mount -t tmpfs -o size=4m none \"$0\"", dir.path());
    if is_possible(disk()) {
        run(&mut child_inside(
            disk(),
            "disk::a_full_disk_refuses_a_batch_and_nothing_else",
            dir.path(),
        ));
    }
}

fn fill_and_append(dir: &Path) {
    let mut refused = (0, 0);
    let mut appended = Vec::new();
    for pages_left in 0..32 {
        // A fresh opening each time: what an earlier round reserved would hide the full disk.
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
fn a_read_only_disk_is_named() {
    if let Some(dir) = child_dir() {
        let kind = SqliteJournal::open(&dir).expect_err("nothing can be written").kind;
        assert!(matches!(kind, OpenErrorKind::ReadOnly(_)), "{kind:?}");
        return;
    }
    let dir = temp_dir();
    open(dir.path()).append(&batch(0, [note("a")])).expect("it appends");
    let disk =
        || with_mount("mount --bind \"$0\" \"$0\" && mount -o remount,bind,ro \"$0\"", dir.path());
    if is_possible(disk()) {
        let test = "disk::a_read_only_disk_is_named";
        run(&mut child_inside(disk(), test, dir.path()));
        run(&mut child_inside(disk(), test, &dir.path().join("not/there/yet")));
    }
}

/// After a failed sync nothing is acknowledged any more, and what was acknowledged before is there.
#[test]
fn a_failed_sync_ends_the_journal() {
    if let Some(dir) = child_dir() {
        return append_until_a_sync_fails(&dir);
    }
    let tracer = |number: u32| {
        let mut command = program("strace");
        let fault = format!("inject=fsync,fdatasync:error=EIO:when={number}");
        command.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync,fdatasync", "-e", &fault]);
        command
    };
    if !is_possible(tracer(1)) {
        return;
    }
    for number in [12, 15, 23] {
        let dir = temp_dir();
        run(&mut child_inside(tracer(number), "disk::a_failed_sync_ends_the_journal", dir.path()));
        let acknowledged: u64 = fs::read_to_string(dir.path().join("acknowledged"))
            .expect("the child wrote it")
            .parse()
            .expect("a number");
        let journal = open(dir.path());
        assert!(acknowledged > 0 && journal.last().expect("it reads").0 >= acknowledged);
        assert!(acknowledged / 4 < u64::from(number), "each batch has a sync of its own");
        assert_outbox_follows_events(&journal);
    }
}

fn append_until_a_sync_fails(dir: &Path) {
    let mut journal = open(dir);
    let mut last = 0;
    let kind = loop {
        match journal.append(&some_batch(last)) {
            Ok(()) => last += 4,
            Err(error) => break error.kind,
        }
        assert!(last < 1_000, "no sync failed");
    };
    assert!(matches!(kind, AppendErrorKind::Io(_)), "{kind:?}");
    let kind = journal.append(&some_batch(last)).expect_err("it is over").kind;
    assert!(matches!(kind, AppendErrorKind::Io(_)), "{kind:?}");
    fs::write(dir.join("acknowledged"), last.to_string()).expect("a file");
}
