//! Readers beside the writer.

use crate::support::{batch, ended, note, open, temp_dir, turn};
use pitcrew_model::{EffectId, Seq};
use pitcrew_store::Journal as _;
use std::thread;

#[test]
fn a_reader_sees_only_committed_data() {
    let dir = temp_dir();
    let mut journal = open(dir.path());
    let reader = journal.reader().expect("a reader");
    assert_eq!(reader.last().expect("it reads"), Seq(0));
    journal.append(&batch(0, [turn("a"), note("b")])).expect("it appends");
    assert_eq!(reader.last().expect("it reads"), Seq(2));
    assert_eq!(reader.read(Seq(1), 10).expect("it reads"), batch(1, [note("b")]).entries);
    assert_eq!(reader.open_effects().expect("it reads")[0].0, EffectId(1));
    journal.append(&batch(2, [ended(1)])).expect("it appends");
    assert_eq!(reader.open_effects().expect("it reads"), []);
}

#[test]
fn a_reader_on_another_thread_follows_the_writer_without_a_gap() {
    const COUNT: u64 = 400;
    let dir = temp_dir();
    let mut journal = open(dir.path());
    let reader = journal.reader().expect("a reader");
    let follower = thread::spawn(move || {
        let mut last = Seq(0);
        while last < Seq(COUNT) {
            for entry in reader.read(last, 7).expect("it reads") {
                assert_eq!(entry.seq, last.next());
                last = entry.seq;
            }
        }
    });
    for after in 0..COUNT {
        journal.append(&batch(after, [note("x")])).expect("the reader does not block the writer");
    }
    follower.join().expect("the reader saw everything");
}

#[test]
fn a_reader_outlives_the_writer_and_its_successor() {
    let dir = temp_dir();
    let mut journal = open(dir.path());
    journal.append(&batch(0, [note("a")])).expect("it appends");
    let reader = journal.reader().expect("a reader");
    drop(journal);
    assert_eq!(reader.last().expect("it reads"), Seq(1));
    open(dir.path()).append(&batch(1, [note("b")])).expect("it appends");
    assert_eq!(reader.last().expect("it reads"), Seq(2));
}
