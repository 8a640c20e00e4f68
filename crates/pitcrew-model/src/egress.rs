//! What a box was let through to, and what not.

use crate::AttemptId;
use alloc::string::String;
use core::fmt;
use serde::{Deserialize, Serialize};

/// One line of the record that the egress process of an attempt keeps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EgressDecision {
    pub attempt: AttemptId,
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
