//! The contract of every journal, tested with every engine.

use crate::support::{NONE, batch, ended, everything, note, open, open_ids, temp_dir, turn};
use pitcrew_model::{Effect, EffectId, Seq, Timestamp, WorkerId};
use pitcrew_store::{AppendErrorKind, Batch, Journal, MemoryJournal};

macro_rules! suite {
    ($($name:ident),* $(,)?) => {
        /// All tests by name, also for engines of other crates.
        pub const PROMISES: &[(&str, fn(&mut dyn Journal))] =
            &[$((stringify!($name), |it| $name(it))),*];

        mod sqlite {
            use super::*;
            $(#[test] fn $name() { super::$name(&mut open(temp_dir().path())); })*
        }
    };
}

suite!(
    an_empty_journal_ends_at_zero,
    events_come_back_as_they_were_appended,
    reading_starts_after_a_number_and_stops_at_the_limit,
    a_batch_that_does_not_continue_the_journal_is_refused_whole,
    an_effect_is_open_until_its_event_retires_it,
    an_effect_that_no_event_of_its_batch_asked_for_is_refused,
    retiring_what_is_not_open_keeps_the_event_and_changes_nothing_else,
    an_effect_asked_for_and_retired_in_one_batch_is_not_open,
    an_empty_batch_changes_nothing,
);

#[test]
fn the_journal_in_memory_keeps_every_promise() {
    for (name, keeps) in PROMISES {
        println!("{name}");
        keeps(&mut MemoryJournal::default());
    }
}

fn append(journal: &mut dyn Journal, batch: &Batch) {
    journal.append(batch).expect("the batch is appended");
}

fn refusal(journal: &mut dyn Journal, batch: &Batch) -> AppendErrorKind {
    journal.append(batch).expect_err("the batch is refused").kind
}

fn an_empty_journal_ends_at_zero(journal: &mut dyn Journal) {
    assert_eq!(journal.last().expect("it reads"), Seq(0));
    assert_eq!(everything(journal), []);
    assert_eq!(open_ids(journal), NONE);
}

fn events_come_back_as_they_were_appended(journal: &mut dyn Journal) {
    let long = "日本語\0\"\\\n\u{202e}".repeat(20_000);
    let mut first = batch(0, [note("a"), turn(&long), note("")]);
    first.entries[2].at = Timestamp(u64::MAX);
    let second = batch(3, [note("b")]);
    append(journal, &first);
    append(journal, &second);
    assert_eq!(everything(journal), [first.entries, second.entries].concat());
    assert_eq!(journal.open_effects().expect("it reads"), first.effects);
    assert_eq!(journal.last().expect("it reads"), Seq(4));
}

fn reading_starts_after_a_number_and_stops_at_the_limit(journal: &mut dyn Journal) {
    append(journal, &batch(0, ["a", "b", "c", "d"].map(note)));
    let numbers = |after, limit| -> Vec<u64> {
        let entries = journal.read(Seq(after), limit).expect("it reads");
        entries.into_iter().map(|it| it.seq.0).collect()
    };
    assert_eq!(numbers(0, 2), [1, 2]);
    assert_eq!(numbers(2, 1), [3]);
    assert_eq!(numbers(2, 100), [3, 4]);
    assert_eq!(numbers(0, 0), NONE);
    assert_eq!(numbers(4, 100), NONE);
    assert_eq!(numbers(u64::MAX, usize::MAX), NONE);
}

fn a_batch_that_does_not_continue_the_journal_is_refused_whole(journal: &mut dyn Journal) {
    append(journal, &batch(0, [turn("a")]));
    let mut gap_inside = batch(1, [ended(1), turn("b")]);
    gap_inside.entries[1].seq = Seq(4);
    let cases = [(batch(0, [ended(1)]), 2, 1), (batch(2, [ended(1)]), 2, 3), (gap_inside, 3, 4)];
    for (wrong, wanted, given) in cases {
        let kind = refusal(journal, &wrong);
        let AppendErrorKind::OutOfOrder { expected, found } = kind else { panic!("{kind}") };
        assert_eq!((expected, found), (Seq(wanted), Seq(given)));
        assert_eq!(journal.last().expect("it reads"), Seq(1));
        assert_eq!(everything(journal).len(), 1);
        assert_eq!(open_ids(journal), [1]);
    }
    append(journal, &batch(1, [ended(1)]));
}

fn an_effect_is_open_until_its_event_retires_it(journal: &mut dyn Journal) {
    append(journal, &batch(0, [turn("a"), note("-"), turn("b")]));
    append(journal, &batch(3, [turn("c")]));
    assert_eq!(open_ids(journal), [1, 3, 4]);
    append(journal, &batch(4, [ended(3), ended(4)]));
    assert_eq!(open_ids(journal), [1]);
    append(journal, &batch(6, [turn("d"), ended(1)]));
    assert_eq!(open_ids(journal), [7]);
}

fn an_effect_that_no_event_of_its_batch_asked_for_is_refused(journal: &mut dyn Journal) {
    append(journal, &batch(0, [turn("a"), note("b")]));
    let stop = |id| (EffectId(id), Effect::StopAgent { worker: WorkerId(1) });
    for effects in [vec![stop(1)], vec![stop(5)], vec![stop(4), stop(3)], vec![stop(3), stop(3)]] {
        let wrong = Batch { effects, ..batch(2, [note("c"), note("d")]) };
        let kind = refusal(journal, &wrong);
        assert!(matches!(kind, AppendErrorKind::Unannounced { .. }), "{kind}");
    }
    let lonely = Batch { entries: vec![], effects: vec![stop(3)] };
    let kind = refusal(journal, &lonely);
    assert!(matches!(kind, AppendErrorKind::Unannounced { effect: EffectId(3) }), "{kind}");
    assert_eq!(everything(journal).len(), 2);
    assert_eq!(open_ids(journal), [1]);
}

fn retiring_what_is_not_open_keeps_the_event_and_changes_nothing_else(journal: &mut dyn Journal) {
    append(journal, &batch(0, [turn("a"), ended(77)]));
    assert_eq!(everything(journal).len(), 2);
    assert_eq!(open_ids(journal), [1]);
}

fn an_effect_asked_for_and_retired_in_one_batch_is_not_open(journal: &mut dyn Journal) {
    append(journal, &batch(0, [turn("a"), ended(1)]));
    assert_eq!(open_ids(journal), NONE);
}

fn an_empty_batch_changes_nothing(journal: &mut dyn Journal) {
    append(journal, &Batch::default());
    append(journal, &batch(0, [note("a")]));
    append(journal, &Batch::default());
    assert_eq!(journal.last().expect("it reads"), Seq(1));
}
