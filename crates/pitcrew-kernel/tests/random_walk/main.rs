//! Random inputs, legal and illegal, in any order: the kernel keeps its invariants and never gets stuck.
//!
//! A seed is a test. A walk that fails says how to walk it again.

mod dice;
mod world;
mod chance;
mod drivers;
mod invariants;
mod ending;
mod crowd;

use dice::Dice;
use pitcrew_model::{
    Entry, Event, LandingStatus, PlanStatus, RequestStatus, Signal, TaskStatus, WorkerId,
    WorkerStatus,
};
use std::collections::BTreeSet;
use world::World;

const WALKS: u64 = 250;
const STEPS: u32 = 300;

/// Says how to repeat the walk when it panics.
struct Seed(u64);

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let seed = self.0;
            eprintln!(
                "rerun: PITCREW_WALK_SEED={seed} cargo test -p pitcrew-kernel --test random_walk"
            );
        }
    }
}

fn walk(seed: u64) -> World {
    let _seed = Seed(seed);
    let mut dice = Dice::new(seed);
    let mut world = World::new(&mut dice);
    for _ in 0..STEPS {
        let input = chance::input(&mut world, &mut dice);
        world.take(input);
        if dice.one_in(200) {
            lose_every_worker(&mut world);
        }
    }
    ending::settle_down(&mut world);
    ending::land_and_tidy(&mut world);
    world.check_replay();
    world
}

/// The machine went down under the agents.
fn lose_every_worker(world: &mut World) {
    let live: Vec<WorkerId> = world.state.live_workers().map(|it| it.id).collect();
    for worker in live {
        world.signal(Signal::AgentExited { worker, exit: drivers::exit(None) });
    }
}

fn seeds() -> Vec<u64> {
    match std::env::var("PITCREW_WALK_SEED") {
        Ok(seed) => vec![seed.parse().expect("the seed is a number")],
        Err(_) => (0..WALKS).collect(),
    }
}

/// S0-004, S0-018, S0-070, S0-124, S0-126, S0-132, S1-013, S1-054, S2-047, S2-072, S2-073: whatever fails, crashes, comes
/// late or comes twice, every plan comes to its end, with one outcome for each attempt.
#[test]
fn whatever_happens_nothing_is_stuck_and_nothing_is_lost() {
    let mut reached = Reached::default();
    let seeds = seeds();
    let all = seeds.len() > 1;
    for seed in seeds {
        reached.note(&walk(seed).entries);
    }
    if all {
        reached.check();
    }
}

/// The states that some walk came by: a walk that goes nowhere proves nothing.
#[derive(Default)]
struct Reached {
    plans: BTreeSet<PlanStatus>,
    tasks: BTreeSet<TaskStatus>,
    workers: BTreeSet<WorkerStatus>,
    requests: BTreeSet<RequestStatus>,
    landings: BTreeSet<LandingStatus>,
}

impl Reached {
    fn note(&mut self, entries: &[Entry]) {
        for entry in entries {
            if let Event::PlanMoved { from, to, .. } = &entry.event {
                self.plans.extend([*from, *to]);
            } else if let Event::TaskMoved { from, to, .. } = &entry.event {
                self.tasks.extend([*from, *to]);
            } else if let Event::WorkerMoved { from, to, .. } = &entry.event {
                self.workers.extend([*from, *to]);
            } else if let Event::RequestMoved { from, to, .. } = &entry.event {
                self.requests.extend([*from, *to]);
            } else if let Event::LandingMoved { from, to, .. } = &entry.event {
                self.landings.extend([*from, *to]);
            }
        }
    }

    fn check(&self) {
        let plans = PlanStatus::ALL.iter().filter(|it| **it != PlanStatus::Clarifying);
        assert!(plans.copied().eq(self.plans.iter().copied()), "{:?}", self.plans);
        assert!(TaskStatus::ALL.iter().eq(&self.tasks), "{:?}", self.tasks);
        assert!(WorkerStatus::ALL.iter().eq(&self.workers), "{:?}", self.workers);
        assert!(RequestStatus::ALL.iter().eq(&self.requests), "{:?}", self.requests);
        let landings = LandingStatus::ALL.iter();
        assert!(landings.copied().eq(self.landings.iter().copied()), "{:?}", self.landings);
    }
}

#[test]
fn the_same_seed_gives_the_same_walk() {
    for seed in 0..4 {
        assert_eq!(walk(seed).entries, walk(seed).entries, "seed {seed}");
    }
}
