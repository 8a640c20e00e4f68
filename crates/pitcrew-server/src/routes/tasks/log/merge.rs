//! Merges an attempt's journal entries with its conversation in chronological order.
//!
//! Every reader gets the same order at any time: a line is sent only when no earlier line can
//! follow. Turns start and end in both sources, so clock differences, such as after a suspended
//! machine, affect at most one turn. Tool calls are recorded separately from the conversation and
//! may arrive earlier; their results are placed below the call.

use super::LogEntry;
use pitcrew_model::Timestamp;
use std::collections::VecDeque;

/// The number of polls for which a line is delayed, because earlier lines may not be on disk yet.
const HELD_LOOKS: u32 = 5;
/// How much later than its result a call may be recorded.
const CALL_LAG_MS_MAX: u64 = 1_000;

/// The position of a line: its turn, or the gap between turns, and its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Even before and between turns, odd during a turn.
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

/// The relation of a line to a call of our tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    None,
    /// A call starts here.
    Begins,
    /// A tool call ended here.
    Ends,
    /// Any other event that a call caused.
    Led,
}

/// How much to send.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// Lines that no earlier line can precede.
    Certain,
    /// All lines.
    Now,
}

/// Lines of both sources that were not sent yet.
#[derive(Default)]
pub struct Merge {
    looks_count: u32,
    steps: VecDeque<Held>,
    talk: VecDeque<Held>,
    /// The position of the message that may still grow.
    growing: Option<Place>,
    /// Whether a call was sent without its end.
    in_call: bool,
}

struct Held {
    place: Place,
    call: Call,
    /// The poll in which it was found.
    look: u32,
    said: LogEntry,
}

impl Merge {
    pub fn step(&mut self, place: Place, call: Call, said: LogEntry) {
        self.steps.push_back(Held { place, call, look: self.looks_count, said });
    }

    pub fn talk(&mut self, lines: Vec<(Place, Call, LogEntry)>, growing: Option<Place>) {
        let look = self.looks_count;
        let held = |(place, call, said)| Held { place, call, look, said };
        self.talk.extend(lines.into_iter().map(held));
        self.growing = growing;
    }

    /// Returns the lines that are due, in order. Ends one poll.
    pub fn tell(&mut self, until: Until) -> Vec<LogEntry> {
        let mut lines = Vec::new();
        while let Some(next) = self.next(until) {
            lines.push(next);
        }
        self.looks_count += 1;
        lines
    }

    fn next(&mut self, until: Until) -> Option<LogEntry> {
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

    /// Whether the call that caused it has not been sent yet.
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

    fn said(text: &str) -> LogEntry {
        let (at, source) = (Timestamp(0), LogSource::Agent);
        LogEntry { at, source, text: text.to_owned(), fact: None }
    }

    fn place(phase: u32, at: u64) -> Place {
        Place { phase, at: Timestamp(at) }
    }

    fn texts(lines: Vec<LogEntry>) -> Vec<String> {
        lines.into_iter().map(|it| it.text).collect()
    }

    /// Returns the lines of this many polls.
    fn looked(merge: &mut Merge, count: u32) -> Vec<String> {
        (0..count).flat_map(|_| texts(merge.tell(Until::Certain))).collect()
    }

    #[test]
    fn steps_are_merged_by_time() {
        let mut merge = Merge::default();
        merge.step(place(0, 1), Call::None, said("ready"));
        merge.step(place(1, 4), Call::Led, said("hands out"));
        merge.step(place(2, 9), Call::None, said("changed 1 file"));
        let talk = [(1, 2, "prompt"), (1, 3, "calls"), (1, 5, "says"), (1, 8, "the turn ended")];
        let talk = talk.map(|(phase, at, text)| (place(phase, at), Call::None, said(text)));
        merge.talk(talk.into(), None);
        assert_eq!(
            texts(merge.tell(Until::Now)),
            ["ready", "prompt", "calls", "hands out", "says", "the turn ended", "changed 1 file"]
        );
    }

    #[test]
    fn a_slow_clock_does_not_mix_turns() {
        let mut merge = Merge::default();
        merge.step(place(0, 1), Call::None, said("ready"));
        merge.step(place(2, 3), Call::None, said("changed 1 file"));
        merge.talk(vec![(place(1, 3_602), Call::None, said("prompt"))], None);
        assert_eq!(texts(merge.tell(Until::Now)), ["ready", "prompt", "changed 1 file"]);
        let (mut phase, at) = (Phase::default(), Timestamp(7));
        phase.turn_ends();
        assert_eq!(phase.at(at).phase, 0, "no turn had started");
        phase.turn_begins();
        phase.turn_begins();
        assert_eq!(phase.at(at).phase, 3, "the end of the first turn is missing");
        phase.turn_ends();
        assert_eq!(phase.at(at).phase, 4);
    }

    #[test]
    fn the_result_of_a_call_is_placed_below_it() {
        let mut merge = Merge::default();
        for at in [4, 40] {
            merge.step(place(1, at), Call::Led, said("hands out"));
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
        merge.talk(talk.map(|(at, call, text)| (place(1, at), call, said(text))).into(), None);
        let lines = texts(merge.tell(Until::Now)).join(", ");
        assert_eq!(
            lines,
            "reads, has read, calls, hands out, is answered, calls, hands out, is answered, calls"
        );
    }

    #[test]
    fn late_lines_are_awaited() {
        let mut merge = Merge::default();
        merge.talk(vec![(place(1, 5), Call::None, said("says"))], None);
        assert!(looked(&mut merge, HELD_LOOKS).is_empty());
        merge.step(place(1, 4), Call::Led, said("hands out"));
        assert_eq!(looked(&mut merge, HELD_LOOKS + 1), ["hands out", "says"]);
    }

    #[test]
    fn a_growing_message_delays_later_lines() {
        let mut merge = Merge::default();
        merge.step(place(1, 4), Call::None, said("before"));
        merge.step(place(1, 6), Call::None, said("after"));
        merge.talk(Vec::new(), Some(place(1, 5)));
        assert_eq!(looked(&mut merge, HELD_LOOKS + 1), ["before"]);
        merge.talk(vec![(place(1, 5), Call::None, said("message"))], None);
        assert_eq!(looked(&mut merge, HELD_LOOKS + 1), ["message", "after"]);
    }
}
