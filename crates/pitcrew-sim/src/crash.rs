//! The orchestrator dies, and another one continues from the disk.

use crate::{
    broken::hold,
    counters::Fault,
    dice::Dice,
    disk::Death,
    invariants,
    people::{some_matrix, some_sandbox},
    words::permission,
    world::World,
};
use pitcrew_kernel::{State, evolve};
use pitcrew_model::{
    Actor, Command, Effect, EffectId, Entry, InputBody, Seq, Signal, Timestamp, WorkerId,
};
use pitcrew_store::Journal;
use pitcrew_writer::{LOST, Order, Reissue, Subject, Writer, over};
use std::collections::BTreeSet;

const HOUR_MS: u64 = 3_600_000;

impl World {
    /// Dies now, or during the next append.
    pub fn crash(&mut self, dice: &mut Dice) {
        let death = match dice.below(6) {
            0 => {
                self.counters.count(Fault::CrashBetween);
                self.line(|| "> crash".into());
                let said = std::mem::take(&mut self.inbox);
                self.count_lost(&said);
                return self.die();
            }
            1 => (Death::BeforeWriting, Fault::CrashBefore),
            2 => (
                Death::Torn { parts: u8::try_from(dice.below(20)).expect("small") },
                Fault::TornTail,
            ),
            3 => (Death::Unsynced { kept: false }, Fault::UnsyncedLost),
            4 => (Death::Unsynced { kept: true }, Fault::UnsyncedKept),
            _ => (Death::Synced, Fault::CrashAfter),
        };
        self.counters.count(death.1);
        self.line(|| format!("> crash in the next append: {:?}", death.0));
        self.disk.lock().death = Some(death.0);
    }

    /// Drops everything that only the process knew.
    pub fn die(&mut self) {
        self.line(|| "       the orchestrator is dead".into());
        let live = self.writer.take().expect("only what lives dies").state().clone();
        self.inbox.clear();
        self.running.clear();
        self.results_sent.clear();
        self.disk.lock().recover();
        self.boot(live);
    }

    /// `live` is the published state of the dead process.
    fn boot(&mut self, live: State) {
        // The dice of a boot depend only on the disk, so that a boot is the same however it came
        // about.
        let mut dice = Dice::new(self.disk.last().expect("the disk reads").0 ^ self.now.0);
        self.set_clock(&mut dice);
        let open = self.disk.open_effects().expect("the disk reads");
        let mut reissue = Reissue::new(open.clone());
        let mut entries = Vec::new();
        let writer = Writer::open(self.disk.clone(), |entry| {
            reissue.see(entry);
            entries.push(entry.clone());
        });
        let writer = writer.expect("the disk reads");
        self.check_replay(live, writer.state(), &entries);
        let news = usize::try_from(self.ledger.seq).expect("it fits");
        let effects: Vec<(EffectId, Effect)> =
            open.iter().filter(|it| it.0.0 > self.ledger.seq).cloned().collect();
        self.see(&entries[news..], &effects);
        self.writer = Some(writer);
        let lost = self.lost(&mut dice, &reissue);
        self.reissue(reissue, &open, &entries);
        self.line(|| format!("       the next one has {} effects open", open.len()));
        for worker in lost {
            self.signal(Signal::AgentExited { worker, exit: LOST });
        }
        self.ask_again();
        self.flush();
        if self.writer.is_some() {
            let limits = self.settings(&mut dice);
            self.say(Actor::Orchestrator, InputBody::Command(limits));
            if dice.one_in(4) {
                self.counters.count(Fault::MatrixChanged);
                let matrix = some_matrix(&mut dice);
                self.say(Actor::Orchestrator, InputBody::Command(Command::ApplyMatrix { matrix }));
            }
            if dice.one_in(8) {
                self.counters.count(Fault::ConfinementChanged);
                let sandbox = some_sandbox(&mut dice);
                self.say(
                    Actor::Orchestrator,
                    InputBody::Command(Command::ApplySandbox { sandbox }),
                );
            }
            self.flush();
        }
    }

    /// Checks that nothing acknowledged is missing, and that the fold of the journal is the state.
    fn check_replay(&self, live: State, replayed: &State, entries: &[Entry]) {
        let (acknowledged, found) = (self.acknowledged, replayed.seq.0);
        hold!(
            found >= acknowledged,
            "acknowledged means durable",
            "{acknowledged} were acknowledged, {found} are there"
        );
        let mut folded = live;
        for entry in entries.iter().filter(|it| it.seq > folded.seq.max(Seq(0))).collect::<Vec<_>>()
        {
            evolve(&mut folded, entry);
        }
        hold!(folded == *replayed, "replay gives the state", "at {}", replayed.seq);
    }

    /// Returns the agents that died with the orchestrator. One that was starting is started again.
    fn lost(&mut self, dice: &mut Dice, reissue: &Reissue) -> Vec<WorkerId> {
        let live: Vec<WorkerId> = self.state().live_workers().map(|it| it.id).collect();
        let machine_went_down = dice.one_in(3);
        let mut lost = Vec::new();
        for worker in live {
            let agent = self.agents.get_mut(&worker);
            let lives = agent.as_ref().is_some_and(|it| it.alive);
            if lives && !machine_went_down && !dice.one_in(4) {
                self.counters.count(Fault::AgentSurvived);
                self.line(|| format!("       the agent of {worker} lives on"));
                continue;
            }
            if let Some(agent) = agent {
                agent.die();
            }
            if !reissue.is_starting(worker) {
                self.counters.count(Fault::AgentLost);
                lost.push(worker);
            }
        }
        lost
    }

    /// A live agent waits for the answers to its requests: those that were never received, and
    /// those that are being decided.
    fn ask_again(&mut self) {
        let mut asked = Vec::new();
        for worker in self.agents.iter().filter(|it| it.1.alive).map(|it| *it.0) {
            asked.push(Signal::AgentReattached { worker, away_ms: 1_000 });
        }
        for (worker, agent) in self.agents.iter().filter(|it| it.1.alive) {
            for (call, roll) in &agent.calls {
                asked.push(permission(*worker, call.clone(), *roll));
            }
        }
        for signal in asked {
            self.signal(signal);
        }
    }

    /// Repeats the open effects, once each, with their cancellations.
    fn reissue(&mut self, reissue: Reissue, open: &[(EffectId, Effect)], entries: &[Entry]) {
        reissue.send(|order| match order {
            Order::Do(id, effect) => {
                self.counters.count(Fault::DoneTwice);
                self.begin(id, *effect);
            }
            Order::Over(scope) => self.cut(scope),
        });
        let again: BTreeSet<EffectId> = self.running.keys().copied().collect();
        let wanted: BTreeSet<EffectId> = open.iter().map(|it| it.0).collect();
        hold!(again == wanted, "open effects go out again", "{again:?}, not {wanted:?}");
        hold!(again == self.state().effects, "the state knows what is open", "{again:?}");
        for (id, running) in &self.running {
            let scope = Subject::of(&running.effect).may_be_cut_with();
            let later = &entries[usize::try_from(id.0).expect("it fits")..];
            let cuts = |it: &Entry| over(&it.event).is_some_and(|over| over.cuts(scope));
            let cut = later.iter().any(cuts);
            hold!(running.cut == cut, "an effect is cut by what came after it", "{id}");
        }
    }

    fn settings(&mut self, dice: &mut Dice) -> Command {
        let (mut agents_max, mut agents_live_max) = self.state().settings;
        if dice.one_in(6) {
            self.counters.count(Fault::Limited);
            agents_max = 1 + dice.small(4);
            agents_live_max = agents_max + dice.small(4);
        }
        let (history, sign) = Default::default();
        Command::ApplySettings { agents_max, agents_live_max, history, sign }
    }

    /// A new process reads the clock, which may have jumped.
    pub fn set_clock(&mut self, dice: &mut Dice) {
        // Sometimes there is no orchestrator for weeks, so that snapshots get old.
        let by = if dice.one_in(6) { 20 * 24 * HOUR_MS } else { dice.below(HOUR_MS) };
        match dice.below(4) {
            0 => {
                self.counters.count(Fault::ClockBack);
                self.now = Timestamp(self.now.0.saturating_sub(by));
            }
            1 => {
                self.counters.count(Fault::ClockForward);
                self.now = self.now.plus(by);
            }
            _ => self.now = self.now.plus(by / HOUR_MS * 1_000),
        }
    }

    /// One more crash, to check that the last state is on the disk.
    pub fn die_at_the_end(&mut self) {
        self.die();
        invariants::check(self);
    }
}
