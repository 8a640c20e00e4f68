//! Agents: processes that outlive the orchestrator, say what they like, and die when they like.

use pitcrew_model::{AttemptId, EffectId, StopReason, Usage};
use std::collections::BTreeMap;

/// The process of a worker, or what is known of it after its end.
#[derive(Debug)]
pub struct Agent {
    pub attempt: AttemptId,
    pub alive: bool,
    /// We have ended it, or are about to: it is not started any more, and its end is not told.
    pub stopped: bool,
    /// The turn it is in.
    pub turn: Option<EffectId>,
    /// How its turns ended. Kept where a new orchestrator finds it.
    pub ended: BTreeMap<EffectId, (StopReason, Usage)>,
    /// What it has told of its turn.
    pub told: Usage,
    /// Calls that wait for permission, as it described them.
    pub calls: Vec<(String, u64)>,
    /// What its calls were answered.
    pub answers: BTreeMap<String, Option<String>>,
    pub calls_count: u32,
    /// What it has ever wanted to do.
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
            told: Usage::NONE,
            calls: Vec::new(),
            answers: BTreeMap::new(),
            calls_count: 0,
            wanted: Vec::new(),
        }
    }

    /// At its end it tells the whole once more.
    pub fn end_turn(&mut self, stop: StopReason) {
        self.end_turn_using(stop, self.told);
    }

    pub fn end_turn_using(&mut self, stop: StopReason, usage: Usage) {
        if let Some(turn) = self.turn.take() {
            self.ended.insert(turn, (stop, usage));
        }
        self.told = Usage::NONE;
        self.calls.clear();
    }

    pub fn die(&mut self) {
        self.alive = false;
        self.turn = None;
        self.calls.clear();
    }
}
