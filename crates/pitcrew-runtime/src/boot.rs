//! Going on after a stop, a crash or a kill: agents that worked on are found again, what is open is
//! ordered again, and before anything of it begins, what was lost is told.

use crate::{
    clock,
    drivers::{Agents, Found, Held},
    handle::Envelope,
    log::Log,
};
use pitcrew_kernel::State;
use pitcrew_model::{Actor, AttemptId, Command, Rejection, Signal, Timestamp, WorkerId};
use pitcrew_views::Board;
use pitcrew_writer::{LOST, Reissue};
use std::{collections::BTreeSet, sync::Arc};
use tokio::sync::oneshot;

/// What the writer hears before anything else.
pub struct First {
    /// For when the signals are told.
    pub at: Timestamp,
    pub signals: Vec<Signal>,
    /// What the files say, which holds for whatever is ordered by anybody.
    pub orders: Vec<Envelope>,
}

/// What has to be done before the drivers begin.
pub struct Boot {
    /// The agents that the last orchestrator had.
    held: Vec<Held>,
    /// Those that it was starting: they are found by the order to start them.
    starting: Vec<WorkerId>,
    /// The attempts of both.
    attempts: BTreeSet<AttemptId>,
    /// When the last orchestrator said its last word.
    last: Timestamp,
    orders: Vec<Command>,
}

impl Boot {
    pub fn new(
        state: &State,
        last: Timestamp,
        board: &Board,
        reissue: &Reissue,
        orders: Vec<Command>,
    ) -> Self {
        let attempts = state.live_workers().map(|it| it.attempt).collect();
        let (starting, live): (Vec<_>, Vec<_>) =
            state.live_workers().partition(|it| reissue.is_starting(it.id));
        let held = live.into_iter().map(|it| {
            let attempt = &state.attempts[it.attempt];
            let agent = &state.tasks[attempt.task].spec.agent;
            let reach = pitcrew_kernel::worker_access(state, it.id);
            Held {
                reach,
                worker: it.id,
                attempt: it.attempt,
                path: attempt.path.clone().unwrap_or_default(),
                backend: agent.backend.clone().unwrap_or_default(),
                prompt: reissue.prompt_of(it.id),
                note: board.worker(it.id).and_then(|it| Some(it.activity.as_ref()?.note.clone())),
            }
        });
        let starting = starting.into_iter().map(|it| it.id).collect();
        Self { held: held.collect(), starting, attempts, last, orders }
    }

    /// Lets the drivers begin when it returns.
    ///
    /// What became of the agents is the first thing that the writer hears, as if no time had passed
    /// since the last word of the journal: a deadline of one agent must not pass while it is told of
    /// another that nobody was there.
    pub async fn run(self, first: oneshot::Sender<First>, agents: &Arc<Agents>, log: &Log) {
        // First: what they have refreshed while nobody was there is known to them alone.
        agents.logins.adopt(&self.attempts);
        agents.remove_left_over(&self.attempts);
        let found = self.held.iter().map(|held| async {
            let found = agents.reattach(held).await;
            log.line("Orchestrator", &format!("the agent of {}: {found:?}", held.attempt));
            (held.worker, found)
        });
        let found = futures::future::join_all(found).await;
        let away_ms = clock::now().since(self.last);
        let held = found.into_iter().map(|(worker, found)| told(worker, found, away_ms));
        let starting = self.starting.iter().map(|it| back(*it, away_ms));
        // The writer is gone only where we are about to end.
        let signals = held.chain(starting).collect();
        let (orders, verdicts): (Vec<_>, Vec<_>) =
            self.orders.into_iter().map(|it| Envelope::command(Actor::Orchestrator, it)).unzip();
        first.send(First { at: self.last, signals, orders }).ok();
        for verdict in verdicts {
            if let Err(refused) = verdict.await.unwrap_or(Err(Rejection::ShuttingDown)) {
                log.line("Orchestrator", &format!("the settings stay as they were: {refused}"));
            }
        }
    }
}

/// One that has ended tells so itself, after what it said before.
fn told(worker: WorkerId, found: Found, away_ms: u64) -> Signal {
    match found {
        Found::Alive { away } => {
            // Whoever was here may have been silent: the shim knows how long nobody was there.
            let alone_ms = u64::try_from(away.as_millis()).unwrap_or(u64::MAX);
            back(worker, away_ms.max(alone_ms))
        }
        Found::Ended => back(worker, away_ms),
        Found::Lost => Signal::AgentExited { worker, exit: LOST },
    }
}

fn back(worker: WorkerId, away_ms: u64) -> Signal {
    Signal::AgentReattached { worker, away_ms }
}
