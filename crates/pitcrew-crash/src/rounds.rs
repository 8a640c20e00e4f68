//! Runs the same scene repeatedly, each time with another fault, and compares the result with that
//! of an undisturbed run.

mod points;
pub mod scene;
mod killer;
mod picture;
mod round;

use killer::Trouble;
use points::POINTS;
use round::{Broken, Played};
use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// Concurrent rounds: each one often waits.
const AT_A_TIME: usize = 3;

#[derive(Default)]
struct Tally {
    failures: u64,
    struck: u64,
    reached: BTreeMap<&'static str, u64>,
    ready: Vec<Duration>,
}

/// Returns whether all rounds ended as expected.
pub fn run(binary: &Path, count: u64, seed: u64) -> bool {
    println!("{count} rounds from seed {seed}");
    std::panic::set_hook(Box::new(|_| {}));
    let (began, end) = (Instant::now(), seed + count);
    let reference = match round::play(binary, &Trouble::None, None) {
        Ok(played) => played,
        Err(broken) => {
            println!("the undisturbed run fails: {}", broken.message);
            println!("  see {}", broken.folder.display());
            return false;
        }
    };
    let usual = reference.took;
    println!("an undisturbed scene takes {:.1} s", usual.as_secs_f64());
    let (next, tally) = (AtomicU64::new(seed), Mutex::new(Tally::default()));
    thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::SeqCst);
                    if seed >= end {
                        break;
                    }
                    let trouble = Trouble::of(seed);
                    let played = round::play(binary, &trouble, Some(&reference));
                    tally
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .take(seed, &trouble, played);
                }
            });
        }
    });
    let tally = tally.into_inner().unwrap_or_else(PoisonError::into_inner);
    tally.report(count, began.elapsed())
}

impl Tally {
    fn take(&mut self, seed: u64, trouble: &Trouble, played: Result<Played, Broken>) {
        let played = match played {
            Ok(played) => played,
            Err(broken) => {
                self.failures += 1;
                println!("FAILED seed {seed}: {trouble}\n  {}", broken.message);
                println!("  see {}", broken.folder.display());
                println!("  repeat: cargo xtask crash --rounds 1 --seed {seed}");
                return;
            }
        };
        self.struck += u64::from(!played.struck.is_empty());
        self.ready.extend(played.ready);
        if let Trouble::Point { name, .. } = trouble
            && !played.struck.is_empty()
        {
            *self.reached.entry(name).or_default() += 1;
        }
    }

    fn report(mut self, count: u64, time: Duration) -> bool {
        self.ready.sort();
        let at = |percent: usize| {
            let last = self.ready.len().saturating_sub(1);
            self.ready.get(last * percent / 100).map_or(0, Duration::as_millis)
        };
        println!(
            "{count} rounds in {:.0} s: {} with a kill, {} failed; serving again after p50 {} ms, p99 {} ms ({} times)",
            time.as_secs_f64(),
            self.struck,
            self.failures,
            at(50),
            at(99),
            self.ready.len()
        );
        for point in POINTS {
            let times = self.reached.get(point.name).copied().unwrap_or_default();
            println!("  {:>4} at {}", times, point.name);
        }
        let missed = POINTS.iter().filter(|it| !self.reached.contains_key(it.name)).count();
        // Fewer rounds cannot reach every point.
        let must_reach_all = count >= 4 * POINTS.len() as u64;
        if must_reach_all && missed > 0 {
            println!("FAILED: {missed} points were never reached");
        }
        self.failures == 0 && !(must_reach_all && missed > 0)
    }
}
