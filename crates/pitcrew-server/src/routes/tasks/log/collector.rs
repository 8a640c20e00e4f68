//! Follows the attempts of a task and collects their log lines.

use super::{
    LogEntry, TaskNow,
    merge::{Call, Merge, Phase, Until},
    steps,
    talk::{Growth, Talk},
};
use crate::serve::Doors;
use pitcrew_model::{AttemptId, EffectResult, Entry, Event, Seq, WorkerId};
use pitcrew_runtime::ReadError;

/// Entries read at a time.
const READ_BATCH: usize = 256;

/// The progress, and the lines that were not sent yet.
#[derive(Default)]
pub struct Collector {
    /// The last entry that was read, if any.
    after: Option<Seq>,
    attempts: Vec<Attempt>,
}

struct Attempt {
    id: AttemptId,
    worker: WorkerId,
    agent: Agent,
    has_ended: bool,
    /// The position in the journal.
    phase: Phase,
    talk: Talk,
    merge: Merge,
}

/// The state of an attempt's agent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Agent {
    Coming,
    Ready,
    /// The agent was asked to end and may still send output.
    Stopping,
    Gone,
}

impl Collector {
    pub fn read(
        &mut self,
        doors: &Doors,
        look: &TaskNow,
        until: Until,
    ) -> Result<Vec<(AttemptId, LogEntry)>, ReadError> {
        self.take_entries(doors, look)?;
        let newest = self.attempts.len().saturating_sub(1);
        let mut all = Vec::new();
        for (index, attempt) in self.attempts.iter_mut().enumerate() {
            // A newer attempt starts when the previous one is saved.
            let is_over = index < newest || attempt.is_over() || look.task.status.has_ended();
            let growth = if is_over { Growth::Over } else { Growth::Grows };
            let said = attempt.tell(doors, growth, until);
            all.extend(said.into_iter().map(|it| (attempt.id, it)));
        }
        Ok(all)
    }

    fn take_entries(&mut self, doors: &Doors, look: &TaskNow) -> Result<(), ReadError> {
        let Some(first) = look.task.attempts.first() else { return Ok(()) };
        let mut after = self.after.unwrap_or(Seq(first.opened.0.saturating_sub(1)));
        loop {
            let entries = doors.orchestrator.entries(after, READ_BATCH)?;
            let views = doors.orchestrator.handle().views();
            for entry in &entries {
                after = entry.seq;
                self.note(entry, look);
                for (whose, said) in steps::say(&views.board, entry, look) {
                    self.keep(&whose, steps::call(&entry.event), said);
                }
            }
            self.after = Some(after);
            if entries.len() < READ_BATCH {
                return Ok(());
            }
        }
    }

    /// Tracks the states of the task's attempts.
    fn note(&mut self, entry: &Entry, look: &TaskNow) {
        let event = &entry.event;
        if let Event::AttemptOpened { attempt, task, worker, .. } = event
            && *task == look.task.id
        {
            self.attempts.push(Attempt::new(*attempt, *worker));
        } else if let Event::AttemptEnded { attempt, .. } = event {
            if let Some(ended) = self.attempts.iter_mut().find(|it| it.id == *attempt) {
                ended.has_ended = true;
            }
        } else if let Event::TurnOpened { worker, .. } = event {
            self.with_worker(*worker, |it| it.phase.turn_begins());
        } else if let Event::StopAsked { worker } = event {
            self.set_agent(*worker, Agent::Stopping);
        } else if let Event::AgentExited { worker, .. } = event {
            self.set_agent(*worker, Agent::Gone);
        } else if let Event::EffectEnded { result, .. } = event {
            if let EffectResult::AgentReady { worker, .. } = result {
                self.set_agent(*worker, Agent::Ready);
            } else if let EffectResult::TurnEnded { worker, .. } = result {
                self.with_worker(*worker, |it| it.phase.turn_ends());
            } else if let EffectResult::AgentStopped { worker, .. } = result {
                self.set_agent(*worker, Agent::Gone);
            }
        }
    }

    fn set_agent(&mut self, worker: WorkerId, agent: Agent) {
        self.with_worker(worker, |it| it.agent = agent);
    }

    fn with_worker(&mut self, worker: WorkerId, change: impl FnOnce(&mut Attempt)) {
        if let Some(attempt) = self.attempts.iter_mut().find(|it| it.worker == worker) {
            change(attempt);
        }
    }

    fn keep(&mut self, whose: &steps::Whose, call: Call, said: LogEntry) {
        let attempt = match whose {
            steps::Whose::Attempt(id) => self.attempts.iter_mut().find(|it| it.id == *id),
            steps::Whose::Worker(id) => self.attempts.iter_mut().find(|it| it.worker == *id),
            steps::Whose::Newest => self.attempts.last_mut(),
        };
        if let Some(attempt) = attempt {
            attempt.merge.step(attempt.phase.at(said.at), call, said);
        }
    }
}

impl Attempt {
    fn new(id: AttemptId, worker: WorkerId) -> Self {
        Self {
            id,
            worker,
            agent: Agent::Coming,
            has_ended: false,
            phase: Phase::default(),
            talk: Talk::default(),
            merge: Merge::default(),
        }
    }

    /// Whether the conversation has ended.
    fn is_over(&self) -> bool {
        match self.agent {
            Agent::Gone => true,
            Agent::Coming | Agent::Ready => self.has_ended,
            Agent::Stopping => false,
        }
    }

    fn tell(&mut self, doors: &Doors, growth: Growth, until: Until) -> Vec<LogEntry> {
        let heard = self.talk.read(doors, self.id, growth);
        self.merge.talk(heard.lines, heard.growing);
        let until = match growth {
            Growth::Over => Until::Now,
            Growth::Grows => until,
        };
        self.merge.tell(until)
    }
}
