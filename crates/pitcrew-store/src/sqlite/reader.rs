//! Readers beside the writer, for streams and logs.

use super::{open, rows};
use crate::{ReadError, ReadErrorKind};
use pitcrew_model::{Effect, EffectId, Entry, Seq};
use rusqlite::Connection;
use std::path::{Path, PathBuf};

/// A read-only connection: it sees committed data, and neither waits for the writer nor blocks it.
#[derive(Debug)]
pub struct JournalReader {
    connection: Connection,
    path: PathBuf,
}

impl JournalReader {
    /// Opens the journal at `path`. A writer may use it meanwhile.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        match open::reader(path) {
            Ok(connection) => Ok(Self { connection, path: path.into() }),
            Err(error) => Err(ReadError { path: path.into(), kind: error.into() }),
        }
    }

    /// Returns the events after `after`, at most `limit` of them, in order.
    pub fn read(&self, after: Seq, limit: usize) -> Result<Vec<Entry>, ReadError> {
        rows::read(&self.connection, after, limit).map_err(|it| self.failed(it))
    }

    /// Returns the effects that no event has retired, in order.
    pub fn open_effects(&self) -> Result<Vec<(EffectId, Effect)>, ReadError> {
        rows::open_effects(&self.connection).map_err(|it| self.failed(it))
    }

    /// Returns the number of the newest event; 0 if there is none.
    pub fn last(&self) -> Result<Seq, ReadError> {
        rows::last(&self.connection).map_err(|it| self.failed(it.into()))
    }

    fn failed(&self, kind: ReadErrorKind) -> ReadError {
        ReadError { path: self.path.clone(), kind }
    }
}
