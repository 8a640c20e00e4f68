//! Shrinks a failing schedule.

use crate::{
    broken::Broken,
    run::{Tracing, run},
    schedule::{Kind, Schedule},
};

/// The most runs that shrinking may cost.
const RUNS_MAX: u32 = 4_000;

/// Returns a schedule that breaks the same invariant with few choices and tasks.
pub fn shrink(schedule: &Schedule, broken: &Broken) -> Schedule {
    let mut shrinker = Shrinker { best: schedule.clone(), broken, runs_left: RUNS_MAX };
    loop {
        let before = shrinker.best.clone();
        shrinker.leave_out_choices();
        shrinker.leave_out_tasks();
        if shrinker.best == before || shrinker.runs_left == 0 {
            return shrinker.best;
        }
    }
}

struct Shrinker<'a> {
    best: Schedule,
    broken: &'a Broken,
    runs_left: u32,
}

impl Shrinker<'_> {
    /// Removes halves first, then smaller parts, then single choices.
    fn leave_out_choices(&mut self) {
        let mut size = self.best.choices.len().div_ceil(2);
        while size > 0 {
            let mut at = 0;
            while at < self.best.choices.len() {
                let mut shorter = self.best.clone();
                let end = (at + size).min(shorter.choices.len());
                shorter.choices.drain(at..end);
                if !self.take(shorter) {
                    at += size;
                }
            }
            size /= 2;
        }
    }

    fn leave_out_tasks(&mut self) {
        for index in 0..self.best.choices.len() {
            let Kind::Plan { tasks_max } = self.best.choices[index].kind else { continue };
            for fewer in 1..tasks_max {
                let mut smaller = self.best.clone();
                smaller.choices[index].kind = Kind::Plan { tasks_max: fewer };
                if self.take(smaller) {
                    break;
                }
            }
        }
    }

    /// Keeps a candidate that breaks the same invariant.
    fn take(&mut self, candidate: Schedule) -> bool {
        if self.runs_left == 0 {
            return false;
        }
        self.runs_left -= 1;
        let broken = run(&candidate, Tracing::Off).broken;
        let same = broken.is_some_and(|it| it.invariant == self.broken.invariant);
        if same {
            self.best = candidate;
        }
        same
    }
}
