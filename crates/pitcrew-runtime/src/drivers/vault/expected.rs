//! Orders that are about to come: what they take is made before they are there.
//!
//! A box dies with the thread that made it, so a thread of its own makes it and does the work in it.

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

/// How long it is waited for the order. An agent may take its time to end.
const ORDER_MAX: Duration = Duration::from_secs(20);

/// What is done with what was made ready.
type Job<R> = Box<dyn FnOnce(Option<R>) + Send>;

type Waiting<R> = Mutex<HashMap<AttemptId, Waiter<R>>>;

/// A thread that waits for its order.
struct Waiter<R> {
    /// Which one of an attempt it is: another may have taken its place.
    number: u64,
    orders: mpsc::Sender<Job<R>>,
    /// Cut off when nothing of what it made is left.
    ended: mpsc::Receiver<()>,
}

impl<R> Waiter<R> {
    /// Its order does not come any more. Returns when nothing of what it made is left.
    fn end(self) {
        drop(self.orders);
        self.ended.recv().ok();
    }
}

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
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let (sender, orders) = mpsc::channel::<Job<R>>();
        let (ending, ended) = mpsc::channel::<()>();
        let all = Arc::downgrade(&self.waiting);
        // Nobody is to find the list without either of the two.
        let mut waiting = lock(&self.waiting);
        let before = waiting.remove(&attempt);
        let wait = move || {
            let _ending = ending;
            if let Some(before) = before {
                before.end();
            }
            // An order that has come is carried out anyway.
            let ready = catch_unwind(AssertUnwindSafe(get_ready)).ok().flatten();
            match orders.recv_timeout(ORDER_MAX) {
                Ok(job) => job(ready),
                // Somebody else waits in our place, or nobody is to wait any more.
                Err(RecvTimeoutError::Disconnected) => drop(ready),
                Err(RecvTimeoutError::Timeout) => {
                    // First: who does not find us in the list relies on it.
                    drop(ready);
                    if let Some(all) = all.upgrade() {
                        let mut waiting = lock(&all);
                        if waiting.get(&attempt).is_some_and(|it| it.number == number) {
                            waiting.remove(&attempt);
                        }
                    }
                    // From now on nobody gives it to us; somebody may have done so just then.
                    if let Ok(job) = orders.recv() {
                        job(None);
                    }
                }
            }
        };
        // Where no thread is to be had, the one before is told to end and not waited for.
        if thread::Builder::new().name("expected".into()).spawn(wait).is_ok() {
            waiting.insert(attempt, Waiter { number, orders: sender, ended });
        }
    }

    /// Whatever comes next of the attempt, it is not this order. Blocks until nothing is left of what
    /// was made for it: a box stands in the checkout that may be removed next.
    pub(super) fn forget(&self, attempt: AttemptId) {
        let waiter = lock(&self.waiting).remove(&attempt);
        if let Some(waiter) = waiter {
            waiter.end();
        }
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

    /// What is there until it has ended, which takes a while.
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
    fn nothing_is_left_of_what_is_forgotten() {
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
