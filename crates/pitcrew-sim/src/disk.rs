//! A disk that loses what was not synced, tears the current write, and fills up.
//!
//! The journal on it is a log of records, one per append. A record counts if it is complete: a torn
//! one is dropped when the log is opened again.

use crate::broken::hold;
use pitcrew_model::{Effect, EffectId, Entry, Seq};
use pitcrew_store::{AppendError, AppendErrorKind, Batch, Journal, MemoryJournal, ReadError};
use std::{
    collections::BTreeSet,
    panic::resume_unwind,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

#[derive(Debug, Default)]
pub struct Disk {
    synced: MemoryJournal,
    /// The open effects of the log.
    pub open: BTreeSet<EffectId>,
    /// The record that is being written, and how many of its parts are on the disk.
    unsynced: Option<(Batch, usize)>,
    /// The death of the process in the next append.
    pub death: Option<Death>,
    /// The number of appends that are still refused, and how.
    pub refusals: (u32, Refusal),
}

/// The position of the death in an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Death {
    BeforeWriting,
    /// In the middle of the record.
    Torn {
        parts: u8,
    },
    /// The record is complete but not synced, and survives or not.
    Unsynced {
        kept: bool,
    },
    /// The record is durable but not acknowledged.
    Synced,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Refusal {
    #[default]
    Full,
    ReadOnly,
    Busy,
}

/// Thrown when the simulated process dies.
pub struct Died;

impl Disk {
    fn append(&mut self, batch: &Batch) -> Result<(), AppendError> {
        if self.refusals.0 > 0 {
            self.refusals.0 -= 1;
            return Err(self.refused(batch));
        }
        let parts = batch.entries.len() + batch.effects.len();
        match self.death.take() {
            None => {}
            Some(Death::BeforeWriting) => resume_unwind(Box::new(Died)),
            Some(Death::Torn { parts: torn }) => {
                self.unsynced = Some((batch.clone(), usize::from(torn) % parts.max(1)));
                resume_unwind(Box::new(Died))
            }
            Some(Death::Unsynced { kept }) => {
                self.unsynced = kept.then(|| (batch.clone(), parts));
                resume_unwind(Box::new(Died))
            }
            Some(Death::Synced) => {
                self.sync(batch)?;
                resume_unwind(Box::new(Died))
            }
        }
        self.sync(batch)
    }

    fn sync(&mut self, batch: &Batch) -> Result<(), AppendError> {
        self.synced.append(batch)?;
        self.open.extend(batch.effects.iter().map(|it| it.0));
        for retired in batch.entries.iter().filter_map(|it| it.event.retires()) {
            self.open.remove(&retired);
        }
        Ok(())
    }

    fn refused(&self, batch: &Batch) -> AppendError {
        let cause = || "simulated".into();
        let kind = match self.refusals.1 {
            Refusal::Full => AppendErrorKind::Full(cause()),
            Refusal::ReadOnly => AppendErrorKind::ReadOnly(cause()),
            Refusal::Busy => AppendErrorKind::Busy(cause()),
        };
        AppendError { path: "simulated".into(), events_count: batch.entries.len(), kind }
    }

    /// Opens the log: a complete record at its end is accepted, a torn one is not.
    pub fn recover(&mut self) {
        self.death = None;
        if let Some((batch, parts)) = self.unsynced.take()
            && parts == batch.entries.len() + batch.effects.len()
        {
            self.sync(&batch).expect("the record continues the log");
        }
    }
}

/// The disk as an open file of a process.
#[derive(Clone, Debug, Default)]
pub struct OpenDisk(Arc<Mutex<Disk>>, Option<Strict>);

/// An append that does not continue the journal breaks an invariant.
#[derive(Clone, Copy, Debug)]
pub struct Strict;

impl OpenDisk {
    pub fn strict() -> Self {
        Self(Arc::default(), Some(Strict))
    }

    /// A death during an append poisons the lock, and leaves the disk as it should be.
    pub fn lock(&self) -> MutexGuard<'_, Disk> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Journal for OpenDisk {
    fn append(&mut self, batch: &Batch) -> Result<(), AppendError> {
        let done = self.lock().append(batch);
        // The real writer ends the process.
        if let (Err(error), Some(Strict)) = (&done, self.1) {
            let wrong = match error.kind {
                AppendErrorKind::OutOfOrder { .. } | AppendErrorKind::Unannounced { .. } => true,
                AppendErrorKind::Full(_)
                | AppendErrorKind::ReadOnly(_)
                | AppendErrorKind::Busy(_)
                | AppendErrorKind::Corrupt(_)
                | AppendErrorKind::Io(_) => false,
            };
            hold!(!wrong, "what is appended continues the journal", "{}", error.kind);
        }
        done
    }

    fn read(&self, after: Seq, limit: usize) -> Result<Vec<Entry>, ReadError> {
        self.lock().synced.read(after, limit)
    }

    fn open_effects(&self) -> Result<Vec<(EffectId, Effect)>, ReadError> {
        self.lock().synced.open_effects()
    }

    fn last(&self) -> Result<Seq, ReadError> {
        self.lock().synced.last()
    }
}
