//! Acknowledged events survive the death of the process at any instant.

use crate::support::{
    assert_outbox_follows_events, batch, child, child_dir, ended, everything, note, open, temp_dir,
    turn,
};
use pitcrew_model::Seq;
use pitcrew_store::{Batch, Journal as _, OpenErrorKind, SqliteJournal};
use std::{
    hint,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::Stdio,
    time::{Duration, Instant},
};

const ROUNDS: u64 = 20;
/// Every batch has this many events, so that half a batch would be noticed.
const BATCH_EVENTS: u64 = 4;

/// Returns the batch after event `after`, the same in every process.
fn next_batch(after: u64) -> Batch {
    let text = "t".repeat(usize::try_from(after % 7_000).expect("a small number"));
    let before = after.saturating_sub(BATCH_EVENTS) + 1;
    batch(after, [turn(&text), note(&text), ended(before), note("end")])
}

fn append_for_ever(dir: &Path) -> ! {
    let mut journal = open(dir);
    let mut last = journal.last().expect("it reads").0;
    loop {
        journal.append(&next_batch(last)).expect("it appends");
        last += BATCH_EVENTS;
        // Standard output belongs to the test harness.
        writeln!(std::io::stderr(), "ack {last}").expect("the parent listens");
    }
}

/// Lets the child append until it has acknowledged `acks` batches and `delay` has passed, and kills
/// it. Returns the last acknowledged event.
fn kill_after(dir: &Path, acks: u64, delay: Duration) -> u64 {
    let mut child = child("kill::acknowledged_batches_survive_a_kill", dir)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the child starts");
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let parse = |line: std::io::Result<String>| -> Option<u64> {
        line.expect("a line").strip_prefix("ack ")?.parse().ok()
    };
    let mut acknowledged = 0;
    for _ in 0..acks {
        let line = lines.next().expect("the child goes on");
        acknowledged = parse(line).expect("an acknowledgement");
    }
    let killing = Instant::now() + delay;
    while Instant::now() < killing {
        hint::spin_loop();
    }
    child.kill().expect("the child is killed");
    child.wait().expect("the child ends");
    // The kill may tear the last line; a complete number in it was acknowledged.
    lines.filter_map(parse).fold(acknowledged, u64::max)
}

/// Acknowledged means durable: no batch is lost or halved, and the outbox fits the events.
#[test]
fn acknowledged_batches_survive_a_kill() {
    if let Some(dir) = child_dir() {
        append_for_ever(&dir);
    }
    let dir = temp_dir();
    for round in 0..ROUNDS {
        let delay = Duration::from_micros(round * 97 % 1_500);
        let acknowledged = kill_after(dir.path(), 1 + round % 5, delay);
        let journal = open(dir.path());
        let last = journal.last().expect("it reads").0;
        assert!(
            last >= acknowledged,
            "round {round}: {acknowledged} was acknowledged, {last} is there"
        );
        assert_eq!(last % BATCH_EVENTS, 0, "round {round}: half a batch");
        assert_outbox_follows_events(&journal);
    }
    let journal = open(dir.path());
    let written =
        (0..journal.last().expect("it reads").0).step_by(4).flat_map(|it| next_batch(it).entries);
    assert!(everything(&journal).into_iter().eq(written), "the events are what was appended");
}

/// The lock belongs to the process: another one is refused while it lives, and accepted after it
/// was killed.
#[test]
fn a_killed_process_leaves_no_lock() {
    if let Some(dir) = child_dir() {
        append_for_ever(&dir);
    }
    let dir = temp_dir();
    let mut child = child("kill::a_killed_process_leaves_no_lock", dir.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the child starts");
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    lines.next().expect("the child goes on").expect("a line");
    let kind = SqliteJournal::open(dir.path()).expect_err("the child has it").kind;
    assert!(matches!(kind, OpenErrorKind::Locked { pid } if pid == Some(child.id())), "{kind}");
    child.kill().expect("the child is killed");
    child.wait().expect("the child ends");
    assert!(open(dir.path()).last().expect("it reads") >= Seq(BATCH_EVENTS));
}
