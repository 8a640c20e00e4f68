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
pub enum Door {
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

/// The limits of an endpoint.
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
    /// The limits of an endpoint, given the process's limit of open files: the endpoints of 20
    /// workers, the loopback and the user's together leave enough files for the orchestrator's
    /// work.
    pub fn of(door: Door, files_max: usize) -> Self {
        match door {
            Door::Person => {
                let connections = (files_max / 8).clamp(16, 256);
                Self { connections, per_caller: connections, evicts: true }
            }
            Door::Loopback => {
                let connections = (files_max / 8).clamp(16, 256);
                Self { connections, per_caller: connections.min(32), evicts: true }
            }
            Door::Worker(_) => {
                let connections = (files_max / 64).clamp(4, 32);
                Self { connections, per_caller: connections, evicts: false }
            }
        }
    }
}

/// The connections of one endpoint.
pub struct Room {
    door: Door,
    limits: Limits,
    places: Arc<Semaphore>,
    guests: Mutex<Guests>,
}

#[derive(Default)]
struct Guests {
    visits_count: u64,
    /// In order of arrival.
    strangers: BTreeMap<u64, Arc<Notify>>,
    /// The number of authenticated connections of each caller.
    known: BTreeMap<Identity, usize>,
}

impl Room {
    pub fn new(door: Door, files_max: usize) -> Self {
        let limits = Limits::of(door, files_max);
        let places = Arc::new(Semaphore::new(limits.connections));
        Self { door, limits, places, guests: Mutex::default() }
    }

    /// Waits for a free slot for a new connection.
    pub async fn enter(self: &Arc<Self>) -> Arc<Visit> {
        let free = self.places.clone().try_acquire_owned();
        let place = match free {
            Ok(place) => place,
            Err(_) => {
                if self.limits.evicts {
                    self.evict();
                }
                let place = self.places.clone().acquire_owned().await;
                place.expect("the semaphore is never closed")
            }
        };
        let evicted = Arc::new(Notify::new());
        let mut guests = self.guests();
        guests.visits_count += 1;
        let number = guests.visits_count;
        guests.strangers.insert(number, evicted.clone());
        let (room, caller) = (self.clone(), Mutex::default());
        Arc::new(Visit { room, number, evicted, caller, _place: place })
    }

    fn evict(&self) {
        if let Some((_, oldest)) = self.guests().strangers.pop_first() {
            oldest.notify_one();
        }
    }

    fn guests(&self) -> MutexGuard<'_, Guests> {
        self.guests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One connection. Its slot is free when the last copy is dropped.
pub struct Visit {
    room: Arc<Room>,
    number: u64,
    evicted: Arc<Notify>,
    /// Set once a valid token was sent.
    caller: Mutex<Option<Identity>>,
    _place: OwnedSemaphorePermit,
}

impl Visit {
    pub fn door(&self) -> Door {
        self.room.door
    }

    /// Records a valid token.
    pub fn admit(&self, caller: Identity) -> Result<(), Failed> {
        let mut known = self.known();
        if known.is_some() {
            return Ok(());
        }
        let mut guests = self.room.guests();
        let count = guests.known.entry(caller).or_default();
        if *count >= self.room.limits.per_caller {
            let message =
                format!("this caller already has {count} connections, which is the limit");
            return Err(Failed::new(ProblemCode::TooMany, message).help("close some of them"));
        }
        *count += 1;
        guests.strangers.remove(&self.number);
        *known = Some(caller);
        Ok(())
    }

    /// Returns when this connection has to close: its slot is needed, or it sent no token in time.
    pub async fn must_leave(&self) {
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

impl Drop for Visit {
    fn drop(&mut self) {
        let caller = *self.known();
        let mut guests = self.room.guests();
        guests.strangers.remove(&self.number);
        if let Some(caller) = caller
            && let Some(count) = guests.known.get_mut(&caller)
        {
            *count -= 1;
            if *count == 0 {
                guests.known.remove(&caller);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::timeout;

    const MOMENT: Duration = Duration::from_millis(50);

    fn room(door: Door) -> Arc<Room> {
        Arc::new(Room::new(door, 0))
    }

    async fn fill(room: &Arc<Room>) -> Vec<Arc<Visit>> {
        let mut visits = Vec::new();
        for _ in 0..room.limits.connections {
            visits.push(room.enter().await);
        }
        visits
    }

    #[tokio::test]
    async fn the_oldest_unauthenticated_connection_is_closed() {
        let room = room(Door::Person);
        let mut visits = fill(&room).await;
        visits[0].admit(Identity::Person).map_err(|_| "it is the first").unwrap();
        let entering = room.enter();
        let leaving = async {
            visits[1].must_leave().await;
            drop(visits.remove(1));
            visits
        };
        let (_new, visits) = tokio::join!(entering, leaving);
        for visit in visits {
            assert!(timeout(MOMENT, visit.must_leave()).await.is_err(), "{} leaves", visit.number);
        }
    }

    #[tokio::test]
    async fn new_connections_wait_at_a_workers_socket() {
        let room = room(Door::Worker(AttemptId(1)));
        let mut visits = fill(&room).await;
        assert!(timeout(MOMENT, room.enter()).await.is_err());
        assert!(timeout(MOMENT, visits[0].must_leave()).await.is_err());
        visits.pop();
        room.enter().await;
    }

    #[tokio::test]
    async fn one_caller_cannot_take_all_slots() {
        let room = Arc::new(Room::new(Door::Loopback, 8 * 64));
        let visits = fill(&room).await;
        let admitted = |whose: u64| {
            let it = visits.iter().skip(usize::try_from(whose).unwrap() * 32);
            it.take(33).filter(|it| it.admit(Identity::Worker(AttemptId(whose))).is_ok()).count()
        };
        assert_eq!((admitted(0), admitted(1)), (32, 32));
        let known = |room: &Room| room.guests().known.values().sum::<usize>();
        assert_eq!(known(&room), 64);
        drop(visits);
        assert_eq!(known(&room), 0);
    }
}
