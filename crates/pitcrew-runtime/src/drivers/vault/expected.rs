//! Work that is about to be collected: what that takes is made while the agent ends.
//!
//! A box dies with the thread that made it, so a thread of its own makes it and collects in it.

use super::Job;
use pitcrew_git::Vault;
use pitcrew_model::AttemptId;
use pitcrew_process::{Policy, Tier};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc},
    thread,
    time::Duration,
};

/// How long it is waited for the order. An agent may take its time to end.
const ORDER_MAX: Duration = Duration::from_secs(20);

type Waiting = Mutex<HashMap<AttemptId, mpsc::Sender<Job>>>;

/// Who waits for an order to collect. All of them give up when this is gone.
#[derive(Clone, Default)]
pub(super) struct Expected {
    waiting: Arc<Waiting>,
}

impl Expected {
    /// The agent of an attempt is about to end. Whatever fails here is done and told when the work is
    /// collected.
    pub(super) fn expect(&self, attempt: AttemptId, vault: &Arc<Vault>, policy: &Arc<Policy>) {
        if policy.tier != Tier::T3 {
            return;
        }
        let (sender, orders) = mpsc::channel::<Job>();
        let (vault, policy) = (Arc::clone(vault), Arc::clone(policy));
        let waiting = Arc::downgrade(&self.waiting);
        let wait = move || {
            let ready = vault.get_ready(attempt, &policy);
            let order = orders.recv_timeout(ORDER_MAX).or_else(|_| {
                if let Some(waiting) = waiting.upgrade() {
                    lock(&waiting).remove(&attempt);
                }
                // From now on nobody gives it to us; somebody may have done so just then.
                orders.recv()
            });
            if let Ok(job) = order {
                job(ready);
            }
        };
        if thread::Builder::new().name("collect".into()).spawn(wait).is_ok() {
            lock(&self.waiting).insert(attempt, sender);
        }
    }

    /// Whatever comes next of the attempt, it is not the order to collect.
    pub(super) fn forget(&self, attempt: AttemptId) {
        lock(&self.waiting).remove(&attempt);
    }

    /// Gives the job to whoever waits for it. Gives it back where nobody does.
    pub(super) fn take(&self, attempt: AttemptId, job: Job) -> Option<Job> {
        let mut waiting = lock(&self.waiting);
        match waiting.remove(&attempt) {
            Some(sender) => sender.send(job).err().map(|it| it.0),
            None => Some(job),
        }
    }
}

fn lock(waiting: &Waiting) -> MutexGuard<'_, HashMap<AttemptId, mpsc::Sender<Job>>> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}
