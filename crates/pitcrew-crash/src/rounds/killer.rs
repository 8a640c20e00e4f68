//! What is killed, and when.

use super::points::POINTS;
use crate::random::Random;
use pitcrew_testkit::{Process, Sandbox};
use rustix::process::Signal;
use std::{fmt, fs, time::Duration};

const KILLS_MAX: usize = 4;

/// The fault of a round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    None,
    /// The orchestrator aborts at the `visit`-th visit of this point.
    Point {
        name: &'static str,
        visit: usize,
    },
    Kills(Vec<Kill>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kill {
    /// After the previous kill, in thousandths of the duration of an undisturbed scene.
    pub after: u32,
    pub victim: Victim,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Victim {
    Orchestrator,
    Shim,
    Git,
    Client,
    /// All processes at once, as in a crash of the machine.
    Everything,
}

impl Trouble {
    /// Every second round aborts at a point, and consecutive seeds cover all points.
    pub fn of(seed: u64) -> Self {
        let mut random = Random::new(seed);
        if seed.is_multiple_of(2) {
            let index = usize::try_from(seed / 2 % POINTS.len() as u64).expect("it is an index");
            let point = &POINTS[index];
            return Self::Point { name: point.name, visit: 1 + random.below(point.visits) };
        }
        let kills = (0..=random.below(KILLS_MAX)).map(|_| {
            let victim = match random.below(10) {
                0 => Victim::Shim,
                1 => Victim::Git,
                2 => Victim::Client,
                3 => Victim::Everything,
                _ => Victim::Orchestrator,
            };
            let after = u32::try_from(random.below(1_000)).expect("it is below a thousand");
            Kill { after, victim }
        });
        Self::Kills(kills.collect())
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("undisturbed"),
            Self::Point { name, visit } => write!(f, "killed at visit {visit} of `{name}`"),
            Self::Kills(kills) => {
                let words = kills.iter().map(|it| format!("{:?} after {} ‰", it.victim, it.after));
                write!(f, "kill {}", words.collect::<Vec<_>>().join(", then "))
            }
        }
    }
}

impl Victim {
    /// Kills the victim; returns what was killed.
    pub fn kill(self, sandbox: &Sandbox) -> Vec<String> {
        let root = sandbox.root().display().to_string();
        let victims = match self {
            Self::Orchestrator => orchestrator(sandbox).into_iter().collect(),
            Self::Shim => first(&root, |it| it.contains(" shim ")),
            Self::Git => first(&root, |it| it.starts_with("git ") || it.contains("/git ")),
            // A client that died does not know whether its plan was accepted.
            Self::Client => first(&root, |it| it.contains(" land ") || it.contains(" answer ")),
            Self::Everything => Process::naming(&root),
        };
        for (process, _) in &victims {
            process.signal(Signal::KILL);
        }
        for (process, _) in &victims {
            process.await_end(Duration::from_secs(5));
        }
        victims.into_iter().map(|it| it.1).collect()
    }
}

/// The process that holds the journal, by the id in its lock file.
pub fn orchestrator(sandbox: &Sandbox) -> Option<(Process, String)> {
    let state = sandbox.states().into_iter().next()?;
    let record = fs::read_to_string(state.join("journal.lock")).ok()?;
    let process = Process::of(record.split_ascii_whitespace().next()?.parse().ok()?)?;
    // The id may belong to another process by now.
    let root = sandbox.root().display().to_string();
    Process::naming(&root).into_iter().find(|it| it.0 == process)
}

fn first(root: &str, fits: impl Fn(&str) -> bool) -> Vec<(Process, String)> {
    Process::naming(root).into_iter().find(|it| fits(&it.1)).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_seed_repeats_its_round_and_consecutive_seeds_cover_all_points() {
        assert_eq!(Trouble::of(7), Trouble::of(7));
        let mut names = BTreeSet::new();
        for seed in 1_000..1_000 + 2 * POINTS.len() as u64 {
            if let Trouble::Point { name, .. } = Trouble::of(seed) {
                names.insert(name);
            }
        }
        assert_eq!(names.len(), POINTS.len());
    }
}
