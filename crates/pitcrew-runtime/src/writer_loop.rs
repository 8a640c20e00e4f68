//! The writer's thread: commits inputs in batches, and only then replies and issues effects.

#[cfg(test)]
mod tests;

use crate::{
    boot::InitialInputs,
    clock,
    handle::{Accepted, Envelope, Message, Reply},
    log::Log,
    published::Published,
};
use pitcrew_kernel::{State, next_due};
use pitcrew_model::{Seq, Timestamp};
use pitcrew_store::Journal;
use pitcrew_writer::{Committed, Order, Writer, must_retry, over};
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot, watch};

/// The largest number of inputs in one transaction.
const BATCH_MAX: usize = 256;

/// How long to wait before retrying what did not fit into the journal.
const RETRY_MS: u64 = 1_000;

/// Everything the writer's thread owns except the writer.
pub struct WriterLoop {
    pub inputs: mpsc::Receiver<Message>,
    pub published: Arc<Published>,
    pub orders: mpsc::UnboundedSender<Order>,
    pub due: watch::Sender<Option<Timestamp>>,
    pub log: Arc<Log>,
}

impl WriterLoop {
    /// Runs until it is stopped or every handle is dropped; earlier inputs are stored. Waits for
    /// `first` and processes it before anything else. Returns the writer, which holds the journal's
    /// lock.
    pub fn run<J: Journal>(
        mut self,
        mut writer: Writer<J>,
        first: oneshot::Receiver<InitialInputs>,
    ) -> Writer<J> {
        let mut messages = Vec::new();
        // Drivers' signals that the journal had no room for. Bounded by the open effects and the
        // agents' open requests.
        let mut unstored: Vec<Envelope> = Vec::new();
        if let Ok(InitialInputs { at, signals, orders }) = first.blocking_recv() {
            if !signals.is_empty() {
                let batch = signals.into_iter().map(Envelope::signal).collect();
                unstored = self.commit(&mut writer, at, batch);
            }
            if !orders.is_empty() {
                let batch = std::mem::take(&mut unstored).into_iter().chain(orders).collect();
                unstored = self.commit(&mut writer, clock::now(), batch);
            }
        }
        self.publish_due(writer.state(), next_due(writer.state()));
        while self.inputs.blocking_recv_many(&mut messages, BATCH_MAX) > 0 {
            let (mut inputs, mut looks) = (Vec::new(), Vec::new());
            for message in messages.drain(..) {
                match message {
                    Message::Input(envelope) => inputs.push(*envelope),
                    Message::Look(look) => looks.push(look),
                    Message::Stop => self.inputs.close(),
                }
            }
            if !inputs.is_empty() {
                // Older inputs first.
                let batch = std::mem::take(&mut unstored).into_iter().chain(inputs).collect();
                unstored = self.commit(&mut writer, clock::now(), batch);
            }
            for look in looks {
                look(writer.state());
            }
        }
        writer
    }

    /// Processes one batch; returns the inputs that need a retry.
    fn commit<J: Journal>(
        &mut self,
        writer: &mut Writer<J>,
        now: Timestamp,
        batch: Vec<Envelope>,
    ) -> Vec<Envelope> {
        let before = writer.last();
        let inputs: Vec<_> = batch.iter().map(|it| it.input(now)).collect();
        let committed = writer.commit(&inputs);
        self.published.publish(&committed.entries);
        self.log.entries(&self.published.views().board, &committed.entries);
        fail::fail_point!("published", |_| std::process::abort());
        self.send_effects(&committed);
        fail::fail_point!("ordered", |_| std::process::abort());
        let due = if committed.is_stored {
            next_due(writer.state())
        } else {
            // Anything that is due now would fail again.
            Some(clock::now().plus(RETRY_MS))
        };
        self.publish_due(writer.state(), due);
        reply(batch, committed, before)
    }

    fn publish_due(&self, state: &State, due: Option<Timestamp>) {
        self.published.set_busy(due.is_some() || !state.effects.is_empty());
        self.due.send_replace(due);
    }

    /// Never waits: the kernel limits the number of open effects.
    fn send_effects(&self, committed: &Committed) {
        let mut effects = committed.effects.iter().peekable();
        for entry in &committed.entries {
            if let Some(scope) = over(&entry.event) {
                self.orders.send(Order::Over(scope)).ok();
            }
            // An effect has the number of the entry that caused it.
            if let Some((id, effect)) = effects.next_if(|it| it.0.0 == entry.seq.0) {
                self.orders.send(Order::Do(*id, Box::new(effect.clone()))).ok();
            }
        }
    }
}

/// Replies to the senders; returns inputs without a waiting sender that must not be lost.
fn reply(batch: Vec<Envelope>, committed: Committed, before: Seq) -> Vec<Envelope> {
    let Committed { verdicts, entries, is_stored, .. } = committed;
    let mut again = Vec::new();
    for (envelope, verdict) in batch.into_iter().zip(verdicts) {
        match envelope.reply {
            // The sender may have been dropped; the verdict is valid anyway.
            Reply::To(sender) => drop(sender.send(verdict.map(|range| Accepted {
                seq: Seq(before.0 + range.end as u64),
                entries: entries[range].to_vec(),
            }))),
            Reply::Ignore if !is_stored && must_retry(&envelope.body) => again.push(envelope),
            Reply::Ignore => {}
        }
    }
    again
}
