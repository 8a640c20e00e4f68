//! A disk that loses what was not synced, tears what was being written, and fills up.
//!
//! The journal on it is a log of records, one per append. A record counts when all of it is there:
//! what is left of a torn one is thrown away when the log is opened again.

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
    /// The effects that are open in it.
    pub open: BTreeSet<EffectId>,
    /// The record that is being written, and how many of its parts are on the disk.
    unsynced: Option<(Batch, usize)>,
    /// What the next append dies of.
    pub death: Option<Death>,
    /// Appends that are still refused, and how.
    pub refusals: (u32, Refusal),
}

/// Where in an append the process dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Death {
    BeforeWriting,
    /// In the middle of the record.
    Torn {
        parts: u8,
    },
    /// The record is whole; nobody made sure of it, and it survived or not.
    Unsynced {
        kept: bool,
    },
    /// It is durable, and nobody was told.
    Synced,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Refusal {
    #[default]
    Full,
    ReadOnly,
    Busy,
}

/// Thrown where the simulated process dies. No panic: nobody is told but whoever catches it.
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

    /// What a process that opens the log finds. A whole record at its end is taken, a torn one is not.
    pub fn recover(&mut self) {
        self.death = None;
        if let Some((batch, parts)) = self.unsynced.take()
            && parts == batch.entries.len() + batch.effects.len()
        {
            self.sync(&batch).expect("the record continues the log");
        }
    }
}

/// The disk as a process has it open.
#[derive(Clone, Debug, Default)]
pub struct OpenDisk(Arc<Mutex<Disk>>, Option<Strict>);

/// Whoever appends what does not continue the journal has broken something.
#[derive(Clone, Copy, Debug)]
pub struct Strict;

impl OpenDisk {
    pub fn strict() -> Self {
        Self(Arc::default(), Some(Strict))
    }

    /// A death in the middle of an append leaves the lock poisoned, and the disk as it should be.
    pub fn lock(&self) -> MutexGuard<'_, Disk> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Journal for OpenDisk {
    fn append(&mut self, batch: &Batch) -> Result<(), AppendError> {
        let done = self.lock().append(batch);
        // The writer would end the process.
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
