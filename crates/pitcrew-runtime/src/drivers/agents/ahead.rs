//! Makes ready what an agent will need, while its checkout is still being made.
//!
//! It is a guess at the order that will start the agent. Where that order says something else, or
//! something goes wrong here, the agent is started as if this had never been.

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

/// What is made ready, and for whom.
pub(super) type AllAhead = HashMap<AttemptId, JoinHandle<Option<PreparedShim>>>;

impl Agents {
    /// An agent will be wanted in this checkout, of which no more than the folder may be there.
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

    /// What was made ready for the agent of this attempt.
    pub(super) async fn taken(&self, attempt: AttemptId) -> Option<PreparedShim> {
        let made = self.all_ahead().remove(&attempt);
        made?.await.ok().flatten()
    }

    /// No agent is wanted for this attempt after all. What was made ready for it ends by itself.
    pub fn expect_nobody(&self, attempt: AttemptId) {
        if let Some(made) = self.all_ahead().remove(&attempt) {
            made.abort();
            self.logins.end(attempt);
            self.setup.sockets.close(attempt);
        }
    }

    /// The same for all of them, for a shutdown; it waits until nothing of it is left.
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
    /// The agent that will be started for an attempt, as far as it is known before its checkout is
    /// there. Nothing where that decides what it sees.
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
