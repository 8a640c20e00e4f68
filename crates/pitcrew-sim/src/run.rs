//! Runs one schedule, or many.

use crate::{
    broken::{Broken, hold},
    counters::{Counters, Fault},
    dice::Dice,
    disk::Refusal,
    drivers::Mood,
    ending,
    ledger::Task,
    people,
    schedule::{Choice, Kind, Schedule, Theme},
    world::World,
};
use pitcrew_kernel::next_due;
use pitcrew_model::{Actor, Command, EffectId, InputBody, QueryLimits, Signal, TaskStatus};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

/// The result of a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    pub broken: Option<Broken>,
    pub counters: Counters,
    /// Empty unless requested.
    pub trace: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tracing {
    Off,
    On,
}

/// Runs a schedule to its end, or to the first broken invariant.
pub fn run(schedule: &Schedule, tracing: Tracing) -> Report {
    let mut world = World::new(schedule.theme, schedule.faults_one_in, tracing == Tracing::On);
    let play = || {
        set_limits(&mut world, schedule.seed);
        for choice in &schedule.choices {
            step(&mut world, *choice);
            check_completions(&world, schedule.completions_max);
        }
        world.counters.tasks_completed = completions(&world) as u64;
        ending::finish(&mut world);
        world.counters.tasks = world.ledger.tasks.len() as u64;
    };
    let broken = catch_unwind(AssertUnwindSafe(play)).err().map(Broken::from_payload);
    let mut counters = std::mem::take(&mut world.counters);
    counters.reached = world.ledger.reached;
    let ledger = &world.ledger;
    let seen = [
        (ledger.timeouts_count, Fault::Timeout),
        (ledger.mail.sent_count, Fault::MessageSent),
        (ledger.mail.back_count, Fault::MessageBack),
        (ledger.mail.dead_count, Fault::MessageDead),
        (ledger.mail.expired_count, Fault::MessageExpired),
        (ledger.mail.cycles_count, Fault::WaitCycle),
        (ledger.caps_warned, Fault::CapWarned),
        (ledger.caps_reached, Fault::CapReached),
        (ledger.caps_raised, Fault::CapRaised),
        (ledger.limits_given_up, Fault::LimitGivenUp),
        (ledger.family.handed_out, Fault::HandedOut),
        (ledger.family.by_clients, Fault::HandedOutByClient),
        (ledger.family.orphaned, Fault::Orphaned),
        (ledger.family.answered, Fault::WaitAnswered),
        (ledger.family.timed_out, Fault::WaitTimedOut),
        (ledger.family.lost, Fault::WaitLost),
        (ledger.family.pulled, Fault::Pulled),
        (ledger.family.told_by_turn, Fault::ToldByTurn),
        (ledger.grants_given, Fault::Granted),
        (ledger.grants_used, Fault::GrantUsed),
        (ledger.expired, Fault::Expired),
        (ledger.bubbling.decided, Fault::ParentDecided),
        (ledger.bubbling.passed_over, Fault::ParentPassed),
        (ledger.bubbling.cut_short, Fault::WaitCut),
        (ledger.queries.counts.parked, Fault::QueryParked),
        (ledger.queries.counts.indexed, Fault::QueryIndexed),
        (ledger.queries.counts.answered, Fault::QueryAnswered),
        (ledger.queries.counts.cached, Fault::QueryCached),
        (ledger.queries.counts.overheard, Fault::QueryOverheard),
        (ledger.queries.counts.late, Fault::QueryLate),
        (ledger.queries.counts.passed_on, Fault::QueryPassedOn),
        (ledger.queries.counts.over_budget, Fault::QueryOverBudget),
        (ledger.queries.counts.timed_out, Fault::QueryTimedOut),
        (ledger.queries.counts.withdrawn, Fault::QueryWithdrawn),
        (ledger.queries.counts.not_available, Fault::QueryNotAvailable),
    ];
    for (count, fault) in seen {
        (0..count).for_each(|_| counters.count(fault));
    }
    Report { broken, counters, trace: world.trace.unwrap_or_default() }
}

fn completions(world: &World) -> usize {
    let completed = |it: &&Task| it.status == TaskStatus::Completed;
    world.ledger.tasks.iter().filter(completed).count()
}

fn check_completions(world: &World, most: usize) {
    if most < usize::MAX {
        let count = completions(world);
        hold!(count <= most, "the simulator is not being tried", "{count} are completed");
    }
}

/// Lowers the limits of some schedules, because few fill twenty slots or reach a provider limit ten
/// times.
fn set_limits(world: &mut World, seed: u64) {
    let mut dice = Dice::new(!seed);
    let agents_max = if world.theme == Theme::Anything { 1 } else { 2 } + dice.small(3);
    let agents_live_max = agents_max + dice.small(4);
    world.is_dry = dice.one_in(16);
    world.signs = dice.one_in(3);
    let (history, sign) = Default::default();
    let limits = Command::ApplySettings { agents_max, agents_live_max, history, sign };
    world.is_offline = dice.one_in(16);
    world.say(Actor::Orchestrator, InputBody::Command(limits));
    let matrix = people::some_matrix(&mut dice);
    world.say(Actor::Orchestrator, InputBody::Command(Command::ApplyMatrix { matrix }));
    if dice.one_in(4) {
        let sandbox = people::some_sandbox(&mut dice);
        world.say(Actor::Orchestrator, InputBody::Command(Command::ApplySandbox { sandbox }));
    }
    let limits = QueryLimits {
        worker_tokens: dice.pick(&[560, 1_100, 2_000]).expect("a number"),
        plan_tokens: dice.pick(&[600, 1_200, 20_000]).expect("a number"),
        deadline_ms: dice.pick(&[100, 2_000, 60_000, 60_000]).expect("a time"),
    };
    world.say(Actor::Orchestrator, InputBody::Command(Command::ApplyQueryLimits { limits }));
    world.flush();
}

fn step(world: &mut World, choice: Choice) {
    let mut dice = Dice::new(choice.roll);
    world.now = world.now.plus(dice.below(20));
    match choice.kind {
        Kind::Plan { tasks_max } => world.hand_in_plan(&mut dice, tasks_max),
        Kind::Driver => {
            let running: Vec<EffectId> = world.running.keys().copied().collect();
            match dice.pick(&running) {
                Some(effect) => world.drive(effect, &mut dice, Mood::Any),
                None if next_due(world.state()).is_some() => pass_time(world),
                None => world.person(&mut dice),
            }
        }
        Kind::Agent => world.anybody_speaks(&mut dice),
        Kind::Exit => world.somebody_dies(&mut dice),
        Kind::Person => world.person(&mut dice),
        Kind::Time => {
            // Mostly a back-off, sometimes the timeout of a worker.
            let soon = next_due(world.state()).is_some_and(|it| it.since(world.now) < 10_000);
            if soon || dice.one_in(6) {
                pass_time(world);
            } else {
                world.now = world.now.plus(dice.below(2_000));
                world.say(Actor::Orchestrator, InputBody::Tick);
            }
        }
        Kind::Clock => {
            world.set_clock(&mut dice);
            let now = world.now;
            world.line(|| format!("> the clock says {now}"));
        }
        Kind::Crash => world.crash(&mut dice),
        Kind::Disk => {
            let how = [Refusal::Full, Refusal::Full, Refusal::ReadOnly, Refusal::Busy];
            let refusals = (1 + dice.small(4), dice.pick(&how).expect("a refusal"));
            world.disk.lock().refusals = refusals;
            world.line(|| {
                format!("> the disk takes nothing {} times: {:?}", refusals.0, refusals.1)
            });
        }
        Kind::Echo => {
            if let Some((effect, result)) = dice.pick(&world.results_sent) {
                world.counters.count(Fault::ResultTwice);
                world.signal(Signal::EffectEnded { effect, result });
            }
        }
    }
    // Inputs that arrive while the writer is busy are one batch.
    if !dice.one_in(4) {
        world.flush();
    }
}

/// Advances the clock to the next due time.
fn pass_time(world: &mut World) {
    let due = next_due(world.state());
    world.now = due.map_or(world.now, |it| it.max(world.now));
    world.say(Actor::Orchestrator, InputBody::Tick);
}

/// The result of many schedules.
#[derive(Debug, Default)]
pub struct Summary {
    pub counters: Counters,
    pub schedules: u64,
    /// The smallest failing seed.
    pub broken: Option<(u64, Broken)>,
}

/// Runs the schedules of all seeds in the range, on all cores, until one fails.
pub fn run_all(first: u64, count: u64, threads: usize) -> Summary {
    let next = AtomicU64::new(first);
    let end = first.saturating_add(count);
    let stop_at = AtomicU64::new(end);
    let summary = Mutex::new(Summary::default());
    let work = || {
        let mut mine = Summary::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= stop_at.load(Ordering::Relaxed) {
                break;
            }
            let report = run(&Schedule::from_seed(seed), Tracing::Off);
            mine.schedules += 1;
            mine.counters.add(&report.counters);
            if let Some(broken) = report.broken {
                stop_at.fetch_min(seed, Ordering::Relaxed);
                mine.broken = Some((seed, broken));
            }
        }
        summary.lock().unwrap_or_else(PoisonError::into_inner).add(mine);
    };
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    summary.into_inner().unwrap_or_else(PoisonError::into_inner)
}

impl Summary {
    fn add(&mut self, other: Self) {
        self.counters.add(&other.counters);
        self.schedules += other.schedules;
        let both = self.broken.take().into_iter().chain(other.broken);
        self.broken = both.min_by_key(|it| it.0);
    }
}
