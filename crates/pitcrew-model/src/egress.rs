//! Network decisions of boxes.

use crate::{AttemptId, PlanId};
use alloc::string::String;
use core::fmt;
use serde::{Deserialize, Serialize};

/// One decision in the record of a box's egress process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EgressDecision {
    #[serde(flatten)]
    pub whose: EgressOf,
    pub host: String,
    pub port: u16,
    pub allowed: bool,
    /// The rule that allowed it, or why it was refused.
    pub reason: String,
    /// The number of equal decisions since the previous line about it.
    pub count: u32,
    /// The end of the line in the record. No line is reported twice.
    pub offset: u64,
}

/// On whose behalf the connection was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EgressOf {
    Attempt(AttemptId),
    /// The checks of a plan: on its base, and when it lands.
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
