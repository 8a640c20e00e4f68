//! The kernel with its outbox and a journal, and everything that is checked about every step.

use crate::{dice::Dice, invariants};
use pitcrew_kernel::{State, evolve, step};
use pitcrew_model::{
    Actor, Command, Effect, EffectId, Entry, Event, Input, InputBody, Signal, Timestamp,
};
use std::collections::BTreeMap;

pub struct World {
    pub state: State,
    /// Folded from the entries alone.
    replayed: State,
    pub entries: Vec<Entry>,
    pub outbox: BTreeMap<EffectId, Effect>,
    pub retired: Vec<(EffectId, Effect)>,
    pub now: Timestamp,
    /// One in so many effects of this walk fails.
    pub faults_one_in: u64,
}

impl World {
    pub fn new(dice: &mut Dice) -> Self {
        let agents_live_max = 3 + u32::try_from(dice.below(6)).expect("a small number");
        let state = State { agents_live_max, ..State::default() };
        Self {
            replayed: state.clone(),
            state,
            entries: Vec::new(),
            outbox: BTreeMap::new(),
            retired: Vec::new(),
            now: Timestamp(1_000_000),
            faults_one_in: dice.pick(&[3, 10, 40]).expect("a number"),
        }
    }

    pub fn command(&mut self, command: Command) -> bool {
        self.take((Actor::Person, InputBody::Command(command)))
    }

    pub fn signal(&mut self, signal: Signal) -> bool {
        self.take((Actor::Orchestrator, InputBody::Signal(signal)))
    }

    /// Gives the kernel an input and checks all that must hold. Returns whether anything happened.
    pub fn take(&mut self, (actor, body): (Actor, InputBody)) -> bool {
        let input = Input { at: self.now, actor, body };
        let slots_before = invariants::slots_used(&self.state);
        let Ok(step) = step(&mut self.state, &input) else {
            assert_eq!(self.state, self.replayed, "a rejection changed something: {input:?}");
            return false;
        };
        let mut effects: BTreeMap<EffectId, Effect> = step.effects.into_iter().collect();
        for entry in &step.entries {
            evolve(&mut self.replayed, entry);
            let effect = effects.remove(&EffectId(entry.seq.0));
            invariants::check_entry(self, entry, effect.as_ref());
            if let Some(effect) = effect {
                self.outbox.insert(EffectId(entry.seq.0), effect);
            }
            if let Event::EffectEnded { effect, .. } = &entry.event {
                let order = self.outbox.remove(effect).expect("an effect ends once");
                self.retired.push((*effect, order));
            }
        }
        assert!(effects.is_empty(), "an effect without its event: {effects:?}");
        assert_eq!(self.state, self.replayed, "the fold is not what the step made: {input:?}");
        invariants::check(self, slots_before, &input);
        let happened = !step.entries.is_empty();
        self.entries.extend(step.entries);
        happened
    }

    pub fn check_replay(&self) {
        let agents_live_max = self.state.agents_live_max;
        let mut state = State { agents_live_max, ..State::default() };
        for entry in &self.entries {
            evolve(&mut state, entry);
        }
        assert_eq!(state, self.state, "the journal does not lead to the state");
    }
}
