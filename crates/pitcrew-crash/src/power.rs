//! Cuts the power at points of a recorded run.
//!
//! A real orchestrator runs under a tracer, which records every write and every sync of the journal
//! and of the agents' spools, and every message to the outside. From the record the disk is rebuilt
//! as a power cut could leave it: synced data is there, of the rest some parts, in any order. The
//! product's own code opens the result and must find everything that it acknowledged. Git's data in
//! the vault is not checked.

mod record;
mod trace;
mod disk;
mod truth;

use crate::{arguments::Disk, random::Random};
use disk::Timeline;
use std::{
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Instant,
};

const AT_A_TIME: usize = 2;
/// More failures would add no information.
const SHOWN_MAX: usize = 5;

/// Returns whether the result is as expected: no loss on an honest disk, losses on the other one.
pub fn run(binary: &Path, count: u64, seed: u64, disk: Disk) -> bool {
    println!("{count} cuts of the power from seed {seed}");
    let began = Instant::now();
    let recorded = match record::run(binary) {
        Ok(recorded) => recorded,
        Err(message) => {
            println!("FAILED: {message}");
            return false;
        }
    };
    let mut steps = recorded.steps;
    if disk == Disk::NoSyncAtCommit {
        steps.retain(|it| !it.syncs("journal.db-wal"));
    }
    let timeline = Timeline::new(steps);
    println!("recorded in {:.1} s: {timeline}", began.elapsed().as_secs_f64());
    let began = Instant::now();
    let end = seed + count;
    let (next, failures) = (AtomicU64::new(seed), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                let folder = tempfile::tempdir().expect("a folder");
                loop {
                    let seed = next.fetch_add(1, Ordering::SeqCst);
                    if seed >= end {
                        break;
                    }
                    let mut random = Random::new(seed);
                    let cut = timeline.cut(&mut random);
                    let (what, left) = (cut.to_string(), timeline.after(&cut, &mut random));
                    if let Err(message) = recorded.truth.check(&left, folder.path()) {
                        let place = match disk {
                            Disk::Honest => left.keep().display().to_string(),
                            Disk::NoSyncAtCommit => "not kept".into(),
                        };
                        let acknowledged = format!("seed {seed}, {what}: {message} ({place})");
                        failures.lock().unwrap_or_else(PoisonError::into_inner).push(acknowledged);
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap_or_else(PoisonError::into_inner);
    report(count, &failures, disk, began)
}

fn report(count: u64, failures: &[String], disk: Disk, began: Instant) -> bool {
    let seconds = began.elapsed().as_secs_f64();
    println!("{count} cuts in {seconds:.0} s: {} lost data", failures.len());
    for failure in failures.iter().take(SHOWN_MAX) {
        println!("  {failure}");
    }
    match disk {
        Disk::Honest => {
            if !failures.is_empty() {
                println!("FAILED; a repeated run records a new trace, so examine the kept folder");
            }
            failures.is_empty()
        }
        Disk::NoSyncAtCommit => {
            let found = failures.iter().any(|it| it.contains("was acknowledged"));
            if !found {
                println!("FAILED: a journal without syncs must lose acknowledged entries");
            }
            found
        }
    }
}
