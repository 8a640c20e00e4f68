//! All engines give the same answers.

use crate::support::{batch, ended, note, open, temp_dir, turn};
use pitcrew_model::{Event, Seq};
use pitcrew_store::{AppendErrorKind, Journal, MemoryJournal};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    /// A batch that starts `behind` events before the end: only 0 is valid.
    Append {
        behind: u64,
        events: Vec<Event>,
    },
    Read {
        after: u64,
        limit: usize,
    },
    Reopen,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        any::<String>().prop_map(|it| note(&it)),
        any::<String>().prop_map(|it| turn(&it)),
        (1..60_u64).prop_map(ended),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let behind = prop_oneof![9 => Just(0), 1 => 1..3_u64];
    prop_oneof![
        6 => (behind, prop::collection::vec(event(), 0..8))
            .prop_map(|(behind, events)| Step::Append { behind, events }),
        2 => (0..70_u64, 0..20_usize).prop_map(|(after, limit)| Step::Read { after, limit }),
        1 => Just(Step::Reopen),
    ]
}

/// The comparable part of an answer: errors by their text.
fn answer<T>(result: Result<T, impl std::error::Error>) -> Result<T, String> {
    result.map_err(|it| it.source().expect("a kind").to_string())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn memory_and_sqlite_agree(steps in prop::collection::vec(step(), 1..25)) {
        let dir = temp_dir();
        let mut memory = MemoryJournal::default();
        let mut sqlite = open(dir.path());
        for step in steps {
            match step {
                Step::Append { behind, events } => {
                    let last = memory.last().expect("it reads").0;
                    let batch = batch(last.saturating_sub(behind), events);
                    prop_assert_eq!(
                        answer(memory.append(&batch)),
                        answer(sqlite.append(&batch))
                    );
                }
                Step::Read { after, limit } => prop_assert_eq!(
                    answer(memory.read(Seq(after), limit)),
                    answer(sqlite.read(Seq(after), limit))
                ),
                Step::Reopen => {
                    drop(sqlite);
                    sqlite = open(dir.path());
                }
            }
            prop_assert_eq!(answer(memory.last()), answer(sqlite.last()));
            prop_assert_eq!(answer(memory.open_effects()), answer(sqlite.open_effects()));
        }
        prop_assert_eq!(
            answer(memory.read(Seq(0), usize::MAX)),
            answer(sqlite.read(Seq(0), usize::MAX))
        );
    }
}

/// The texts of different kinds of errors differ.
#[test]
fn an_error_says_what_was_wrong() {
    let error = MemoryJournal::default().append(&batch(4, [note("a")])).expect_err("a gap");
    assert_eq!(error.to_string(), "failed to append 1 events to the journal at `memory`");
    assert!(matches!(error.kind, AppendErrorKind::OutOfOrder { .. }));
    assert_eq!(error.kind.to_string(), "event 5 was handed in where event 1 comes next");
}
