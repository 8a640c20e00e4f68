//! Recovers after a stop, a crash or a kill: reattaches to agents that kept running, reissues open
//! effects, and first reports which agents were lost.

use crate::{
    clock,
    drivers::{Agents, PreviousAgent, ReattachOutcome},
    handle::Envelope,
    log::Log,
};
use pitcrew_kernel::State;
use pitcrew_model::{Actor, AttemptId, Command, Rejection, Signal, Timestamp, WorkerId};
use pitcrew_views::Board;
use pitcrew_writer::{LOST, Reissue};
use std::{collections::BTreeSet, sync::Arc};
use tokio::sync::oneshot;

/// The inputs that the writer processes first.
pub struct InitialInputs {
    /// The time of the signals.
    pub at: Timestamp,
    pub signals: Vec<Signal>,
    /// The rules in the files, which apply to all commands after them.
    pub orders: Vec<Envelope>,
}

/// The work to do before the drivers start.
pub struct Boot {
    /// The agents of the previous orchestrator.
    held: Vec<PreviousAgent>,
    /// The agents that it was starting. They are identified by the effect that starts them.
    starting: Vec<WorkerId>,
    /// The attempts of both.
    attempts: BTreeSet<AttemptId>,
    /// The time of the previous orchestrator's last journal entry.
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
            PreviousAgent {
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

    /// Releases the drivers when it returns.
    ///
    /// The state of the agents is the first thing that the writer processes, at the time of the
    /// journal's last entry: while one agent's interruption is reported, the deadline of another
    /// must not pass.
    pub async fn run(self, first: oneshot::Sender<InitialInputs>, agents: &Arc<Agents>, log: &Log) {
        // First, because only these agents have the credentials that they have refreshed since.
        agents.logins.adopt(&self.attempts);
        agents.remove_left_over(&self.attempts);
        let found = self.held.iter().map(|held| async {
            let found = agents.reattach(held).await;
            log.line("Orchestrator", &format!("the agent of {}: {found:?}", held.attempt));
            (held.worker, found)
        });
        let found = futures::future::join_all(found).await;
        let away_ms = clock::now().since(self.last);
        let held = found.into_iter().map(|(worker, found)| signal_of(worker, found, away_ms));
        let starting = self.starting.iter().map(|it| back(*it, away_ms));
        // The writer is gone only if we are shutting down.
        let signals = held.chain(starting).collect();
        let (orders, verdicts): (Vec<_>, Vec<_>) =
            self.orders.into_iter().map(|it| Envelope::command(Actor::Orchestrator, it)).unzip();
        first.send(InitialInputs { at: self.last, signals, orders }).ok();
        for verdict in verdicts {
            if let Err(refused) = verdict.await.unwrap_or(Err(Rejection::ShuttingDown)) {
                log.line("Orchestrator", &format!("the settings were not applied: {refused}"));
            }
        }
    }
}

/// Returns the signal for a found agent. An agent that has exited reports this itself, after its
/// earlier output.
fn signal_of(worker: WorkerId, found: ReattachOutcome, away_ms: u64) -> Signal {
    match found {
        ReattachOutcome::Alive { away } => {
            // The previous orchestrator may have been silent for a while; the shim knows the length
            // of the interruption.
            let alone_ms = u64::try_from(away.as_millis()).unwrap_or(u64::MAX);
            back(worker, away_ms.max(alone_ms))
        }
        ReattachOutcome::Ended => back(worker, away_ms),
        ReattachOutcome::Lost => Signal::AgentExited { worker, exit: LOST },
    }
}

fn back(worker: WorkerId, away_ms: u64) -> Signal {
    Signal::AgentReattached { worker, away_ms }
}
