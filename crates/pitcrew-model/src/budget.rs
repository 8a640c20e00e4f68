//! Caps of tasks and plans, and how much of them is used.

use crate::{PlanId, TaskId};
use core::fmt;
use serde::{Deserialize, Serialize};

/// The most that may be used. Absent: no cap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caps {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
}

impl Caps {
    pub const NONE: Self = Self { tokens: None, cost_micros: None };

    pub fn is_none(&self) -> bool {
        *self == Self::NONE
    }

    /// Returns these caps, with missing ones taken from `other`.
    #[must_use]
    pub fn or(self, others: Self) -> Self {
        Self {
            tokens: self.tokens.or(others.tokens),
            cost_micros: self.cost_micros.or(others.cost_micros),
        }
    }

    pub fn of(&self, measure: Measure) -> Option<u64> {
        match measure {
            Measure::Tokens => self.tokens,
            Measure::Cost => self.cost_micros,
        }
    }

    /// Raises one cap, counted from what is used now.
    pub fn raise(&mut self, measure: Measure, used: u64, by: u64) {
        let cap = match measure {
            Measure::Tokens => &mut self.tokens,
            Measure::Cost => &mut self.cost_micros,
        };
        *cap = cap.map(|it| it.max(used).saturating_add(by));
    }
}

/// How much of one cap is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spending {
    pub scope: BudgetScope,
    pub measure: Measure,
    pub used: u64,
    pub cap: u64,
}

/// The scope of a cap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "kind", content = "id", rename_all = "snake_case")]
pub enum BudgetScope {
    Task(TaskId),
    Plan(PlanId),
}

impl Spending {
    /// In the order of reporting: if both caps are reached, the tokens are reported first.
    pub const MEASURES: [Measure; 2] = [Measure::Tokens, Measure::Cost];

    /// Returns whether nothing is left. A cap at the largest number is not a cap: a person who granted
    /// that much is not asked again.
    pub fn is_over(&self) -> bool {
        self.used >= self.cap && self.cap < u64::MAX
    }

    /// Returns whether at most a fifth of the last grant is left.
    pub fn is_near(&self, given: u64) -> bool {
        self.cap.saturating_sub(self.used) <= given / 5
    }
}

/// The unit of a cap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Input and output tokens, without those read from a cache.
    Tokens,
    /// Millionths of a US dollar.
    Cost,
}

impl fmt::Display for BudgetScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Task(task) => task.fmt(f),
            Self::Plan(plan) => plan.fmt(f),
        }
    }
}

impl fmt::Display for Spending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scope, measure, used, cap } = self;
        match measure {
            Measure::Tokens => write!(f, "{scope} has used {used} of {cap} tokens"),
            Measure::Cost => {
                write!(f, "{scope} has cost {} of {}", Dollars(*used), Dollars(*cap))
            }
        }
    }
}

/// Formats micros as dollars: at least two decimals, without trailing zeros.
pub struct Dollars(pub u64);

impl fmt::Display for Dollars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0 / 1_000_000, self.0 % 1_000_000);
        let digits = alloc::format!("{rest:06}");
        let kept = digits.trim_end_matches('0').len().max(2);
        write!(f, "${whole}.{}", &digits[..kept])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn dollars_are_formatted_exactly() {
        let shown =
            [0, 1, 10_000, 1_500_000, 2_345_678, u64::MAX].map(|it| Dollars(it).to_string());
        let wanted =
            ["$0.00", "$0.000001", "$0.01", "$1.50", "$2.345678", "$18446744073709.551615"];
        assert_eq!(shown, wanted);
    }
}
