//! The contract of every journal.

use crate::{AppendError, AppendErrorKind, ReadError};
use pitcrew_model::{Effect, EffectId, Entry, Event, Seq};

/// The events and the outbox of one workspace, with a single writer.
pub trait Journal: Send {
    /// Appends the events and their effects, and removes the effects that the events retire.
    ///
    /// All of it is durable when this returns `Ok`, and nothing was written when it returns an
    /// error. After [`AppendErrorKind::Io`] that is unknown, and the process must end.
    fn append(&mut self, batch: &Batch) -> Result<(), AppendError>;

    /// Returns the events after `after`, at most `limit` of them, in order.
    fn read(&self, after: Seq, limit: usize) -> Result<Vec<Entry>, ReadError>;

    /// Returns the effects that no event has retired, in order.
    fn open_effects(&self) -> Result<Vec<(EffectId, Effect)>, ReadError>;

    /// Returns the number of the newest event; 0 if there is none.
    fn last(&self) -> Result<Seq, ReadError>;
}

/// The content of one append.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// Numbered consecutively after the journal's last event.
    pub entries: Vec<Entry>,
    /// Each has the number of the entry that requested it, in the same order.
    pub effects: Vec<(EffectId, Effect)>,
}

impl Batch {
    /// Checks that the batch continues a journal that ends at `last`; returns its new end.
    pub(crate) fn check(&self, last: Seq) -> Result<Seq, AppendErrorKind> {
        let mut end = last;
        for entry in &self.entries {
            if entry.seq != end.next() {
                return Err(AppendErrorKind::OutOfOrder { expected: end.next(), found: entry.seq });
            }
            end = entry.seq;
        }
        let mut before = last.0;
        for (effect, _) in &self.effects {
            if effect.0 <= before || effect.0 > end.0 {
                return Err(AppendErrorKind::Unannounced { effect: *effect });
            }
            before = effect.0;
        }
        Ok(end)
    }

    pub(crate) fn retired(&self) -> impl Iterator<Item = EffectId> {
        self.entries.iter().map(|it| &it.event).filter_map(Event::retires)
    }
}
