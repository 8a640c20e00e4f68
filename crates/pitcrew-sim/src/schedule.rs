//! A schedule is a list of choices. Each has its own dice, so that one can be left out without
//! changing the others.

use crate::dice::Dice;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    pub seed: u64,
    pub theme: Theme,
    /// One in so many results of a driver is a failure.
    pub faults_one_in: u64,
    /// More completed tasks than this count as broken: it tests the simulator itself.
    pub completions_max: usize,
    pub choices: Vec<Choice>,
}

/// The theme of most agents. Without a theme, long sequences would be too rare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    Anything,
    /// Queries: workers ask, and owners answer and edit.
    Code,
    /// Permissions: sub-tasks request what their parents hold.
    Rights,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    pub kind: Kind,
    pub roll: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A person creates a plan of at most so many tasks.
    Plan {
        tasks_max: u8,
    },
    /// A driver continues an effect.
    Driver,
    /// An agent, alive or not, reports or does something.
    Agent,
    /// The process of an agent exits.
    Exit,
    Person,
    Time,
    /// The clock jumps.
    Clock,
    /// The orchestrator dies, now or during its next append.
    Crash,
    /// The disk is full for a while.
    Disk,
    /// An earlier input is repeated.
    Echo,
}

/// The weights of the choices, and the length of the schedule. They differ, because a schedule with
/// constant crashes never gets far.
struct Character {
    choices_count: u64,
    weights: [(Kind, u64); 9],
}

const TASKS_MAX: u8 = 8;

impl Schedule {
    pub fn from_seed(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let themes = [Theme::Anything, Theme::Anything, Theme::Code, Theme::Rights];
        let theme = dice.pick(&themes).expect("a theme");
        let character = match theme {
            Theme::Anything => character(&mut dice),
            Theme::Code | Theme::Rights => quiet(&mut dice),
        };
        let mut choices = vec![plan(&mut dice)];
        for _ in 0..character.choices_count {
            choices.push(choice(&mut dice, &character));
        }
        // A second plan comes somewhere in the middle.
        if dice.one_in(3) {
            let at = dice.index(choices.len());
            choices.insert(at, plan(&mut dice));
        }
        let faults_one_in = match theme {
            Theme::Anything => dice.pick(&[3, 10, 40]),
            Theme::Code | Theme::Rights => dice.pick(&[20, 100, 400]),
        };
        let faults_one_in = faults_one_in.expect("a number");
        Self { seed, theme, faults_one_in, completions_max: usize::MAX, choices }
    }
}

fn plan(dice: &mut Dice) -> Choice {
    Choice { kind: Kind::Plan { tasks_max: TASKS_MAX }, roll: dice.next() }
}

fn character(dice: &mut Dice) -> Character {
    let often = |dice: &mut Dice, choices: &[u64]| dice.pick(choices).expect("a weight");
    Character {
        choices_count: 40 + dice.below(220),
        weights: [
            (Kind::Driver, often(dice, &[500, 1_000, 2_000])),
            (Kind::Agent, often(dice, &[20, 60, 120])),
            (Kind::Exit, often(dice, &[0, 4, 20])),
            (Kind::Person, often(dice, &[20, 100, 200])),
            (Kind::Time, often(dice, &[10, 80])),
            (Kind::Clock, often(dice, &[0, 2, 10])),
            (Kind::Crash, often(dice, &[0, 8, 20, 40])),
            (Kind::Disk, often(dice, &[0, 0, 15])),
            (Kind::Echo, 20),
        ],
    }
}

/// Few faults, so that long sequences are completed.
fn quiet(dice: &mut Dice) -> Character {
    let often = |dice: &mut Dice, choices: &[u64]| dice.pick(choices).expect("a weight");
    Character {
        choices_count: 100 + dice.below(260),
        weights: [
            (Kind::Driver, 1_000),
            (Kind::Agent, often(dice, &[20, 200])),
            (Kind::Exit, often(dice, &[0, 0, 4])),
            (Kind::Person, often(dice, &[40, 100])),
            (Kind::Time, often(dice, &[10, 40])),
            (Kind::Clock, often(dice, &[0, 0, 2])),
            (Kind::Crash, often(dice, &[0, 0, 8])),
            (Kind::Disk, often(dice, &[0, 0, 4])),
            (Kind::Echo, 5),
        ],
    }
}

fn choice(dice: &mut Dice, character: &Character) -> Choice {
    let total: u64 = character.weights.iter().map(|it| it.1).sum();
    let mut left = dice.below(total);
    let mut chosen = Kind::Driver;
    for (kind, weight) in character.weights {
        if left < weight {
            chosen = kind;
            break;
        }
        left -= weight;
    }
    Choice { kind: chosen, roll: dice.next() }
}
