//! What an agent tried outside its zone: a refused file, or a `NEED` line.

use super::ask_query::{self, Ask};
use crate::{
    State, WorkerAccess,
    react::worker_access,
    state::{Process, Worker},
};
use alloc::{format, string::String, vec, vec::Vec};
use pitcrew_model::{
    Access, CheckoutRole, Event, QueryVia, Rejection, RepoPath, Timestamp, WorkerId, limits, text,
};

/// A longer text is not a path.
const PATH_BYTES_MAX: usize = 1_024;

/// A file that was refused.
pub struct Blocked<'a> {
    pub worker: WorkerId,
    pub place: u64,
    pub access: Access,
    pub path: &'a str,
    pub bytes_saved: u64,
}

/// Repeated signals have a known position. Repeated attempts at one path are limited, because they
/// would fill the journal. A refused read counts as a query.
pub fn blocked(state: &State, at: Timestamp, it: &Blocked<'_>) -> Result<Vec<Event>, Rejection> {
    let Blocked { worker, place, access, bytes_saved, .. } = *it;
    let row = state.worker(worker)?;
    let path: String = text::cut(it.path, PATH_BYTES_MAX).into();
    if access == Access::Write && may_write(state, worker, &path) {
        // The message about it is from another sandbox or about another place.
        return Ok(Vec::new());
    }
    if row.blocked_at.is_some_and(|last| place <= last) || !is_worth_noting(row, access, &path) {
        return Ok(Vec::new());
    }
    let mut events =
        vec![Event::AccessBlocked { worker, place, access, path: path.clone(), bytes_saved }];
    if access == Access::Read {
        let nonce = format!("read-{place}");
        let ask = Ask { nonce: &nonce, symbol: &path, context: &path, via: QueryVia::Read };
        // The query limits do not matter: the refusal already contained the answer.
        events.extend(ask_query::decide(state, at, row.attempt, &ask).unwrap_or_default());
    }
    Ok(events)
}

fn may_write(state: &State, worker: WorkerId, path: &str) -> bool {
    let WorkerAccess { zone, stay, .. } = worker_access(state, worker);
    stay != CheckoutRole::Reader && RepoPath::parse(path).is_ok() && zone.allows(path)
}

fn is_worth_noting(worker: &Worker, access: Access, path: &str) -> bool {
    match worker.blocked.get(&(access, path.into())) {
        Some(count) => *count < limits::BLOCKED_PER_PATH_MAX,
        None => worker.blocked.len() < limits::BLOCKED_PATHS_MAX,
    }
}

/// A `NEED` line in the agent's text. Repeated signals have a known nonce.
pub fn query(
    state: &State,
    at: Timestamp,
    worker: WorkerId,
    ask: &Ask<'_>,
) -> Result<Vec<Event>, Rejection> {
    let row = state.worker(worker)?;
    // The worker has ended and cannot read the answer.
    if row.process != Process::Alive || !state.attempts[row.attempt].is_open() {
        return Ok(Vec::new());
    }
    ask_query::decide(state, at, row.attempt, ask)
}
