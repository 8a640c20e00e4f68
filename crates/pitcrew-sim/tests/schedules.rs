//! Tests of the simulator: the same seed gives the same run, every fault happens, and a broken
//! invariant is shrunk.

use pitcrew_model::{
    LandingStatus, MessageStatus, PlanStatus, RequestStatus, TaskStatus, WorkerStatus,
};
use pitcrew_sim::{Fault, Schedule, Tracing, run, run_all, shrink};
use std::{num::NonZero, thread};

/// Enough that every fault happens; `cargo xtask sim` runs the other seeds.
const SCHEDULES: u64 = 3_000;

/// S0-004, S0-018, S0-070, S0-124, S0-126, S0-132, S1-013, S2-047, S2-072, S2-073: with any
/// failures, crashes, delays and repetitions, every plan ends, with one outcome for each attempt.
#[test]
fn nothing_is_stuck_and_nothing_is_lost() {
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let summary = run_all(0, SCHEDULES, threads);
    if let Some((seed, broken)) = summary.broken {
        let (invariant, detail) = (broken.invariant, broken.detail);
        panic!("{invariant}: {detail}; see `cargo xtask sim --seed {seed}`");
    }
    assert_eq!(summary.schedules, SCHEDULES);
    for fault in Fault::ALL {
        assert!(summary.counters.of(*fault) > 0, "it never happened: {}", fault.text());
    }
    let reached = summary.counters.reached;
    let bits = |all: usize| (1_u32 << all) - 1;
    let clarifying = 1 << (PlanStatus::Clarifying as u32);
    assert_eq!(reached.plans, bits(PlanStatus::ALL.len()) & !clarifying, "plans");
    assert_eq!(reached.tasks, bits(TaskStatus::ALL.len()), "tasks");
    assert_eq!(reached.workers, bits(WorkerStatus::ALL.len()), "workers");
    assert_eq!(reached.requests, bits(RequestStatus::ALL.len()), "requests");
    assert_eq!(reached.landings, bits(LandingStatus::ALL.len()), "landings");
    assert_eq!(reached.messages, bits(MessageStatus::ALL.len()), "messages");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for seed in 0..40 {
        let schedule = Schedule::from_seed(seed);
        assert_eq!(run(&schedule, Tracing::On), run(&schedule, Tracing::On), "seed {seed}");
        let quiet = run(&schedule, Tracing::Off);
        assert_eq!(quiet.counters, run(&schedule, Tracing::On).counters, "seed {seed}");
    }
}

/// The planted bug: a limit of the simulator that every longer schedule breaks.
#[test]
fn a_broken_invariant_is_shrunk() {
    let schedule = (0..10_000)
        .map(Schedule::from_seed)
        .map(|it| Schedule { completions_max: 2, ..it })
        .find(|it| it.choices.len() > 150 && run(it, Tracing::Off).broken.is_some())
        .expect("some schedule completes three tasks");
    let broken = run(&schedule, Tracing::Off).broken.expect("it breaks");
    let shrunk = shrink(&schedule, &broken);
    let report = run(&shrunk, Tracing::On);
    assert_eq!(report.broken.map(|it| it.invariant), Some(broken.invariant.clone()));
    let (before, after) = (schedule.choices.len(), shrunk.choices.len());
    assert!(after * 3 < before, "{before} choices became {after}");
    let completed = report.trace.iter().filter(|it| it.contains("to=completed"));
    assert!(completed.count() >= 3, "{:#?}", report.trace);
    assert_eq!(shrink(&schedule, &broken), shrunk, "shrinking is not the same twice");
}
