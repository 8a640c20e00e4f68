//! Ends the agent: asks it to end, kills it, verifies the end, and records it.

use super::{Phase, Service};
use crate::{
    Tier, confine,
    poll::Step,
    shim::{
        exit::{self, ExitRecord},
        reaper::Reaped,
        wire::Report,
    },
    tree,
};
use pitcrew_model::{Exit, limits::STOP_GRACE_MS};
use rustix::process::{Pid, Signal, WaitStatus, kill_process_group};
use std::{
    io,
    time::{Duration, Instant},
};

/// The interval between two checks for processes that are ending.
const LOOK_AGAIN_MS: u64 = 20;
/// The interval between two checks of whether all processes in a box have halted.
const HALT_MS: u64 = 1;
/// How many checks in a row must confirm it.
const HALTED_LOOKS: u32 = 2;

impl Service {
    /// Moves to the next phase if it is due.
    pub(super) fn settle(&mut self) {
        self.end_if_too_many_processes();
        let now = Instant::now();
        match self.phase {
            Phase::Serving if self.ended.is_some() => self.finish(),
            Phase::Serving if self.client.is_none() && now >= self.lease_ends => {
                self.stderr.note("no client reconnected within the lease");
                self.start_ending(STOP_GRACE_MS);
            }
            Phase::Serving if self.silent_until.is_some_and(|it| now >= it) => {
                self.stderr.note("the agent closed its output and lived on");
                self.ask_to_end(now + Duration::from_millis(STOP_GRACE_MS));
            }
            Phase::Ending { kill_at } if self.ended.is_some() || now >= kill_at => self.finish(),
            Phase::Serving | Phase::Ending { .. } | Phase::Over => {}
        }
    }

    /// Ends an agent that has started more processes than allowed.
    fn end_if_too_many_processes(&mut self) {
        if matches!(self.phase, Phase::Over) {
            return;
        }
        let exceeded = self.process_counter.as_mut().and_then(|it| it.exceeded(self.own.pid));
        if let Some(words) = exceeded {
            self.stderr.note(&words);
            // When the first process of a box ends, all others end too, however fast they fork.
            self.agent.id.signal(Signal::KILL).ok();
            self.finish();
        }
    }

    /// Asks all processes of the tree to end. The rest are killed after the grace period.
    pub(super) fn start_ending(&mut self, grace_ms: u64) {
        let kill_at = Instant::now() + Duration::from_millis(grace_ms);
        match &mut self.phase {
            Phase::Serving => {
                self.ordered = true;
                self.ask_to_end(kill_at);
            }
            Phase::Ending { kill_at: before } => *before = kill_at.min(*before),
            Phase::Over => {}
        }
    }

    fn ask_to_end(&mut self, kill_at: Instant) {
        self.phase = Phase::Ending { kill_at };
        if Instant::now() >= kill_at {
            return;
        }
        // Ending the first process of a box ends all of its processes at once, without a grace
        // period.
        let holder = match self.spec.policy.tier {
            Tier::T1 | Tier::T2 => None,
            Tier::T3 => Some(self.agent.id),
        };
        let group = if holder.is_none() { self.signal_group(Signal::TERM) } else { None };
        tree::descendants(self.own.pid, &mut |it| {
            if Some(it.group) != group && Some(it.id) != holder {
                it.id.signal(Signal::TERM).ok();
            }
        });
    }

    /// Signals the agent's process group and returns its id. Does nothing if the agent has ended,
    /// because the id may have been reused.
    fn signal_group(&self, signal: Signal) -> Option<i32> {
        let group = Pid::from_raw(self.agent.id.pid).filter(|_| self.agent.id.is_alive())?;
        kill_process_group(group, signal).ok()?;
        Some(self.agent.id.pid)
    }

    /// Kills the remaining processes, verifies that none is left, and records how the agent ended.
    pub(super) fn finish(&mut self) {
        // Done at once, because the processes may use all CPU time. When the first process of a box
        // ends, the kernel ends all others in it, so no search is needed.
        let mut is_ending = match self.spec.policy.tier {
            Tier::T1 | Tier::T2 => {
                self.signal_group(Signal::STOP);
                false
            }
            Tier::T3 => {
                self.agent.id.signal(Signal::KILL).ok();
                true
            }
        };
        // This is one of our processes, and it may have to write its remaining counts first.
        self.agent.outlet = None;
        if is_ending && self.has_halted() {
            self.report_halt();
        }
        loop {
            if !is_ending {
                tree::end(|see| tree::descendants(self.own.pid, see), None);
            }
            match self.agent.reaper.next(Duration::from_millis(LOOK_AGAIN_MS)) {
                Some(Reaped::Agent(status)) => self.ended = Some(status),
                Some(Reaped::All) => break,
                None => is_ending = false,
            }
        }
        self.drain();
        self.phase = Phase::Over;
        let record = self.record();
        if let Err(error) = exit::write(&self.spec.dir, &record) {
            eprintln!("pitcrew shim: failed to write the exit record: {error}");
        }
        self.exit = Some(record);
        self.report_exit();
    }

    /// Waits briefly until no process in the killed box runs any more. Freeing the memory of a
    /// large agent takes several times as long.
    fn has_halted(&mut self) -> bool {
        let until = Instant::now() + Duration::from_millis(LOOK_AGAIN_MS);
        let mut looks = 0;
        while looks < HALTED_LOOKS && Instant::now() < until {
            match self.agent.reaper.next(Duration::from_millis(HALT_MS)) {
                Some(Reaped::Agent(status)) => self.ended = Some(status),
                // The final message of the reaper. It is received again later.
                Some(Reaped::All) => return false,
                None if tree::has_halted(self.own.pid) => looks += 1,
                None => looks = 0,
            }
        }
        looks == HALTED_LOOKS
    }

    fn record(&mut self) -> ExitRecord {
        let status = self.ended;
        let code = status.and_then(WaitStatus::exit_status);
        let signal = status.and_then(WaitStatus::terminating_signal);
        let (code, signal) = confine::decode_exit(&self.spec.policy, code, signal);
        let exit = Exit { code, signal, stderr: self.stderr.tail() };
        ExitRecord { exit, ordered: self.ordered }
    }

    /// Tells the client, if one is connected. Errors are handled at the end.
    fn report_halt(&mut self) {
        self.drain();
        let halted = Report::Halted(self.record());
        if let Some(client) = &mut self.client {
            client.send_last(&halted);
            client.deliver(&self.spool).ok();
        }
    }

    /// Reads what the ended processes have left in the pipes.
    fn drain(&mut self) {
        if let Err(error) = self.take_rest() {
            self.stderr.note(&format!("the last output is lost: {error}"));
        }
    }

    fn take_rest(&mut self) -> io::Result<()> {
        self.agent.stdin = None;
        while let Step::Moved(_) = self.agent.take_stderr(|bytes| self.stderr.push(bytes)) {}
        self.agent.stderr = None;
        while let Step::Moved(_) = self.agent.take_stdout(&mut self.spool)? {}
        self.agent.close_stdout(&mut self.spool)
    }
}
