//! Going on after a stop, a crash or a kill: agents that worked on are found again, what is open is
//! ordered again, and before anything of it begins, what was lost is told.

use crate::{
    Handle,
    drivers::{Agents, Found, Held, LOST},
    log::Log,
    reissue::Reissue,
};
use pitcrew_config::Settings;
use pitcrew_kernel::State;
use pitcrew_model::{Actor, Command, Signal};
use pitcrew_views::Board;
use std::sync::Arc;
use tokio::sync::oneshot;

/// What has to be done before the drivers begin.
pub struct Boot {
    /// The agents that the last orchestrator had.
    held: Vec<Held>,
    settings: Command,
}

impl Boot {
    pub fn new(state: &State, board: &Board, reissue: &Reissue, settings: &Settings) -> Self {
        // One that was still being started is found by the order to start it.
        let live = state.live_workers().filter(|it| !reissue.is_starting(it.id));
        let held = live.map(|it| Held {
            worker: it.id,
            attempt: it.attempt,
            path: state.attempts[it.attempt].path.clone().unwrap_or_default(),
            prompt: reissue.prompt_of(it.id),
            note: board.worker(it.id).and_then(|it| Some(it.activity.as_ref()?.note.clone())),
        });
        let settings = Command::ApplySettings {
            agents_max: settings.max_agents,
            agents_live_max: settings.max_live_agents,
        };
        Self { held: held.collect(), settings }
    }

    /// Lets the drivers begin when it returns.
    ///
    /// What became of the agents is the first thing that the writer hears: a deadline that passed
    /// while nobody was there must not come before it.
    pub async fn run(
        self,
        handle: &Handle,
        first: oneshot::Sender<Vec<Signal>>,
        agents: &Arc<Agents>,
        log: &Log,
    ) {
        let found = self.held.iter().map(|held| async {
            let found = agents.reattach(held).await;
            log.line("Orchestrator", &format!("the agent of {}: {found:?}", held.attempt));
            told(held, found)
        });
        let signals = futures::future::join_all(found).await.into_iter().flatten().collect();
        // The writer is gone only where we are about to end.
        first.send(signals).ok();
        if let Err(refused) = handle.command(Actor::Orchestrator, self.settings).await {
            log.line("Orchestrator", &format!("the limits stay as they were: {refused}"));
        }
    }
}

fn told(held: &Held, found: Found) -> Option<Signal> {
    let worker = held.worker;
    match found {
        Found::Alive { away } => {
            let away_ms = u64::try_from(away.as_millis()).unwrap_or(u64::MAX);
            Some(Signal::AgentReattached { worker, away_ms })
        }
        // It tells its end itself, after what it said before.
        Found::Ended => None,
        Found::Lost => Some(Signal::AgentExited { worker, exit: LOST }),
    }
}
