//! The journal of tests and simulations: as strict as the real one, and lost with the process.

use crate::{AppendError, Batch, Journal, ReadError};
use pitcrew_model::{Effect, EffectId, Entry, Seq};
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub struct MemoryJournal {
    /// The event with number n is at index n − 1.
    entries: Vec<Entry>,
    outbox: BTreeMap<EffectId, Effect>,
}

impl MemoryJournal {
    fn end(&self) -> Seq {
        self.entries.last().map_or(Seq::default(), |it| it.seq)
    }
}

impl Journal for MemoryJournal {
    fn append(&mut self, batch: &Batch) -> Result<(), AppendError> {
        batch.check(self.end()).map_err(|kind| AppendError {
            path: "memory".into(),
            events_count: batch.entries.len(),
            kind,
        })?;
        self.entries.extend_from_slice(&batch.entries);
        self.outbox.extend(batch.effects.iter().cloned());
        for effect in batch.retired() {
            self.outbox.remove(&effect);
        }
        Ok(())
    }

    fn read(&self, after: Seq, limit: usize) -> Result<Vec<Entry>, ReadError> {
        let start = usize::try_from(after.0).unwrap_or(usize::MAX);
        Ok(self.entries.iter().skip(start).take(limit).cloned().collect())
    }

    fn open_effects(&self) -> Result<Vec<(EffectId, Effect)>, ReadError> {
        Ok(self.outbox.iter().map(|(id, effect)| (*id, effect.clone())).collect())
    }

    fn last(&self) -> Result<Seq, ReadError> {
        Ok(self.end())
    }
}
