//! The driver of agents.

use super::{
    Mood,
    failures::{exited, failed, gone},
};
use crate::{agents::Agent, broken::hold, counters::Fault, dice::Dice, words::until, world::World};
use pitcrew_model::{
    AttemptId, EffectId, EffectResult, ErrorCause, Exit, Failure, Signal, StopReason, Usage,
    WorkerId,
};
use pitcrew_writer::LOST;

impl World {
    fn agent(&mut self, worker: WorkerId, attempt: AttemptId) -> &mut Agent {
        self.agents.entry(worker).or_insert_with(|| Agent::new(attempt))
    }

    pub(super) fn start_agent(
        &mut self,
        worker: WorkerId,
        attempt: AttemptId,
        dice: &mut Dice,
        fails: bool,
    ) -> EffectResult {
        let there = self.git.checkouts.get(&attempt).is_some_and(|it| it.there);
        let now = self.now;
        let agent = self.agent(worker, attempt);
        if agent.alive {
            // It was started before, and the result was lost.
            return ready(worker);
        }
        if agent.stopped {
            self.counters.count(Fault::Cut);
            return failed(attempt, Failure::Cancelled { by: "orchestrator".into() });
        }
        hold!(there, "an agent starts in a checkout", "{worker}");
        if fails {
            self.counters.count(Fault::AgentUnstarted);
            let text = String::new();
            return failed(
                attempt,
                match dice.below(6) {
                    0 if dice.one_in(3) => {
                        Failure::ModelMissing { agent: text.clone(), message: text }
                    }
                    0 => Failure::AgentMissing { program: text.clone(), message: text },
                    1 => Failure::Protocol { message: text },
                    2 if dice.one_in(2) => Failure::Auth { message: text },
                    3 if dice.one_in(2) => Failure::Unreachable { message: text },
                    2 | 3 => Failure::Quota { until: until(dice, now), message: text },
                    _ => gone(),
                },
            );
        }
        agent.alive = true;
        ready(worker)
    }

    /// Delivers the prompt once, even if the effect is repeated. Then the agent takes its time.
    pub(super) fn prompt(
        &mut self,
        id: EffectId,
        worker: WorkerId,
        dice: &mut Dice,
        mood: Mood,
    ) -> Option<EffectResult> {
        let agent = self.agents.get_mut(&worker)?;
        if let Some((stop, usage)) = agent.ended.get(&id) {
            return Some(turn_ended(worker, stop.clone(), *usage));
        }
        if !agent.alive {
            let attempt = agent.attempt;
            return Some(if dice.one_in(2) {
                failed(attempt, gone())
            } else {
                turn_ended(
                    worker,
                    StopReason::Error {
                        cause: ErrorCause::Other,
                        message: "the agent is gone".into(),
                    },
                    Usage::NONE,
                )
            });
        }
        match agent.turn {
            None => {
                agent.turn = Some(id);
                None
            }
            Some(turn) if turn == id => {
                self.go_on(worker, dice, mood);
                None
            }
            Some(turn) => {
                hold!(false, "a worker has one turn at a time", "{worker}: {id} in {turn}");
                None
            }
        }
    }

    pub(super) fn answer_permission(
        &mut self,
        worker: WorkerId,
        call: &str,
        option: Option<&String>,
    ) -> EffectResult {
        if let Some(agent) = self.agents.get_mut(&worker).filter(|it| it.alive) {
            agent.calls.retain(|it| it.0 != call);
            let before = agent.answers.insert(call.to_owned(), option.cloned());
            let same = before.is_none_or(|it| it.as_ref() == option);
            hold!(same, "a call is answered once", "{call} of {worker}");
        }
        EffectResult::PermissionAnswered { worker }
    }

    /// Stops an agent that ignores the interruption.
    pub(super) fn interrupt(
        &mut self,
        id: EffectId,
        worker: WorkerId,
        dice: &mut Dice,
        fails: bool,
    ) -> EffectResult {
        let agent = self.agents.get_mut(&worker).filter(|it| it.turn.is_some_and(|it| it < id));
        if let Some(agent) = agent {
            if fails {
                agent.die();
                self.counters.count(Fault::AgentIgnores);
                let exit = Exit { code: None, signal: Some(15), stderr: String::new() };
                self.signal(Signal::AgentExited { worker, exit });
            } else {
                let error =
                    StopReason::Error { cause: ErrorCause::Other, message: "interrupted".into() };
                agent.end_turn(if dice.one_in(4) { error } else { StopReason::Cancelled });
            }
        }
        EffectResult::TurnInterrupted { worker }
    }

    pub(super) fn stop_agent(&mut self, worker: WorkerId) -> EffectResult {
        let attempt = self.ledger.worker(worker).attempt;
        let agent = self.agent(worker, attempt);
        agent.stopped = true;
        let exit = if agent.alive { exited(0) } else { LOST };
        agent.die();
        EffectResult::AgentStopped { worker, exit }
    }
}

fn ready(worker: WorkerId) -> EffectResult {
    EffectResult::AgentReady { worker, agent: "agent".into(), session: "session".into() }
}

fn turn_ended(worker: WorkerId, stop: StopReason, usage: Usage) -> EffectResult {
    // An agent without usage said nothing.
    let last_words = if usage.tokens_out % 2 == 1 { "struct One".into() } else { String::new() };
    EffectResult::TurnEnded { worker, stop, usage, last_words }
}
