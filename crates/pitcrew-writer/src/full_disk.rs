//! A journal on a disk that is full when the test says so.

use pitcrew_model::{Effect, EffectId, Entry, Seq};
use pitcrew_store::{AppendError, AppendErrorKind, Batch, Journal, MemoryJournal, ReadError};
use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

/// Shared with the test, which controls the free space.
#[derive(Clone, Default)]
pub struct Disk {
    full: Arc<AtomicBool>,
    tries: Arc<AtomicUsize>,
}

impl Disk {
    pub fn fill(&self) {
        self.full.store(true, Ordering::SeqCst);
    }

    /// Returns the number of attempted writes.
    pub fn tries(&self) -> usize {
        self.tries.load(Ordering::SeqCst)
    }

    pub fn free(&self) {
        self.full.store(false, Ordering::SeqCst);
    }
}

pub struct DiskJournal {
    disk: Disk,
    memory: MemoryJournal,
}

impl DiskJournal {
    pub fn on(disk: &Disk) -> Self {
        Self { disk: disk.clone(), memory: MemoryJournal::default() }
    }
}

impl Journal for DiskJournal {
    fn append(&mut self, batch: &Batch) -> Result<(), AppendError> {
        self.disk.tries.fetch_add(1, Ordering::SeqCst);
        if self.disk.full.load(Ordering::SeqCst) {
            let cause = std::io::Error::from(std::io::ErrorKind::StorageFull);
            return Err(AppendError {
                path: "/full".into(),
                events_count: batch.entries.len(),
                kind: AppendErrorKind::Full(cause.into()),
            });
        }
        self.memory.append(batch)
    }

    fn read(&self, after: Seq, limit: usize) -> Result<Vec<Entry>, ReadError> {
        self.memory.read(after, limit)
    }

    fn open_effects(&self) -> Result<Vec<(EffectId, Effect)>, ReadError> {
        self.memory.open_effects()
    }

    fn last(&self) -> Result<Seq, ReadError> {
        self.memory.last()
    }
}
