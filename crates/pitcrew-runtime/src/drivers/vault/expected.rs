//! Orders that are about to come: what they take is made before they are there.
//!
//! A box dies with the thread that made it, so a thread of its own makes it and does the work in it.

use pitcrew_model::AttemptId;
use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};
use tokio::sync::oneshot;

/// How long it is waited for the order. An agent may take its time to end.
const ORDER_MAX: Duration = Duration::from_secs(20);

/// What is done with what was made ready.
type Job<R> = Box<dyn FnOnce(Option<R>) + Send>;

type Waiting<R> = Mutex<HashMap<AttemptId, mpsc::Sender<Job<R>>>>;

/// Who waits for an order with something that is ready for it. All of them give up when this is gone.
pub(super) struct Expected<R> {
    waiting: Arc<Waiting<R>>,
}

impl<R> Clone for Expected<R> {
    fn clone(&self) -> Self {
        Self { waiting: Arc::clone(&self.waiting) }
    }
}

impl<R> Default for Expected<R> {
    fn default() -> Self {
        Self { waiting: Arc::default() }
    }
}

impl<R: 'static> Expected<R> {
    /// An order for this attempt is about to come. Whatever fails here is done and told when it is
    /// carried out.
    pub(super) fn expect(
        &self,
        attempt: AttemptId,
        get_ready: impl FnOnce() -> Option<R> + Send + 'static,
    ) {
        let (sender, orders) = mpsc::channel::<Job<R>>();
        let waiting = Arc::downgrade(&self.waiting);
        let wait = move || {
            // An order that has come is carried out anyway.
            let ready = catch_unwind(AssertUnwindSafe(get_ready)).ok().flatten();
            let order = match orders.recv_timeout(ORDER_MAX) {
                Err(RecvTimeoutError::Timeout) => {
                    if let Some(waiting) = waiting.upgrade() {
                        lock(&waiting).remove(&attempt);
                    }
                    // From now on nobody gives it to us; somebody may have done so just then.
                    orders.recv().ok()
                }
                // Somebody else waits in our place, or nobody is to wait any more.
                Err(RecvTimeoutError::Disconnected) => None,
                Ok(job) => Some(job),
            };
            if let Some(job) = order {
                job(ready);
            }
        };
        if thread::Builder::new().name("expected".into()).spawn(wait).is_ok() {
            lock(&self.waiting).insert(attempt, sender);
        }
    }

    /// Whatever comes next of the attempt, it is not this order.
    pub(super) fn forget(&self, attempt: AttemptId) {
        lock(&self.waiting).remove(&attempt);
    }

    /// Does the work of the order with what is ready for it, or with nothing.
    pub(super) async fn carry_out<T: Send + 'static>(
        &self,
        attempt: AttemptId,
        work: impl FnOnce(Option<R>) -> T + Send + 'static,
    ) -> Result<T, oneshot::error::RecvError> {
        let (done, result) = oneshot::channel();
        let job: Job<R> = Box::new(move |ready| {
            done.send(catch_unwind(AssertUnwindSafe(|| work(ready)))).ok();
        });
        if let Some(job) = self.take(attempt, job) {
            tokio::task::spawn_blocking(move || job(None));
        }
        match result.await {
            Ok(Ok(done)) => Ok(done),
            // Whoever caught it in the first place reports it.
            Ok(Err(panic)) => resume_unwind(panic),
            Err(gone) => Err(gone),
        }
    }

    /// Gives the job to whoever waits for it. Gives it back where nobody does.
    fn take(&self, attempt: AttemptId, job: Job<R>) -> Option<Job<R>> {
        let mut waiting = lock(&self.waiting);
        match waiting.remove(&attempt) {
            Some(sender) => sender.send(job).err().map(|it| it.0),
            None => Some(job),
        }
    }
}

fn lock<R>(waiting: &Waiting<R>) -> MutexGuard<'_, HashMap<AttemptId, mpsc::Sender<Job<R>>>> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}
