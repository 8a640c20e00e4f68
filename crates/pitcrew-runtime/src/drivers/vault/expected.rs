//! Prepares what an expected order will need before the order arrives.
//!
//! A box dies with the thread that created it, so a separate thread creates it and does the work in
//! it.

use pitcrew_model::AttemptId;
use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};
use tokio::sync::oneshot;

/// How long to wait for the order. An agent may take some time to exit.
const ORDER_MAX: Duration = Duration::from_secs(20);

/// The work of an order, which receives the prepared resources.
type Job<R> = Box<dyn FnOnce(Option<R>) + Send>;

type Waiting<R> = Mutex<HashMap<AttemptId, Waiter<R>>>;

/// A thread that has prepared for an order and waits for it.
struct Waiter<R> {
    /// Distinguishes the waiters of an attempt, because another one may have replaced this one.
    number: u64,
    orders: mpsc::Sender<Job<R>>,
    /// Disconnected when all prepared resources have been released.
    ended: mpsc::Receiver<()>,
}

impl<R> Waiter<R> {
    /// Cancels the expected order. Returns when all prepared resources have been released.
    fn end(self) {
        drop(self.orders);
        self.ended.recv().ok();
    }
}

/// The threads that wait for an order. They all give up when this is dropped.
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
    /// Prepares for an order for this attempt. If the preparation fails, the order does all the
    /// work and reports any errors.
    pub(super) fn expect(
        &self,
        attempt: AttemptId,
        get_ready: impl FnOnce() -> Option<R> + Send + 'static,
    ) {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let (sender, orders) = mpsc::channel::<Job<R>>();
        let (ending, ended) = mpsc::channel::<()>();
        let all = Arc::downgrade(&self.waiting);
        // Keep the list locked until the old waiter has been replaced by the new one.
        let mut waiting = lock(&self.waiting);
        let before = waiting.remove(&attempt);
        let wait = move || {
            let _ending = ending;
            if let Some(before) = before {
                before.end();
            }
            // If the preparation panics, the order is still carried out, without prepared
            // resources.
            let ready = catch_unwind(AssertUnwindSafe(get_ready)).ok().flatten();
            match orders.recv_timeout(ORDER_MAX) {
                Ok(job) => job(ready),
                // Another waiter has replaced this one, or the order was cancelled.
                Err(RecvTimeoutError::Disconnected) => drop(ready),
                Err(RecvTimeoutError::Timeout) => {
                    // Before removing the entry, because a missing entry means that the resources
                    // are released.
                    drop(ready);
                    if let Some(all) = all.upgrade() {
                        let mut waiting = lock(&all);
                        if waiting.get(&attempt).is_some_and(|it| it.number == number) {
                            waiting.remove(&attempt);
                        }
                    }
                    // No order can arrive from now on, but one may have been sent just before.
                    if let Ok(job) = orders.recv() {
                        job(None);
                    }
                }
            }
        };
        // If no thread can be started, the previous waiter is dropped without waiting for its end.
        if thread::Builder::new().name("expected".into()).spawn(wait).is_ok() {
            waiting.insert(attempt, Waiter { number, orders: sender, ended });
        }
    }

    /// Cancels the expected order of an attempt. Blocks until all prepared resources are released,
    /// because a box uses the checkout, which may be removed next.
    pub(super) fn forget(&self, attempt: AttemptId) {
        let waiter = lock(&self.waiting).remove(&attempt);
        if let Some(waiter) = waiter {
            waiter.end();
        }
    }

    /// Carries out an order, with prepared resources if there are any.
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
            // The panic was already reported where it was first caught.
            Ok(Err(panic)) => resume_unwind(panic),
            Err(gone) => Err(gone),
        }
    }

    /// Hands the job to a waiter, or returns it if there is none.
    fn take(&self, attempt: AttemptId, job: Job<R>) -> Option<Job<R>> {
        let mut waiting = lock(&self.waiting);
        match waiting.remove(&attempt) {
            Some(waiter) => waiter.orders.send(job).err().map(|it| it.0),
            None => Some(job),
        }
    }
}

fn lock<R>(waiting: &Waiting<R>) -> MutexGuard<'_, HashMap<AttemptId, Waiter<R>>> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    /// A resource that takes a while to release.
    struct Slow(Arc<AtomicUsize>);

    impl Slow {
        fn new(there: &Arc<AtomicUsize>) -> Self {
            there.fetch_add(1, Ordering::SeqCst);
            Self(Arc::clone(there))
        }
    }

    impl Drop for Slow {
        fn drop(&mut self) {
            (0..1_000).for_each(|_| thread::yield_now());
            self.0.fetch_sub(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn forgetting_releases_prepared_resources() {
        let (expected, there) = (Expected::default(), Arc::new(AtomicUsize::new(0)));
        let (attempt, other) = (AttemptId(1), AttemptId(2));
        for attempt in [attempt, attempt, other] {
            let (made, is_made) = mpsc::channel();
            let there = Arc::clone(&there);
            expected.expect(attempt, move || {
                let ready = Slow::new(&there);
                made.send(()).ok();
                Some(ready)
            });
            is_made.recv().expect("it is made");
        }
        expected.forget(attempt);
        assert_eq!(there.load(Ordering::SeqCst), 1, "that of the other is there");
        expected.forget(attempt);
        expected.forget(other);
        assert_eq!(there.load(Ordering::SeqCst), 0);
    }
}
