//! A damaged journal: reading returns an event or an error with its position, never a panic.

use crate::support::{batch, ended, note, open, temp_dir, turn};
use pitcrew_model::Seq;
use pitcrew_store::{Journal as _, ReadErrorKind, SqliteJournal};
use pitcrew_testkit::{cases, corpus};
use proptest::prelude::*;
use rusqlite::{Connection, types::Value};
use std::{fs, path::Path};

fn journal_of_rows(dir: &Path) -> Connection {
    drop(open(dir));
    Connection::open(dir.join("journal.db")).expect("SQLite opens it")
}

/// A row whose body is text, a blob or null is decoded, or the error contains its number.
#[test]
fn any_row_is_decoded_or_named() {
    let dir = temp_dir();
    let raw = journal_of_rows(dir.path());
    let journal = open(dir.path());
    corpus!("row").check(200, |bytes| {
        raw.execute_batch("DELETE FROM events; DELETE FROM outbox").expect("rows go");
        let text = Value::Text(String::from_utf8_lossy(bytes).into_owned());
        raw.execute("INSERT INTO events VALUES (1, -1, ?1)", [&text]).expect("a row comes");
        raw.execute("INSERT INTO outbox VALUES (1, ?1)", [&text]).expect("a row comes");
        match journal.read(Seq(0), 10).map_err(|it| it.kind) {
            Ok(entries) => assert_eq!(entries.len(), 1),
            Err(ReadErrorKind::BadEvent { seq, .. }) => assert_eq!(seq, Seq(1)),
            Err(other) => panic!("another error: {other}"),
        }
        match journal.open_effects().map_err(|it| it.kind) {
            Ok(effects) => assert_eq!(effects.len(), 1),
            Err(ReadErrorKind::BadEffect { effect, .. }) => assert_eq!(effect.0, 1),
            Err(other) => panic!("another error: {other}"),
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases(40)) })]

    /// If bytes of the file are changed or cut off, the result is an error or a change within a
    /// text. The process never ends.
    #[test]
    fn any_damage_of_the_file_is_an_error_or_harmless(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in prop::option::weighted(0.2, any::<prop::sample::Index>()),
    ) {
        let dir = temp_dir();
        let events = [turn("a"), note(&"x".repeat(3_000)), turn("b"), ended(1), note("c")];
        open(dir.path()).append(&batch(0, events)).expect("it appends");
        let path = dir.path().join("journal.db");
        let mut bytes = fs::read(&path).expect("the file reads");
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        fs::write(&path, bytes).expect("the file is damaged");
        match SqliteJournal::open(dir.path()) {
            Ok(journal) => {
                if let Ok(entries) = journal.read(Seq(0), 10) {
                    prop_assert!(entries.len() <= 5);
                    prop_assert!(entries.iter().zip(1..).all(|(it, seq)| it.seq == Seq(seq)));
                }
                journal.open_effects().map(drop).ok();
                journal.reader().and_then(|it| it.read(Seq(0), 10)).map(drop).ok();
            }
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }
}
