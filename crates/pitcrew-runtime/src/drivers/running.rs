//! The effects in progress, and how to cancel them.

use pitcrew_model::EffectId;
use pitcrew_process::Cancel;
use pitcrew_writer::Scope;
use std::collections::HashMap;
use tokio::task::JoinSet;

/// Owns every task of the drivers. Dropping it kills their programs.
#[derive(Default)]
pub struct Running {
    tasks: JoinSet<EffectId>,
    cuts: HashMap<EffectId, (Option<Scope>, Cancel)>,
}

impl Running {
    pub fn begin(
        &mut self,
        id: EffectId,
        scope: Option<Scope>,
        cancel: Cancel,
        work: impl Future<Output = ()> + Send + 'static,
    ) {
        self.cuts.insert(id, (scope, cancel));
        self.tasks.spawn(async move {
            work.await;
            id
        });
    }

    /// Cancels work of an ended scope.
    pub fn cut(&self, over: Scope) {
        for (_, cancel) in self.cuts.values().filter(|it| over.cuts(it.0)) {
            cancel.cancel();
        }
    }

    pub fn cut_all(&self) {
        for (_, cancel) in self.cuts.values() {
            cancel.cancel();
        }
    }

    /// Removes the next effect that completes; waits forever if there is none.
    pub async fn next_end(&mut self) {
        match self.tasks.join_next().await {
            Some(Ok(id)) => drop(self.cuts.remove(&id)),
            // Panics are caught inside the task.
            Some(Err(_)) => {}
            None => std::future::pending().await,
        }
    }

    pub async fn join(&mut self) {
        while self.tasks.join_next().await.is_some() {}
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.cut_all();
    }
}
