//! Limits the connections of each endpoint and caller.
//!
//! A connection is unauthenticated until it has sent a valid token, for which it has a short time.
//! If an endpoint is full, the oldest unauthenticated connection is closed, or new ones wait.

use crate::answer::Failed;
use pitcrew_api::ProblemCode;
use pitcrew_model::AttemptId;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    sync::{Notify, OwnedSemaphorePermit, Semaphore},
    time::sleep,
};

/// How long a connection may be open without a valid token.
const IDENTIFY_TIME_MAX: Duration = Duration::from_secs(5);

/// The kind of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// The user's commands, and the tools of the user's own agents.
    Person,
    /// The tools of one worker.
    Worker(AttemptId),
    /// The tools of all workers, on the loopback.
    Loopback,
}

/// The owner of a valid token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Identity {
    /// The user, or the user's own agent.
    Person,
    Worker(AttemptId),
}

/// The connection limits of an endpoint.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub connections: usize,
    /// Connections of one worker, or of all clients.
    pub per_caller: usize,
    /// If full, the oldest unauthenticated connection is closed. Otherwise new ones wait in the
    /// socket's queue.
    pub evicts: bool,
}

impl Limits {
    /// The limits of an endpoint for the process's limit of open files. The endpoints of 20
    /// workers, the loopback and the user's together leave enough files for the orchestrator's
    /// work.
    pub fn of(endpoint: Endpoint, files_max: usize) -> Self {
        match endpoint {
            Endpoint::Person => {
                let connections = (files_max / 8).clamp(16, 256);
                Self { connections, per_caller: connections, evicts: true }
            }
            Endpoint::Loopback => {
                let connections = (files_max / 8).clamp(16, 256);
                Self { connections, per_caller: connections.min(32), evicts: true }
            }
            Endpoint::Worker(_) => {
                let connections = (files_max / 64).clamp(4, 32);
                Self { connections, per_caller: connections, evicts: false }
            }
        }
    }
}

/// The connections of one endpoint.
pub struct ConnectionPool {
    endpoint: Endpoint,
    limits: Limits,
    slots: Arc<Semaphore>,
    state: Mutex<PoolState>,
}

#[derive(Default)]
struct PoolState {
    connections_count: u64,
    /// In order of arrival.
    unauthenticated: BTreeMap<u64, Arc<Notify>>,
    /// The number of authenticated connections of each caller.
    known: BTreeMap<Identity, usize>,
}

impl ConnectionPool {
    pub fn new(endpoint: Endpoint, files_max: usize) -> Self {
        let limits = Limits::of(endpoint, files_max);
        let slots = Arc::new(Semaphore::new(limits.connections));
        Self { endpoint, limits, slots, state: Mutex::default() }
    }

    /// Waits for a free slot for a new connection.
    pub async fn enter(self: &Arc<Self>) -> Arc<Connection> {
        let free = self.slots.clone().try_acquire_owned();
        let place = match free {
            Ok(place) => place,
            Err(_) => {
                if self.limits.evicts {
                    self.evict();
                }
                let place = self.slots.clone().acquire_owned().await;
                place.expect("the semaphore is never closed")
            }
        };
        let evicted = Arc::new(Notify::new());
        let mut state = self.state();
        state.connections_count += 1;
        let number = state.connections_count;
        state.unauthenticated.insert(number, evicted.clone());
        let (pool, caller) = (self.clone(), Mutex::default());
        Arc::new(Connection { pool, number, evicted, caller, _place: place })
    }

    fn evict(&self) {
        if let Some((_, oldest)) = self.state().unauthenticated.pop_first() {
            oldest.notify_one();
        }
    }

    fn state(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One connection. Its slot is free when the last copy is dropped.
pub struct Connection {
    pool: Arc<ConnectionPool>,
    number: u64,
    evicted: Arc<Notify>,
    /// Set once a valid token was sent.
    caller: Mutex<Option<Identity>>,
    _place: OwnedSemaphorePermit,
}

impl Connection {
    pub fn endpoint(&self) -> Endpoint {
        self.pool.endpoint
    }

    /// Records a valid token.
    pub fn admit(&self, caller: Identity) -> Result<(), Failed> {
        let mut known = self.known();
        if known.is_some() {
            return Ok(());
        }
        let mut state = self.pool.state();
        let count = state.known.entry(caller).or_default();
        if *count >= self.pool.limits.per_caller {
            let message =
                format!("this caller already has {count} connections, which is the limit");
            return Err(Failed::new(ProblemCode::TooMany, message).help("close some of them"));
        }
        *count += 1;
        state.unauthenticated.remove(&self.number);
        *known = Some(caller);
        Ok(())
    }

    /// Returns when this connection has to close: its slot is needed, or it sent no token in time.
    pub async fn must_close(&self) {
        tokio::select! {
            () = self.evicted.notified() => return,
            () = sleep(IDENTIFY_TIME_MAX) => {}
        }
        if self.known().is_some() {
            std::future::pending::<()>().await;
        }
    }

    fn known(&self) -> MutexGuard<'_, Option<Identity>> {
        self.caller.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let caller = *self.known();
        let mut state = self.pool.state();
        state.unauthenticated.remove(&self.number);
        if let Some(caller) = caller
            && let Some(count) = state.known.get_mut(&caller)
        {
            *count -= 1;
            if *count == 0 {
                state.known.remove(&caller);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::timeout;

    const MOMENT: Duration = Duration::from_millis(50);

    fn pool(endpoint: Endpoint) -> Arc<ConnectionPool> {
        Arc::new(ConnectionPool::new(endpoint, 0))
    }

    async fn fill(pool: &Arc<ConnectionPool>) -> Vec<Arc<Connection>> {
        let mut connections = Vec::new();
        for _ in 0..pool.limits.connections {
            connections.push(pool.enter().await);
        }
        connections
    }

    #[tokio::test]
    async fn the_oldest_unauthenticated_connection_is_closed() {
        let pool = pool(Endpoint::Person);
        let mut connections = fill(&pool).await;
        connections[0].admit(Identity::Person).map_err(|_| "it is the first").unwrap();
        let entering = pool.enter();
        let leaving = async {
            connections[1].must_close().await;
            drop(connections.remove(1));
            connections
        };
        let (_new, connections) = tokio::join!(entering, leaving);
        for connection in connections {
            assert!(
                timeout(MOMENT, connection.must_close()).await.is_err(),
                "{} leaves",
                connection.number
            );
        }
    }

    #[tokio::test]
    async fn new_connections_wait_at_a_workers_socket() {
        let pool = pool(Endpoint::Worker(AttemptId(1)));
        let mut connections = fill(&pool).await;
        assert!(timeout(MOMENT, pool.enter()).await.is_err());
        assert!(timeout(MOMENT, connections[0].must_close()).await.is_err());
        connections.pop();
        pool.enter().await;
    }

    #[tokio::test]
    async fn one_caller_cannot_take_all_slots() {
        let pool = Arc::new(ConnectionPool::new(Endpoint::Loopback, 8 * 64));
        let connections = fill(&pool).await;
        let admitted = |whose: u64| {
            let it = connections.iter().skip(usize::try_from(whose).unwrap() * 32);
            it.take(33).filter(|it| it.admit(Identity::Worker(AttemptId(whose))).is_ok()).count()
        };
        assert_eq!((admitted(0), admitted(1)), (32, 32));
        let known = |pool: &ConnectionPool| pool.state().known.values().sum::<usize>();
        assert_eq!(known(&pool), 64);
        drop(connections);
        assert_eq!(known(&pool), 0);
    }
}
