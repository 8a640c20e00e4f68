//! The writer's thread: takes batches, commits them, and only then answers and acts.

#[cfg(test)]
mod tests;

use crate::{
    boot::First,
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

/// Inputs that share one transaction at most.
const BATCH_MAX: usize = 256;

/// How long to wait before what the journal had no room for is tried again.
const RETRY_MS: u64 = 1_000;

/// Everything the writer's thread holds besides the writer.
pub struct Turnstile {
    pub inputs: mpsc::Receiver<Message>,
    pub published: Arc<Published>,
    pub orders: mpsc::UnboundedSender<Order>,
    pub due: watch::Sender<Option<Timestamp>>,
    pub log: Arc<Log>,
}

impl Turnstile {
    /// Runs until it is told to stop, or every handle is gone. What came before that is stored.
    /// Hears `first` before anything else, and waits for it. Gives the writer back: the journal
    /// stays locked for as long as somebody keeps it.
    pub fn run<J: Journal>(
        mut self,
        mut writer: Writer<J>,
        first: oneshot::Receiver<First>,
    ) -> Writer<J> {
        let mut messages = Vec::new();
        // Drivers' words that the journal had no room for. Bounded by the effects that are open
        // and by what agents may ask at a time.
        let mut unstored: Vec<Envelope> = Vec::new();
        if let Ok(First { at, signals, orders }) = first.blocking_recv() {
            if !signals.is_empty() {
                let batch = signals.into_iter().map(Envelope::signal).collect();
                unstored = self.commit(&mut writer, at, batch);
            }
            if !orders.is_empty() {
                let batch = std::mem::take(&mut unstored).into_iter().chain(orders).collect();
                unstored = self.commit(&mut writer, clock::now(), batch);
            }
        }
        self.tell_due(writer.state(), next_due(writer.state()));
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
                // What is older than what just came goes first.
                let batch = std::mem::take(&mut unstored).into_iter().chain(inputs).collect();
                unstored = self.commit(&mut writer, clock::now(), batch);
            }
            for look in looks {
                look(writer.state());
            }
        }
        writer
    }

    /// Takes one batch all the way; gives back what has to be tried again.
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
        self.send_orders(&committed);
        fail::fail_point!("ordered", |_| std::process::abort());
        let due = if committed.is_stored {
            next_due(writer.state())
        } else {
            // What is due now would only fail again.
            Some(clock::now().plus(RETRY_MS))
        };
        self.tell_due(writer.state(), due);
        reply(batch, committed, before)
    }

    fn tell_due(&self, state: &State, due: Option<Timestamp>) {
        self.published.set_busy(due.is_some() || !state.effects.is_empty());
        self.due.send_replace(due);
    }

    /// Never waits: what bounds the queue is how many effects the kernel has open.
    fn send_orders(&self, committed: &Committed) {
        let mut effects = committed.effects.iter().peekable();
        for entry in &committed.entries {
            if let Some(scope) = over(&entry.event) {
                self.orders.send(Order::Over(scope)).ok();
            }
            // Effects are numbered after the entries that asked for them.
            if let Some((id, effect)) = effects.next_if(|it| it.0.0 == entry.seq.0) {
                self.orders.send(Order::Do(*id, Box::new(effect.clone()))).ok();
            }
        }
    }
}

/// Answers whoever waits; gives back what nobody waits for and must not be lost.
fn reply(batch: Vec<Envelope>, committed: Committed, before: Seq) -> Vec<Envelope> {
    let Committed { verdicts, entries, is_stored, .. } = committed;
    let mut again = Vec::new();
    for (envelope, verdict) in batch.into_iter().zip(verdicts) {
        match envelope.reply {
            // Who asked may have gone away; the verdict stands all the same.
            Reply::To(sender) => drop(sender.send(verdict.map(|range| Accepted {
                seq: Seq(before.0 + range.end as u64),
                entries: entries[range].to_vec(),
            }))),
            Reply::Nobody if !is_stored && must_retry(&envelope.body) => again.push(envelope),
            Reply::Nobody => {}
        }
    }
    again
}
