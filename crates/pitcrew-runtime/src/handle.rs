//! The interface to the writer: cheap to clone, with a private channel.

use crate::{
    clock,
    published::{Published, Views},
};
use pitcrew_kernel::State;
use pitcrew_model::{
    Actor, AttemptId, Command, Entry, Input, InputBody, Rejection, Seq, Signal, Timestamp,
};
use std::sync::{Arc, RwLockReadGuard};
use tokio::sync::{mpsc, oneshot, watch};

/// A message to the writer's thread.
pub(crate) enum Message {
    Input(Box<Envelope>),
    /// Reads the state, which only the kernel has.
    Look(Box<dyn FnOnce(&State) + Send>),
    /// Nothing after this is accepted.
    Stop,
}

/// An input whose sender may wait for the verdict.
pub(crate) struct Envelope {
    pub actor: Actor,
    pub body: InputBody,
    pub reply: Reply,
}

pub(crate) type Verdict = oneshot::Receiver<Result<Accepted, Rejection>>;

pub(crate) enum Reply {
    To(oneshot::Sender<Result<Accepted, Rejection>>),
    Ignore,
}

/// The result of a command. It is on disk.
#[derive(Clone, Debug)]
pub struct Accepted {
    /// The last entry of the command; if the command changed nothing, the entry before it.
    pub seq: Seq,
    pub entries: Vec<Entry>,
}

/// Checkouts and snapshots that can be removed.
#[derive(Clone, Debug, Default)]
pub struct Garbage {
    /// Attempts whose checkouts can be removed.
    pub removable: Vec<AttemptId>,
    /// Attempts whose snapshots can be dropped, and their number.
    pub droppable: Vec<(AttemptId, u32)>,
}

/// Sends inputs to the writer.
#[derive(Clone)]
pub struct Handle {
    pub(crate) inputs: mpsc::Sender<Message>,
    pub(crate) published: Arc<Published>,
}

impl Handle {
    /// Sends a command and waits until it is on disk or rejected.
    pub async fn command(&self, actor: Actor, command: Command) -> Result<Accepted, Rejection> {
        let (envelope, verdict) = Envelope::command(actor, command);
        self.inputs.send(Message::Input(Box::new(envelope))).await.ok();
        verdict.await.unwrap_or(Err(Rejection::ShuttingDown))
    }

    pub(crate) async fn signal(&self, signal: Signal) {
        self.send(Actor::Orchestrator, InputBody::Signal(signal), Reply::Ignore).await;
    }

    /// Sends a signal and waits until it is on disk or obsolete.
    pub(crate) async fn signal_and_wait(&self, signal: Signal) {
        let (sender, verdict) = oneshot::channel();
        self.send(Actor::Orchestrator, InputBody::Signal(signal), Reply::To(sender)).await;
        verdict.await.ok();
    }

    pub(crate) async fn tick(&self) {
        self.send(Actor::Orchestrator, InputBody::Tick, Reply::Ignore).await;
    }

    async fn send(&self, actor: Actor, body: InputBody, reply: Reply) {
        // If the writer is gone, the effect stays open and is issued again.
        self.inputs.send(Message::Input(Box::new(Envelope { actor, body, reply }))).await.ok();
    }

    /// The garbage that `CollectGarbage` would remove now. Empty during shutdown.
    pub async fn garbage(&self) -> Garbage {
        let (sender, answer) = oneshot::channel();
        let look = |state: &State| {
            let removable = pitcrew_kernel::removable(state).map(|it| it.id).collect();
            let droppable = pitcrew_kernel::droppable(state, clock::now())
                .map(|it| (it.id, state.tasks[it.task].kept.droppable_count(it.id)));
            sender.send(Garbage { removable, droppable: droppable.collect() }).ok();
        };
        self.inputs.send(Message::Look(Box::new(look))).await.ok();
        answer.await.unwrap_or_default()
    }

    pub(crate) async fn stop(&self) {
        self.inputs.send(Message::Stop).await.ok();
    }

    /// The views as of the last durable entry. Hold the lock briefly and never take it twice: the
    /// writer waits for it, and later readers wait for the writer.
    pub fn views(&self) -> RwLockReadGuard<'_, Views> {
        self.published.views()
    }

    /// Whether the orchestrator has work in progress.
    pub fn is_busy(&self) -> bool {
        self.published.is_busy() || self.views().board.live_workers_count() > 0
    }

    /// Notifies when the journal has grown.
    pub fn changes(&self) -> watch::Receiver<Seq> {
        self.published.changes()
    }
}

impl Envelope {
    pub fn signal(signal: Signal) -> Self {
        let (actor, body, reply) = (Actor::Orchestrator, InputBody::Signal(signal), Reply::Ignore);
        Self { actor, body, reply }
    }

    /// A command, and the receiver of its verdict.
    pub fn command(actor: Actor, command: Command) -> (Self, Verdict) {
        let (sender, verdict) = oneshot::channel();
        (Self { actor, body: InputBody::Command(command), reply: Reply::To(sender) }, verdict)
    }

    pub fn input(&self, at: Timestamp) -> Input {
        Input { at, actor: self.actor, body: self.body.clone() }
    }
}
