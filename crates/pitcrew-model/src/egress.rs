//! What a box was let through to, and what not.

use crate::{AttemptId, PlanId};
use alloc::string::String;
use core::fmt;
use serde::{Deserialize, Serialize};

/// One line of the record that the egress process of a box keeps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EgressDecision {
    #[serde(flatten)]
    pub whose: EgressOf,
    pub host: String,
    pub port: u16,
    pub allowed: bool,
    /// The rule that let it pass, or why it did not.
    pub reason: String,
    /// How often, since the line before about the same.
    pub count: u32,
    /// Where the line ends in the record: no line is told twice.
    pub offset: u64,
}

/// For whom something was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EgressOf {
    Attempt(AttemptId),
    /// The checks of a plan: on its base, and at its landing.
    Plan(PlanId),
}

impl fmt::Display for EgressOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Attempt(attempt) => attempt.fmt(f),
            Self::Plan(plan) => plan.fmt(f),
        }
    }
}

/// `a.example:443 refused: it is not on the allow-list`
impl fmt::Display for EgressDecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port, reason, count, .. } = self;
        let verdict = if self.allowed { "reached" } else { "refused" };
        write!(f, "{host}:{port} {verdict}")?;
        if *count > 1 {
            write!(f, " {count} times")?;
        }
        write!(f, ": {reason}")
    }
}
