//! Reading beside the writer, for streams and logs.

use super::{open, rows};
use crate::{ReadError, ReadErrorKind};
use pitcrew_model::{Effect, EffectId, Entry, Seq};
use rusqlite::Connection;
use std::path::{Path, PathBuf};

/// A read-only connection of its own: it sees what is committed, and neither waits for the writer nor makes it wait.
#[derive(Debug)]
pub struct JournalReader {
    connection: Connection,
    path: PathBuf,
}

impl JournalReader {
    pub(super) fn open(path: &Path) -> Result<Self, ReadError> {
        match open::reader(path) {
            Ok(connection) => Ok(Self { connection, path: path.into() }),
            Err(error) => Err(ReadError { path: path.into(), kind: error.into() }),
        }
    }

    /// The events that follow `after`, at most `limit` of them, in order.
    pub fn read(&self, after: Seq, limit: usize) -> Result<Vec<Entry>, ReadError> {
        rows::read(&self.connection, after, limit).map_err(|it| self.failed(it))
    }

    /// The effects that no event has retired, in the order they were asked for.
    pub fn open_effects(&self) -> Result<Vec<(EffectId, Effect)>, ReadError> {
        rows::open_effects(&self.connection).map_err(|it| self.failed(it))
    }

    /// The number of the newest event; 0 when there is none.
    pub fn last(&self) -> Result<Seq, ReadError> {
        rows::last(&self.connection).map_err(|it| self.failed(it.into()))
    }

    fn failed(&self, kind: ReadErrorKind) -> ReadError {
        ReadError { path: self.path.clone(), kind }
    }
}
