//! The agent of a worker, from the beginning of its start.

use pitcrew_acp::Session;
use pitcrew_model::{AttemptId, EffectId, HostPattern};
use std::sync::{Mutex, OnceLock, PoisonError, atomic::AtomicBool};
use tokio::{
    sync::{Notify, watch},
    task::JoinHandle,
};

pub struct Live {
    pub attempt: AttemptId,
    pub phase: watch::Sender<Phase>,
    /// Cancels a start in progress.
    pub over: Notify,
    /// The prompt of the open turn.
    pub turn: watch::Sender<Option<EffectId>>,
    /// The agent is being stopped, and the stopper reports its exit.
    pub stopping: AtomicBool,
    /// The hosts of its provider.
    pub provider: OnceLock<Vec<HostPattern>>,
    pump: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Clone)]
pub enum Phase {
    Starting,
    Open(Session),
    Gone,
}

impl Live {
    pub fn new(attempt: AttemptId) -> Self {
        Self {
            attempt,
            phase: watch::Sender::new(Phase::Starting),
            over: Notify::new(),
            turn: watch::Sender::new(None),
            stopping: AtomicBool::new(false),
            provider: OnceLock::new(),
            pump: Mutex::default(),
        }
    }

    pub fn session(&self) -> Option<Session> {
        match &*self.phase.borrow() {
            Phase::Open(session) => Some(session.clone()),
            Phase::Starting | Phase::Gone => None,
        }
    }

    /// Waits for the end of the start; `None` if it failed.
    pub async fn started(&self) -> Option<Session> {
        let mut phase = self.phase.subscribe();
        // The sender is ours, so it is not gone before the end.
        phase.wait_for(|it| !matches!(it, Phase::Starting)).await.ok();
        self.session()
    }

    /// Takes ownership of the task that forwards the agent's events.
    pub fn keep(&self, pump: JoinHandle<()>) {
        *self.pump.lock().unwrap_or_else(PoisonError::into_inner) = Some(pump);
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let pump = self.pump.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(pump) = pump.take() {
            pump.abort();
        }
    }
}
