//! Merges what the journal says of an attempt with its conversation, in the order of time.
//!
//! Every reader gets the same order, whenever it comes: a line is told when nothing that belongs
//! before it can come any more. A turn begins and ends in both, so clocks that differ, as after a
//! machine has slept, mix up nothing beyond one turn. What an agent asks for comes another way than
//! what it says, and may be sooner here: it stands below the call that asked for it.

use super::Said;
use pitcrew_model::Timestamp;
use std::collections::VecDeque;

/// Looks that a line is held for: what happened before it may be on its way to the disk.
const HELD_LOOKS: u32 = 5;
/// How much later than what came of it a call may be written down.
const CALL_LAG_MS_MAX: u64 = 1_000;

/// Where a line belongs: in which turn or between which, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Even before and between turns, odd in one.
    pub phase: u32,
    pub at: Timestamp,
}

/// Counts the turns of one attempt, in the journal or in the conversation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Phase(u32);

impl Phase {
    pub fn turn_begins(&mut self) {
        self.0 = (self.0 + 1) | 1;
    }

    pub fn turn_ends(&mut self) {
        self.0 += self.0 & 1;
    }

    pub fn at(self, at: Timestamp) -> Place {
        Place { phase: self.0, at }
    }
}

/// What a line has to do with the calls of our tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    None,
    /// A call begins here.
    Begins,
    /// Some tool has ended here.
    Ends,
    /// A call has led to this.
    Led,
}

/// How much is told.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// What nothing can come before any more.
    Certain,
    /// All that is known.
    Now,
}

/// Lines of the journal and of the conversation that are not told yet.
#[derive(Default)]
pub struct Order {
    looks_count: u32,
    steps: VecDeque<Held>,
    talk: VecDeque<Held>,
    /// Where the message stands that may still grow.
    growing: Option<Place>,
    /// A call of ours was told, and not its end.
    in_call: bool,
}

struct Held {
    place: Place,
    call: Call,
    /// The look that found it.
    look: u32,
    said: Said,
}

impl Order {
    pub fn step(&mut self, place: Place, call: Call, said: Said) {
        self.steps.push_back(Held { place, call, look: self.looks_count, said });
    }

    pub fn talk(&mut self, lines: Vec<(Place, Call, Said)>, growing: Option<Place>) {
        let look = self.looks_count;
        let held = |(place, call, said)| Held { place, call, look, said };
        self.talk.extend(lines.into_iter().map(held));
        self.growing = growing;
    }

    /// The lines whose turn it is, in order. Ends one look.
    pub fn tell(&mut self, until: Until) -> Vec<Said> {
        let mut told = Vec::new();
        while let Some(next) = self.next(until) {
            told.push(next);
        }
        self.looks_count += 1;
        told
    }

    fn next(&mut self, until: Until) -> Option<Said> {
        let is_step = match (self.steps.front(), self.talk.front()) {
            (Some(step), Some(line)) => step.place <= line.place && !self.waits(step),
            (step, _) => step.is_some(),
        };
        let from = if is_step { &mut self.steps } else { &mut self.talk };
        let first = from.front()?;
        let is_old = self.looks_count - first.look >= HELD_LOOKS;
        let is_first = !is_step || self.growing.is_none_or(|it| first.place <= it);
        if until == Until::Certain && !(is_old && is_first) {
            return None;
        }
        let next = from.pop_front()?;
        match next.call {
            Call::Begins => self.in_call = true,
            Call::Ends => self.in_call = false,
            Call::None | Call::Led => {}
        }
        Some(next.said)
    }

    /// Whether the call that led to it is still to be told.
    fn waits(&self, step: &Held) -> bool {
        let until = Place { at: step.place.at.plus(CALL_LAG_MS_MAX), ..step.place };
        let mut soon = self.talk.iter().take_while(|it| it.place <= until);
        step.call == Call::Led && !self.in_call && soon.any(|it| it.call == Call::Begins)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pitcrew_api::LogSource;

    fn said(text: &str) -> Said {
        let (at, source) = (Timestamp(0), LogSource::Agent);
        Said { at, source, text: text.to_owned(), fact: None }
    }

    fn place(phase: u32, at: u64) -> Place {
        Place { phase, at: Timestamp(at) }
    }

    fn texts(lines: Vec<Said>) -> Vec<String> {
        lines.into_iter().map(|it| it.text).collect()
    }

    /// What is told in so many looks.
    fn looked(order: &mut Order, count: u32) -> Vec<String> {
        (0..count).flat_map(|_| texts(order.tell(Until::Certain))).collect()
    }

    #[test]
    fn steps_stand_among_what_was_said_at_their_time() {
        let mut order = Order::default();
        order.step(place(0, 1), Call::None, said("ready"));
        order.step(place(1, 4), Call::Led, said("hands out"));
        order.step(place(2, 9), Call::None, said("changed 1 file"));
        let talk = [(1, 2, "prompt"), (1, 3, "calls"), (1, 5, "says"), (1, 8, "the turn ended")];
        let talk = talk.map(|(phase, at, text)| (place(phase, at), Call::None, said(text)));
        order.talk(talk.into(), None);
        assert_eq!(
            texts(order.tell(Until::Now)),
            ["ready", "prompt", "calls", "hands out", "says", "the turn ended", "changed 1 file"]
        );
    }

    #[test]
    fn a_clock_that_lags_mixes_up_no_turns() {
        let mut order = Order::default();
        order.step(place(0, 1), Call::None, said("ready"));
        order.step(place(2, 3), Call::None, said("changed 1 file"));
        order.talk(vec![(place(1, 3_602), Call::None, said("prompt"))], None);
        assert_eq!(texts(order.tell(Until::Now)), ["ready", "prompt", "changed 1 file"]);
        let (mut phase, at) = (Phase::default(), Timestamp(7));
        phase.turn_ends();
        assert_eq!(phase.at(at).phase, 0, "nothing had begun");
        phase.turn_begins();
        phase.turn_begins();
        assert_eq!(phase.at(at).phase, 3, "the end of the first was never told");
        phase.turn_ends();
        assert_eq!(phase.at(at).phase, 4);
    }

    #[test]
    fn what_a_call_led_to_stands_below_it_however_late_it_was_written_down() {
        let mut order = Order::default();
        for at in [4, 40] {
            order.step(place(1, at), Call::Led, said("hands out"));
        }
        let talk = [
            (5, Call::None, "reads"),
            (5, Call::Ends, "has read"),
            (9, Call::Begins, "calls"),
            (10, Call::Ends, "is answered"),
            (39, Call::Begins, "calls"),
            (41, Call::Ends, "is answered"),
            (42, Call::Begins, "calls"),
        ];
        order.talk(talk.map(|(at, call, text)| (place(1, at), call, said(text))).into(), None);
        let told = texts(order.tell(Until::Now)).join(", ");
        assert_eq!(
            told,
            "reads, has read, calls, hands out, is answered, calls, hands out, is answered, calls"
        );
    }

    #[test]
    fn what_comes_late_is_waited_for() {
        let mut order = Order::default();
        order.talk(vec![(place(1, 5), Call::None, said("says"))], None);
        assert!(looked(&mut order, HELD_LOOKS).is_empty());
        order.step(place(1, 4), Call::Led, said("hands out"));
        assert_eq!(looked(&mut order, HELD_LOOKS + 1), ["hands out", "says"]);
    }

    #[test]
    fn a_message_that_grows_holds_up_what_came_after_it_began() {
        let mut order = Order::default();
        order.step(place(1, 4), Call::None, said("before"));
        order.step(place(1, 6), Call::None, said("after"));
        order.talk(Vec::new(), Some(place(1, 5)));
        assert_eq!(looked(&mut order, HELD_LOOKS + 1), ["before"]);
        order.talk(vec![(place(1, 5), Call::None, said("message"))], None);
        assert_eq!(looked(&mut order, HELD_LOOKS + 1), ["message", "after"]);
    }
}
