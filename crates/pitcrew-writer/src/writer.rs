//! The synchronous half of the writer: decides, stores and publishes, in this order.

#[cfg(test)]
mod tests;

use pitcrew_kernel::{State, evolve, step};
use pitcrew_model::{Effect, EffectId, Entry, Input, InputBody, Rejection, Seq, Signal, text};
use pitcrew_store::{AppendErrorKind, Batch, Journal, ReadError};
use std::ops::Range;

/// Entries that are read at a time during the replay.
const REPLAY_BATCH: usize = 4_096;

/// Owns the state and the journal. The only writer.
pub struct Writer<J> {
    journal: J,
    /// The state on disk.
    durable: State,
    /// The state with undecided batches; equal to `durable` between two commits.
    scratch: State,
}

/// The result of a batch of inputs.
pub struct Committed {
    /// One for each input: its range of `entries`, or the rejection.
    pub verdicts: Vec<Result<Range<usize>, Rejection>>,
    pub entries: Vec<Entry>,
    pub effects: Vec<(EffectId, Effect)>,
    /// False if the journal had no room. Nothing has changed then.
    pub is_stored: bool,
}

impl<J: Journal> Writer<J> {
    /// Replays the journal. `see` is called with every entry, for the views.
    pub fn open(journal: J, mut see: impl FnMut(&Entry)) -> Result<Self, ReadError> {
        let mut durable = State::default();
        loop {
            let entries = journal.read(durable.seq, REPLAY_BATCH)?;
            for entry in &entries {
                evolve(&mut durable, entry);
                see(entry);
            }
            if entries.len() < REPLAY_BATCH {
                let scratch = durable.clone();
                return Ok(Self { journal, durable, scratch });
            }
        }
    }

    pub fn state(&self) -> &State {
        &self.durable
    }

    pub fn journal(&self) -> &J {
        &self.journal
    }

    /// Decides the inputs one after another and stores the events in one transaction.
    ///
    /// If the journal has no room, nothing changes and every input is rejected. Any other failure
    /// of the journal ends the process: the content of the disk is unknown then, and only a replay
    /// can find it out.
    pub fn commit(&mut self, inputs: &[Input]) -> Committed {
        let mut verdicts = Vec::with_capacity(inputs.len());
        let mut batch = Batch::default();
        for input in inputs {
            verdicts.push(step(&mut self.scratch, input).map(|step| {
                let start = batch.entries.len();
                batch.entries.extend(step.entries);
                batch.effects.extend(step.effects);
                start..batch.entries.len()
            }));
        }
        let stored = self.append(&batch);
        let is_stored = stored.is_ok();
        if let Err(message) = stored {
            self.scratch = self.durable.clone();
            let refused = |_| Err(Rejection::JournalFull { message: message.clone() });
            verdicts = verdicts.into_iter().map(refused).collect();
            batch = Batch::default();
        }
        for entry in &batch.entries {
            evolve(&mut self.durable, entry);
        }
        Committed { verdicts, entries: batch.entries, effects: batch.effects, is_stored }
    }

    fn append(&mut self, batch: &Batch) -> Result<(), String> {
        if batch.entries.is_empty() {
            return Ok(());
        }
        fail::fail_point!("journal-before-append", |_| std::process::abort());
        match self.journal.append(batch) {
            Ok(()) => {
                fail::fail_point!("journal-appended", |_| std::process::abort());
                Ok(())
            }
            Err(error) => match error.kind {
                AppendErrorKind::Full(_)
                | AppendErrorKind::ReadOnly(_)
                | AppendErrorKind::Busy(_) => Err(text::chain(&error)),
                AppendErrorKind::OutOfOrder { .. }
                | AppendErrorKind::Unannounced { .. }
                | AppendErrorKind::Corrupt(_)
                | AppendErrorKind::Io(_) => {
                    eprintln!("pitcrew: {}; the orchestrator exits", text::chain(&error));
                    std::process::abort();
                }
            },
        }
    }

    pub fn last(&self) -> Seq {
        self.durable.seq
    }
}

/// Returns whether an input has to be retried when the journal has no room. Drivers report only
/// once. People get an error, ticks repeat, activity notes are not worth keeping, the end of a turn
/// repeats its usage, and a merged branch is found again.
pub fn must_retry(body: &InputBody) -> bool {
    match body {
        InputBody::Signal(
            Signal::EffectEnded { .. }
            | Signal::AgentExited { .. }
            | Signal::AgentReattached { .. }
            | Signal::PermissionAsked { .. }
            | Signal::AccessBlocked { .. }
            | Signal::NeedLine { .. }
            | Signal::EgressDecided(_)
            | Signal::AgentConfined { .. },
        ) => true,
        InputBody::Signal(
            Signal::Activity { .. } | Signal::UsageReported { .. } | Signal::MergedByHand { .. },
        )
        | InputBody::Command(_)
        | InputBody::Tick => false,
    }
}
