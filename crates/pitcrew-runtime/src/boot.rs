//! Going on after a stop, a crash or a kill: what is open is ordered again, and before anything of
//! it begins, what was lost is told.

use crate::{
    Handle,
    drivers::{Agents, LOST},
    log::Log,
    reissue::Reissue,
};
use pitcrew_config::Settings;
use pitcrew_kernel::State;
use pitcrew_model::{Actor, AttemptId, Command, Signal, WorkerId};

/// What has to be done before the drivers begin.
pub struct Boot {
    /// Workers whose agents went down with the last orchestrator.
    lost: Vec<(WorkerId, AttemptId)>,
    settings: Command,
}

impl Boot {
    pub fn new(state: &State, reissue: &Reissue, settings: &Settings) -> Self {
        // One that was still being started is started again instead.
        let lost = state.live_workers().filter(|it| !reissue.is_starting(it.id));
        let settings = Command::ApplySettings {
            agents_max: settings.max_agents,
            agents_live_max: settings.max_live_agents,
        };
        Self { lost: lost.map(|it| (it.id, it.attempt)).collect(), settings }
    }

    /// Tells what was lost. To be called before anybody else can say anything: a deadline that
    /// passed while nobody was there is not the agent's fault.
    pub fn tell_losses(&self, handle: &Handle) {
        for (worker, _) in &self.lost {
            handle.signal_first(Signal::AgentExited { worker: *worker, exit: LOST });
        }
    }

    /// Lets the drivers begin when it returns.
    pub async fn run(self, handle: &Handle, agents: &Agents, log: &Log) {
        // What the drivers save first must not change any more.
        let left_over = self.lost.iter().map(|(_, attempt)| agents.end_left_over(*attempt));
        futures::future::join_all(left_over).await;
        if let Err(refused) = handle.command(Actor::Orchestrator, self.settings).await {
            log.line("Orchestrator", &format!("the limits stay as they were: {refused}"));
        }
    }
}
