//! Agents: processes that outlive the orchestrator, report anything, and exit at any time.

use pitcrew_model::{AttemptId, EffectId, StopReason, Usage};
use std::collections::BTreeMap;

/// The process of a worker, or what remains after its end.
#[derive(Debug)]
pub struct Agent {
    pub attempt: AttemptId,
    pub alive: bool,
    /// It was stopped, or is about to be: it is not started again, and its end is not reported.
    pub stopped: bool,
    /// Its open turn.
    pub turn: Option<EffectId>,
    /// The ends of its turns, kept for a new orchestrator.
    pub ended: BTreeMap<EffectId, (StopReason, Usage)>,
    /// The reported usage of its turn.
    pub reported: Usage,
    /// Its open permission requests.
    pub calls: Vec<(String, u64)>,
    /// The answers to its permission requests.
    pub answers: BTreeMap<String, Option<String>>,
    pub calls_count: u32,
    /// All actions that it ever requested.
    pub wanted: Vec<u64>,
}

impl Agent {
    pub fn new(attempt: AttemptId) -> Self {
        Self {
            attempt,
            alive: false,
            stopped: false,
            turn: None,
            ended: BTreeMap::new(),
            reported: Usage::NONE,
            calls: Vec::new(),
            answers: BTreeMap::new(),
            calls_count: 0,
            wanted: Vec::new(),
        }
    }

    /// Ends the turn with its total usage.
    pub fn end_turn(&mut self, stop: StopReason) {
        self.end_turn_using(stop, self.reported);
    }

    pub fn end_turn_using(&mut self, stop: StopReason, usage: Usage) {
        if let Some(turn) = self.turn.take() {
            self.ended.insert(turn, (stop, usage));
        }
        self.reported = Usage::NONE;
        self.calls.clear();
    }

    pub fn die(&mut self) {
        self.alive = false;
        self.turn = None;
        self.calls.clear();
    }
}
