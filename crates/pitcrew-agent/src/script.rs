//! Scripts: the steps that the built-in agent can run, and their syntax.
//!
//! Parsing finds every mistake before the first step runs. The README of this crate describes the
//! language.

mod parse;
mod memory;

pub(crate) use memory::{Answer, Memory};

use serde_json::{Map, Value};
use std::time::Duration;

/// A script that can be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    pub steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The line on which the step starts, from 1.
    pub line: usize,
    pub condition: Condition,
    pub action: Action,
}

/// Whether a step runs. Evaluated against the text of the latest prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    Always,
    When(String),
    Unless(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    Read {
        path: String,
    },
    Write {
        path: String,
        text: String,
    },
    Append {
        path: String,
        text: String,
    },
    Edit {
        path: String,
        old: String,
        new: String,
    },
    Delete {
        path: String,
    },
    Run {
        command: String,
    },
    Ask {
        question: String,
    },
    Permit {
        title: String,
    },
    /// Calls a tool of the session and remembers its answer.
    Tool {
        name: String,
        arguments: Map<String, Value>,
        wanted: ExpectedResult,
    },
    /// The remembered answer must contain this text.
    Expect {
        text: String,
    },
    /// Names a part of the remembered answer.
    Keep {
        name: String,
        pointer: String,
    },
    /// Writes the remembered answer to a file.
    Save {
        path: String,
    },
    Sleep {
        duration: Duration,
    },
    /// Ends the turn; the next prompt continues.
    Pause,
    Say {
        text: String,
    },
    Complete {
        summary: String,
    },
    Partial {
        summary: String,
    },
    Fail {
        reason: String,
    },
    Exit {
        code: i32,
    },
}

/// The expected result of a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpectedResult {
    Answer,
    Refusal,
}

/// A script that cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}; {remedy}")]
pub struct ScriptError {
    pub line: usize,
    pub reason: String,
    pub remedy: String,
}

impl Script {
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        parse::parse(text)
    }
}

impl Condition {
    pub fn holds(&self, words: &str) -> bool {
        match self {
            Self::Always => true,
            Self::When(text) => words.contains(text),
            Self::Unless(text) => !words.contains(text),
        }
    }
}
