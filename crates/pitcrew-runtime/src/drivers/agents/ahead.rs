//! Prepares the start of an agent while its checkout is still being created.
//!
//! This predicts the order that will start the agent. If the order differs or the preparation
//! fails, the agent is started as if nothing had been prepared.

use super::{Agents, SpawnRequest};
use crate::{Handle, handle::Message};
use pitcrew_kernel::{State, worker_access};
use pitcrew_model::{AttemptId, EffectId, Reads};
use pitcrew_process::{PreparedShim, prepare_shim};
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, MutexGuard, PoisonError},
};
use tokio::{sync::oneshot, task::JoinHandle};

/// The preparations in progress, by attempt.
pub(super) type AllAhead = HashMap<AttemptId, JoinHandle<Option<PreparedShim>>>;

impl Agents {
    /// Starts preparing an agent for this checkout, of which possibly only the folder exists.
    pub fn expect(self: &Arc<Self>, effect: EffectId, attempt: AttemptId, checkout: PathBuf) {
        let agents = self.clone();
        let made = async move { agents.make_ready(effect, attempt, &checkout).await };
        let before = self.all_ahead().insert(attempt, tokio::spawn(made));
        if let Some(before) = before {
            before.abort();
        }
    }

    async fn make_ready(
        &self,
        effect: EffectId,
        attempt: AttemptId,
        checkout: &Path,
    ) -> Option<PreparedShim> {
        let wanted = self.handle.wanted(attempt).await?;
        let turn = self.acquire_login(attempt, &wanted.backend).await.ok()?;
        self.logins.make_home(attempt, turn).await.ok()?;
        let launch = self.launch(effect, attempt, &wanted, checkout).await.ok()?;
        prepare_shim(&launch.program, &launch.shim).ok()
    }

    /// Takes what was prepared for the agent of this attempt.
    pub(super) async fn taken(&self, attempt: AttemptId) -> Option<PreparedShim> {
        let made = self.all_ahead().remove(&attempt);
        made?.await.ok().flatten()
    }

    /// Cancels the preparation, because the attempt needs no agent. What was prepared ends by
    /// itself.
    pub fn expect_nobody(&self, attempt: AttemptId) {
        if let Some(made) = self.all_ahead().remove(&attempt) {
            made.abort();
            self.logins.end(attempt);
            self.setup.sockets.close(attempt);
        }
    }

    /// Cancels all preparations at shutdown, and waits until nothing is left of them.
    pub(super) async fn end_ahead(&self) {
        let all: Vec<_> = self.all_ahead().drain().map(|it| it.1).collect();
        for made in all {
            made.abort();
            if let Ok(Some(prepared)) = made.await {
                prepared.end().await;
            }
        }
    }

    fn all_ahead(&self) -> MutexGuard<'_, AllAhead> {
        self.ahead.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Handle {
    /// Predicts the agent of an attempt before its checkout exists. Returns `None` if the content
    /// of the checkout determines what the agent sees.
    async fn wanted(&self, attempt: AttemptId) -> Option<SpawnRequest> {
        let (sender, answer) = oneshot::channel();
        let look = move |state: &State| drop(sender.send(wanted(state, attempt)));
        self.inputs.send(Message::Look(Box::new(look))).await.ok();
        answer.await.ok().flatten()
    }
}

fn wanted(state: &State, attempt: AttemptId) -> Option<SpawnRequest> {
    let it = state.attempts.get(attempt)?;
    let (task, worker) = (state.tasks.get(it.task)?, it.worker);
    let reach = worker_access(state, worker);
    match state.plans[task.plan].head.reads {
        Reads::Zone if reach.sees.is_empty() => return None,
        Reads::Guided | Reads::Zone => {}
    }
    let backend = task.spec.program()?;
    let (model, unseen) = (task.spec.model.clone(), Vec::new());
    Some(SpawnRequest { backend, model, reach, unseen })
}
