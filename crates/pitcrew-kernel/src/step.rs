//! Processes one input completely.

use crate::{State, decide, evolve, react, settle};
use alloc::vec::Vec;
use pitcrew_model::{Effect, EffectId, Entry, Event, Input, Rejection, Timestamp};

/// The consequences of one input: stored completely, or not at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    pub entries: Vec<Entry>,
    pub effects: Vec<(EffectId, Effect)>,
}

/// Processes an input completely: decision, fold, standing rules, effects.
///
/// A rejection leaves the state unchanged.
pub fn step(state: &mut State, input: &Input) -> Result<Step, Rejection> {
    let mut step = Step::default();
    for event in decide(state, input)? {
        step.record(state, input.at, event);
    }
    loop {
        let events = settle(state, input.at);
        if events.is_empty() {
            return Ok(step);
        }
        for event in events {
            step.record(state, input.at, event);
        }
    }
}

impl Step {
    fn record(&mut self, state: &mut State, at: Timestamp, event: Event) {
        assert!(is_legal(&event), "the kernel decided an illegal transition: {event:?}");
        let entry = Entry { seq: state.seq.next(), at, event };
        evolve(state, &entry);
        if let Some(effect) = react(state, &entry.event) {
            self.effects.push((EffectId(entry.seq.0), effect));
        }
        self.entries.push(entry);
    }
}

/// Returns whether today's tables allow the transition. Stored transitions are not checked.
fn is_legal(event: &Event) -> bool {
    if let Event::PlanMoved { from, to, .. } = event {
        from.may_become(*to)
    } else if let Event::TaskMoved { from, to, .. } = event {
        from.may_become(*to)
    } else if let Event::WorkerMoved { from, to, .. } = event {
        from.may_become(*to)
    } else if let Event::RequestMoved { from, to, .. } = event {
        from.may_become(*to)
    } else if let Event::MessageMoved { from, to, .. } = event {
        from.may_become(*to)
    } else if let Event::LandingMoved { from, to, .. } = event {
        from.may_become(*to)
    } else {
        true
    }
}
