//! The only writer of the file.

use super::{FILE_NAME, JournalReader, fault, fault::Fault, lock::Lock, open, rows};
use crate::{
    AppendError, AppendErrorKind, Batch, Journal, OpenError, OpenErrorKind, ReadError,
    ReadErrorKind,
};
use pitcrew_model::{Effect, EffectId, Entry, Seq};
use rusqlite::{
    Connection,
    types::{ToSqlOutput, ValueRef},
};
use serde::Serialize;
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

/// How long closing waits for readers.
const CLOSE_TIME_MAX: Duration = Duration::from_millis(500);

/// The journal in the file `journal.db` of a folder, locked for this process.
#[derive(Debug)]
pub struct SqliteJournal {
    connection: Connection,
    path: PathBuf,
    last: Seq,
    /// Rows are encoded here, so that appending does not allocate.
    buffer: Vec<u8>,
    health: Health,
    /// The last field, because fields are dropped in order: the lock must outlive the connection.
    _lock: Lock,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Health {
    Sound,
    /// A sync failed: the content of the disk is unknown, so nothing more is written.
    Lost,
}

impl SqliteJournal {
    /// Opens the journal in folder `dir`, and creates both if they do not exist.
    pub fn open(dir: &Path) -> Result<Self, OpenError> {
        let path = dir.join(FILE_NAME);
        Self::open_at(dir, &path).map_err(|kind| OpenError { path, kind })
    }

    fn open_at(dir: &Path, path: &Path) -> Result<Self, OpenErrorKind> {
        open::make_dir(dir)?;
        let lock = Lock::take(dir)?;
        let connection = open::writer(dir)?;
        let last = rows::last(&connection).map_err(|it| fault::on_open(it, dir))?;
        Ok(Self {
            connection,
            path: path.into(),
            last,
            buffer: Vec::new(),
            health: Health::Sound,
            _lock: lock,
        })
    }

    /// Opens a read-only connection for any thread.
    pub fn reader(&self) -> Result<JournalReader, ReadError> {
        JournalReader::open(&self.path)
    }

    fn try_append(&mut self, batch: &Batch) -> Result<(), AppendErrorKind> {
        if self.health == Health::Lost {
            return Err(AppendErrorKind::Io("an earlier write failed".into()));
        }
        let end = batch.check(self.last)?;
        if batch.entries.is_empty() {
            return Ok(());
        }
        match self.write(batch) {
            Ok(()) => {
                self.last = end;
                Ok(())
            }
            Err(error) => Err(self.roll_back(error)),
        }
    }

    fn write(&mut self, batch: &Batch) -> rusqlite::Result<()> {
        let Self { connection, buffer, .. } = self;
        connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let mut insert = connection.prepare_cached("INSERT INTO events VALUES (?1, ?2, ?3)")?;
        for Entry { seq, at, event } in &batch.entries {
            insert.execute((seq.0.cast_signed(), at.0.cast_signed(), encode(buffer, event)))?;
        }
        // A small batch has none of these, so their statements are prepared on demand.
        for (id, effect) in &batch.effects {
            let mut insert = connection.prepare_cached("INSERT INTO outbox VALUES (?1, ?2)")?;
            insert.execute((id.0.cast_signed(), encode(buffer, effect)))?;
        }
        for id in batch.retired() {
            let mut delete = connection.prepare_cached("DELETE FROM outbox WHERE effect = ?1")?;
            delete.execute([id.0.cast_signed()])?;
        }
        connection.prepare_cached("COMMIT")?.execute([])?;
        Ok(())
    }

    /// Rolls back the open transaction and classifies its failure.
    fn roll_back(&mut self, error: rusqlite::Error) -> AppendErrorKind {
        let dir = self.path.parent().expect("the path was joined to a folder");
        let mut fault = Fault::of(&error, dir);
        // SQLite has already rolled back after some errors.
        if !self.connection.is_autocommit() && self.connection.execute_batch("ROLLBACK").is_err() {
            fault = Fault::Io;
        }
        if fault == Fault::Io {
            self.health = Health::Lost;
        }
        fault.on_append(error)
    }

    fn failed(&self, kind: ReadErrorKind) -> ReadError {
        ReadError { path: self.path.clone(), kind }
    }
}

/// When closed, the whole journal is in one file, so that a copy of it is complete.
impl Drop for SqliteJournal {
    fn drop(&mut self) {
        if self.health == Health::Lost {
            return;
        }
        // The next open repeats this if a reader is in the way or the disk is full.
        self.connection.busy_timeout(CLOSE_TIME_MAX).ok();
        self.connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").ok();
    }
}

impl Journal for SqliteJournal {
    fn append(&mut self, batch: &Batch) -> Result<(), AppendError> {
        self.try_append(batch).map_err(|kind| AppendError {
            path: self.path.clone(),
            events_count: batch.entries.len(),
            kind,
        })
    }

    fn read(&self, after: Seq, limit: usize) -> Result<Vec<Entry>, ReadError> {
        rows::read(&self.connection, after, limit).map_err(|it| self.failed(it))
    }

    fn open_effects(&self) -> Result<Vec<(EffectId, Effect)>, ReadError> {
        rows::open_effects(&self.connection).map_err(|it| self.failed(it))
    }

    fn last(&self) -> Result<Seq, ReadError> {
        Ok(self.last)
    }
}

/// Encodes into the reused buffer and lends it to `SQLite` as text.
fn encode<'buffer>(buffer: &'buffer mut Vec<u8>, value: &impl Serialize) -> ToSqlOutput<'buffer> {
    buffer.clear();
    serde_json::to_writer(&mut *buffer, value).expect("the model's types are valid JSON");
    ToSqlOutput::Borrowed(ValueRef::Text(buffer))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pitcrew_model::{Event, Timestamp, WorkerId};

    fn journal(dir: &Path) -> SqliteJournal {
        SqliteJournal::open(dir).expect("the journal opens")
    }

    fn batch(journal: &SqliteJournal, note_bytes: usize) -> Batch {
        let event = Event::ActivityNoted { worker: WorkerId(1), note: "x".repeat(note_bytes) };
        let entry = Entry { seq: journal.last.next(), at: Timestamp(1), event };
        Batch { entries: vec![entry], effects: vec![] }
    }

    fn pragma(journal: &SqliteJournal, name: &str) -> String {
        let text = |row: &rusqlite::Row<'_>| row.get::<_, rusqlite::types::Value>(0);
        let value = journal.connection.pragma_query_value(None, name, text).expect("a value");
        format!("{value:?}")
    }

    #[test]
    fn every_commit_is_synced() {
        let dir = tempfile::tempdir().expect("a folder");
        let journal = journal(dir.path());
        assert_eq!(pragma(&journal, "synchronous"), "Integer(2)");
        assert_eq!(pragma(&journal, "journal_mode"), "Text(\"wal\")");
    }

    /// A limit of `SQLite` simulates the full disk: no mount permission is needed.
    #[test]
    fn a_full_database_refuses_a_batch_and_works_again_with_space() {
        let dir = tempfile::tempdir().expect("a folder");
        let mut journal = journal(dir.path());
        let limit = |journal: &SqliteJournal, pages: u32| {
            journal
                .connection
                .pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))
                .expect("a limit");
        };
        limit(&journal, 8);
        journal.append(&batch(&journal, 1_000)).expect("there is space");
        for _ in 0..2 {
            let kind = journal.append(&batch(&journal, 100_000)).expect_err("it is full").kind;
            assert!(matches!(kind, AppendErrorKind::Full(_)), "{kind:?}");
            assert_eq!(journal.read(Seq(0), 9).expect("it reads").len(), 1);
        }
        limit(&journal, 1_000);
        journal.append(&batch(&journal, 100_000)).expect("there is space again");
        assert_eq!(rows::last(&journal.connection).expect("it reads"), Seq(2));
    }

    #[test]
    fn a_copy_of_the_closed_file_is_complete() {
        let dir = tempfile::tempdir().expect("a folder");
        let mut first = journal(dir.path());
        first.append(&batch(&first, 10)).expect("it appends");
        let reader = first.reader().expect("it can be read");
        drop(first);
        let copy = tempfile::tempdir().expect("a folder");
        std::fs::copy(dir.path().join(FILE_NAME), copy.path().join(FILE_NAME)).expect("a copy");
        assert_eq!(journal(copy.path()).read(Seq(0), 9).expect("it reads").len(), 1);
        drop(reader);
    }

    #[test]
    fn a_database_that_became_read_only_refuses_a_batch() {
        let dir = tempfile::tempdir().expect("a folder");
        let mut journal = journal(dir.path());
        journal.connection.pragma_update(None, "query_only", true).expect("a setting");
        let kind = journal.append(&batch(&journal, 10)).expect_err("it is read-only").kind;
        assert!(matches!(kind, AppendErrorKind::ReadOnly(_)), "{kind:?}");
        journal.connection.pragma_update(None, "query_only", false).expect("a setting");
        journal.append(&batch(&journal, 10)).expect("it can be written again");
    }
}
