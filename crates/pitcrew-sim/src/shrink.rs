//! Leaves out of a failing schedule whatever it does not need to fail.

use crate::{
    broken::Broken,
    run::{Tracing, run},
    schedule::{Kind, Schedule},
};

/// Runs of the schedule that shrinking may cost.
const RUNS_MAX: u32 = 4_000;

/// A schedule that breaks the same invariant, with as few choices and tasks as could be found.
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
    /// Halves first, then ever smaller parts, then one by one.
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

    /// Keeps what still breaks the same invariant.
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
