//! The simulated world: the orchestrator, which may die at any time, and everything that continues
//! without it.

use crate::{
    agents::Agent,
    broken::hold,
    counters::{Counters, Fault},
    disk::{Died, OpenDisk, Refusal},
    git::Git,
    invariants,
    ledger::Ledger,
    schedule::Theme,
    trace,
};
use pitcrew_kernel::State;
use pitcrew_model::{
    Action, Actor, Approval, Command, Effect, EffectId, EffectResult, Entry, Event, Input,
    InputBody, LandingStatus, Rejection, Rule, Signal, TaskStatus, Timestamp, WorkerId,
};
use pitcrew_store::Journal;
use pitcrew_writer::{Committed, Scope, Subject, Writer, must_retry, over};
use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
};

pub struct World {
    /// Absent while the orchestrator is down.
    pub writer: Option<Writer<OpenDisk>>,
    pub disk: OpenDisk,
    pub now: Timestamp,
    /// When the standing rules were last applied. A rejection applies none.
    pub settled_at: Timestamp,
    /// Inputs that were sent and not yet processed.
    pub inbox: Vec<PendingInput>,
    /// Effects that drivers are carrying out.
    pub running: BTreeMap<EffectId, Running>,
    /// Results of drivers, to be repeated later.
    pub results_sent: Vec<(EffectId, EffectResult)>,
    /// The last command of a person.
    pub last_command: Option<Command>,
    pub git: Git,
    pub agents: BTreeMap<WorkerId, Agent>,
    pub ledger: Ledger,
    /// Acknowledged entries.
    pub acknowledged: u64,
    pub tasks_accepted: usize,
    pub slots_before: u32,
    pub processes_before: u32,
    pub counters: Counters,
    pub trace: Option<Vec<String>>,
    pub theme: Theme,
    pub faults_one_in: u64,
    /// All providers are at a limit, forever.
    pub is_dry: bool,
    /// The commits of the repository are signed by a person.
    pub signs: bool,
    /// No provider can be reached, forever.
    pub is_offline: bool,
}

#[derive(Clone, Debug)]
pub struct PendingInput {
    pub actor: Actor,
    pub body: InputBody,
}

#[derive(Debug)]
pub struct Running {
    pub effect: Effect,
    /// Its scope has ended.
    pub cut: bool,
}

impl World {
    pub fn new(theme: Theme, faults_one_in: u64, trace: bool) -> Self {
        let disk = OpenDisk::strict();
        let writer = Writer::open(disk.clone(), |_| {}).expect("an empty disk reads");
        Self {
            writer: Some(writer),
            disk,
            now: Timestamp(100_000_000),
            settled_at: Timestamp(0),
            inbox: Vec::new(),
            running: BTreeMap::new(),
            results_sent: Vec::new(),
            last_command: None,
            git: Git::default(),
            agents: BTreeMap::new(),
            ledger: Ledger::default(),
            acknowledged: 0,
            tasks_accepted: 0,
            slots_before: 0,
            processes_before: 0,
            counters: Counters::default(),
            trace: trace.then(Vec::new),
            theme,
            faults_one_in,
            is_dry: false,
            signs: false,
            is_offline: false,
        }
    }

    pub fn state(&self) -> &State {
        self.writer.as_ref().expect("the orchestrator is up").state()
    }

    pub fn line(&mut self, line: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.push(line());
        }
    }

    pub fn say(&mut self, actor: Actor, body: InputBody) {
        self.inbox.push(PendingInput { actor, body });
    }

    pub fn signal(&mut self, signal: Signal) {
        self.say(Actor::Orchestrator, InputBody::Signal(signal));
    }

    pub fn tell(&mut self, effect: EffectId, result: EffectResult) {
        self.results_sent.push((effect, result.clone()));
        self.signal(Signal::EffectEnded { effect, result });
    }

    /// The writer processes all inputs in one transaction. It may die meanwhile.
    pub fn flush(&mut self) {
        let said = std::mem::take(&mut self.inbox);
        if said.is_empty() {
            return;
        }
        self.counters.steps += 1;
        if said.len() > 1 {
            self.counters.count(Fault::SharedAppend);
        }
        for it in &said {
            self.line(|| format!("> {}", trace::said(it)));
        }
        let (at, before) = (self.now, self.ledger.seq);
        let input = |it: &PendingInput| Input { at, actor: it.actor, body: it.body.clone() };
        let inputs: Vec<Input> = said.iter().map(input).collect();
        self.slots_before = invariants::slots_used(self.state()).max(self.state().agents_max);
        self.processes_before =
            invariants::processes(self.state()).max(self.state().agents_live_max);
        let refusals = self.disk.lock().refusals;
        let writer = self.writer.as_mut().expect("the orchestrator is up");
        match catch_unwind(AssertUnwindSafe(|| writer.commit(&inputs))) {
            Ok(committed) => self.committed(said, &committed, before, refusals.1),
            Err(thrown) if thrown.is::<Died>() => {
                self.count_lost(&said);
                self.die();
            }
            Err(panic) => resume_unwind(panic),
        }
    }

    fn committed(
        &mut self,
        said: Vec<PendingInput>,
        done: &Committed,
        before: u64,
        refusal: Refusal,
    ) {
        self.counters.events += done.entries.len() as u64;
        self.raise_limits(&done.entries);
        self.check_durable(done, before);
        for (said, verdict) in said.iter().zip(&done.verdicts) {
            match verdict {
                Ok(range) => {
                    self.acknowledged = self.acknowledged.max(before + range.end as u64);
                    self.settled_at = self.now;
                    self.accepted(said, &done.entries[range.clone()]);
                }
                Err(rejection) => self.rejected(said, rejection),
            }
        }
        self.see(&done.entries, &done.effects);
        self.order(&done.entries, &done.effects);
        invariants::check(self);
        if !done.is_stored {
            self.counters.count(match refusal {
                Refusal::Full => Fault::DiskFull,
                Refusal::ReadOnly => Fault::DiskReadOnly,
                Refusal::Busy => Fault::DiskBusy,
            });
            self.line(|| "       the disk takes nothing".into());
            self.retry_inputs(said);
        }
    }

    /// Keeps the inputs that drivers send only once until there is room.
    fn retry_inputs(&mut self, said: Vec<PendingInput>) {
        self.inbox = said.into_iter().filter(|it| must_retry(&it.body)).collect();
    }

    /// Checks that acknowledged entries are on the disk, and published effects too.
    fn check_durable(&self, done: &Committed, before: u64) {
        let last = self.disk.last().expect("the disk reads").0;
        let acknowledged = before + done.entries.len() as u64;
        hold!(
            last == acknowledged,
            "acknowledged means durable",
            "{acknowledged} are acknowledged, {last} are on disk"
        );
        hold!(self.state().seq.0 == last, "the state is what is on disk", "{}", self.state().seq);
        let stored = self.disk.read(pitcrew_model::Seq(before), usize::MAX);
        let same = stored.expect("the disk reads") == done.entries;
        hold!(same, "acknowledged means durable", "the entries after {before} differ");
        let disk = self.disk.lock();
        for effect in &done.effects {
            hold!(
                disk.open.contains(&effect.0),
                "an effect is announced before it goes out",
                "{}",
                effect.0
            );
        }
        if !done.is_stored {
            let refused = |it: &Result<_, _>| matches!(it, Err(Rejection::JournalFull { .. }));
            let all = done.verdicts.iter().all(refused);
            hold!(all, "what is not stored is refused", "a full disk accepts");
        }
    }

    fn accepted(&mut self, said: &PendingInput, entries: &[Entry]) {
        let InputBody::Command(command) = &said.body else { return };
        if let Command::LandPlan { approval, .. } = command {
            self.check_landing(said.actor, *approval, entries);
        }
        let undoes =
            |it: &Entry| matches!(it.event, Event::LandingMoved { to: LandingStatus::Undoing, .. });
        let is_persons =
            matches!(command, Command::UndoLanding { .. }) && said.actor == Actor::Person;
        let early = !is_persons && entries.iter().any(undoes);
        hold!(!early, "only a person undoes a landing", "after {}", self.ledger.seq);
        if let Command::CreatePlan(it) = command {
            self.tasks_accepted += it.spec.tasks.len();
            let opened = entries.iter().any(|it| matches!(it.event, Event::PlanOpened { .. }));
            let asks = self.ledger.matrix.rule(&Action::PlanExecution) == Rule::AskUser;
            let agreed = it.approval == Approval::Given || !asks;
            hold!(
                agreed || !opened,
                "a plan runs when a person agreed",
                "after {}",
                self.ledger.seq
            );
        }
    }

    /// Checks that a person approved the landing. A retried landing was approved before.
    fn check_landing(&self, actor: Actor, approval: Approval, entries: &[Entry]) {
        let agreed_before = |it: LandingStatus| {
            matches!(
                it,
                LandingStatus::Conflict | LandingStatus::SideBranch | LandingStatus::Signing
            )
        };
        let merges = |it: &Entry| matches!(it.event, Event::LandingMoved { from, to: LandingStatus::Merging, .. } if !agreed_before(from));
        let asks = self.ledger.matrix.rule(&Action::BranchMerge) == Rule::AskUser;
        let agreed = approval == Approval::Given && actor == Actor::Person || !asks;
        let early = !agreed && entries.iter().any(merges);
        hold!(!early, "a plan is landed when a person agreed", "after {}", self.ledger.seq);
    }

    fn rejected(&mut self, said: &PendingInput, rejection: &Rejection) {
        if matches!(said.body, InputBody::Command(_)) {
            self.counters.count(Fault::Refused);
        }
        self.line(|| format!("       rejected: {rejection}"));
    }

    /// Tracks the highest limits, because running workers may exceed a lowered limit, even within
    /// one batch.
    fn raise_limits(&mut self, entries: &[Entry]) {
        for entry in entries {
            if let Event::AgentsMaxSet { count } = entry.event {
                self.slots_before = self.slots_before.max(count);
            } else if let Event::SettingsApplied { agents_live_max, .. } = entry.event {
                self.processes_before = self.processes_before.max(agents_live_max);
            }
        }
    }

    /// Checks each entry with its effect.
    pub fn see(&mut self, entries: &[Entry], effects: &[(EffectId, Effect)]) {
        let mut effects = effects.iter().peekable();
        for entry in entries {
            self.line(|| format!("    {}", trace::entry(entry)));
            let effect = effects.next_if(|it| it.0.0 == entry.seq.0).map(|it| &it.1);
            self.ledger.see(entry, effect);
            self.check_against_git(entry);
        }
        hold!(effects.next().is_none(), "every effect has its event", "after {}", self.ledger.seq);
    }

    /// Checks that the journal describes what happened in the world.
    fn check_against_git(&self, entry: &Entry) {
        if let Event::TaskMoved { task, to: TaskStatus::Completed, .. } = &entry.event {
            let plan = self.ledger.tasks[usize::try_from(task.0).expect("ids fit") - 1].plan;
            let integrated =
                self.git.plans.get(&plan).is_some_and(|it| it.integrated.contains(task));
            let is_part =
                self.ledger.tasks[usize::try_from(task.0).expect("ids fit") - 1].part.is_some();
            hold!(
                integrated || is_part,
                "completed means integrated",
                "{task} is not in the branch"
            );
            hold!(
                !(integrated && is_part),
                "a sub-task is never merged",
                "{task} is in the branch"
            );
        } else if let Event::AttemptOpened { task, .. } = &entry.event {
            let row = &self.ledger.tasks[usize::try_from(task.0).expect("ids fit") - 1];
            let branch = self.git.plans.get(&row.plan);
            let there = |it| branch.is_some_and(|branch| branch.integrated.contains(it));
            let all = row.depends_on.iter().all(there);
            hold!(all, "dependents start after integration", "{task}");
        }
    }

    /// Passes durable effects to the drivers, in order.
    pub fn order(&mut self, entries: &[Entry], effects: &[(EffectId, Effect)]) {
        let mut effects = effects.iter().peekable();
        for entry in entries {
            if let Some(scope) = over(&entry.event) {
                self.cut(scope);
            }
            if let Some((id, effect)) = effects.next_if(|it| it.0.0 == entry.seq.0) {
                self.begin(*id, effect.clone());
            }
        }
    }

    pub fn begin(&mut self, id: EffectId, effect: Effect) {
        let announced = self.ledger.open.contains_key(&id);
        hold!(announced, "an effect is announced before it goes out", "{id}");
        let before = self.running.insert(id, Running { effect, cut: false });
        hold!(before.is_none(), "an effect goes out once", "{id}");
    }

    pub fn cut(&mut self, scope: Scope) {
        for running in self.running.values_mut() {
            if scope.cuts(Subject::of(&running.effect).may_be_cut_with()) {
                running.cut = true;
            }
        }
        if let Scope::Attempt(attempt) = scope {
            // A running start is no longer needed.
            let started = self.agents.values_mut().filter(|it| it.attempt == attempt && !it.alive);
            started.for_each(|it| it.stopped = true);
        }
    }

    pub fn count_lost(&mut self, said: &[PendingInput]) {
        for it in said {
            if matches!(it.body, InputBody::Signal(Signal::EffectEnded { .. })) {
                self.counters.count(Fault::ResultLost);
            }
        }
    }
}
