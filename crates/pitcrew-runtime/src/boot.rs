//! Going on after a stop, a crash or a kill: first what was lost is told, then what is open is
//! ordered again.

use crate::{
    Handle,
    drivers::Agents,
    log::Log,
    turnstile::{Order, Scope},
};
use pitcrew_kernel::State;
use pitcrew_model::{Actor, AttemptId, Command, Effect, EffectId, Exit, Signal, WorkerId};
use std::collections::BTreeSet;
use tokio::sync::mpsc;

/// What has to be done before the drivers begin.
pub struct Boot {
    /// Workers whose agents went down with the last orchestrator.
    lost: Vec<(WorkerId, AttemptId)>,
    open_effects: Vec<(EffectId, Effect)>,
    /// Attempts that ended while their checkouts were being made.
    over: Vec<AttemptId>,
    agents_max: u32,
}

impl Boot {
    pub fn new(state: &State, open_effects: Vec<(EffectId, Effect)>, agents_max: u32) -> Self {
        let (mut starting, mut over) = (BTreeSet::new(), Vec::new());
        for (_, effect) in &open_effects {
            if let Effect::StartAgent { worker, .. } = effect {
                starting.insert(*worker);
            } else if let Effect::PrepareCheckout { attempt, .. } = effect
                && state.attempt(*attempt).is_ok_and(|it| !it.is_open())
            {
                over.push(*attempt);
            }
        }
        // One that was still being started is started again instead.
        let lost = state.live_workers().filter(|it| !starting.contains(&it.id));
        let lost = lost.map(|it| (it.id, it.attempt)).collect();
        Self { lost, open_effects, over, agents_max }
    }

    /// Tells what was lost. To be called before anybody else can say anything: a deadline that
    /// passed while nobody was there is not the agent's fault.
    pub fn tell_losses(&self, handle: &Handle) {
        for (worker, _) in &self.lost {
            let exit = Exit { code: None, signal: None, stderr: String::new() };
            handle.signal_first(Signal::AgentExited { worker: *worker, exit });
        }
    }

    /// Lets the drivers begin when it returns.
    pub async fn run(
        self,
        handle: &Handle,
        agents: &Agents,
        orders: &mpsc::UnboundedSender<Order>,
        log: &Log,
    ) {
        // What the drivers save first must not change any more.
        let left_over = self.lost.iter().map(|(_, attempt)| agents.end_left_over(*attempt));
        futures::future::join_all(left_over).await;
        let command = Command::SetAgentsMax { count: self.agents_max };
        if let Err(refused) = handle.command(Actor::Orchestrator, command).await {
            log.line("Orchestrator", &format!("max_agents stays as it was: {refused}"));
        }
        for (id, effect) in self.open_effects {
            orders.send(Order::Do(id, Box::new(effect))).ok();
        }
        for attempt in self.over {
            orders.send(Order::Over(Scope::Attempt(attempt))).ok();
        }
    }
}
