//! A worker's agent, from the moment it is being started.

use pitcrew_acp::Session;
use pitcrew_model::{AttemptId, EffectId};
use std::sync::{Mutex, PoisonError, atomic::AtomicBool};
use tokio::{
    sync::{Notify, watch},
    task::JoinHandle,
};

pub struct Live {
    pub attempt: AttemptId,
    pub phase: watch::Sender<Phase>,
    /// A start that is under way is given up.
    pub over: Notify,
    /// The prompt whose turn is under way.
    pub turn: watch::Sender<Option<EffectId>>,
    /// Its end is wanted, and told by whoever wants it.
    pub stopping: AtomicBool,
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
            pump: Mutex::default(),
        }
    }

    pub fn session(&self) -> Option<Session> {
        match &*self.phase.borrow() {
            Phase::Open(session) => Some(session.clone()),
            Phase::Starting | Phase::Gone => None,
        }
    }

    /// Waits for the end of the start; nothing where it failed.
    pub async fn started(&self) -> Option<Session> {
        let mut phase = self.phase.subscribe();
        // The sender is ours, so it is not gone before the end.
        phase.wait_for(|it| !matches!(it, Phase::Starting)).await.ok();
        self.session()
    }

    /// Owns the task that passes on what the agent says.
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
