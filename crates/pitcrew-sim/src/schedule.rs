//! A schedule is a list of choices. Each carries its own dice, so that one can be left out and the
//! others stay what they were.

use crate::dice::Dice;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    pub seed: u64,
    pub theme: Theme,
    /// One in so many answers of a driver is a failure.
    pub faults_one_in: u64,
    /// More completed tasks than this count as broken: how the simulator is tried itself.
    pub completions_max: usize,
    pub choices: Vec<Choice>,
}

/// What most of the agents' words are about. What takes many steps in a row would else never be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    Anything,
    /// Code of others: workers ask, and owners answer and edit.
    Code,
    /// What sub-tasks may: they ask for what their parents hold.
    Rights,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    pub kind: Kind,
    pub roll: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A person hands in a plan of at most so many tasks.
    Plan {
        tasks_max: u8,
    },
    /// A driver goes on with something that it was ordered to do.
    Driver,
    /// An agent, alive or not, says or does something.
    Agent,
    /// The process of an agent ends.
    Exit,
    Person,
    Time,
    /// The clock is set.
    Clock,
    /// The orchestrator dies, now or in the middle of its next append.
    Crash,
    /// The disk is full for a while.
    Disk,
    /// Something that was said before is said again.
    Echo,
}

/// How often each kind comes, and how long the schedule is. Schedules differ in character: what
/// crashes all the time never gets far.
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

/// Little goes wrong, so that what takes many steps comes about.
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
