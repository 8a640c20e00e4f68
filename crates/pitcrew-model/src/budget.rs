//! What a task or a plan may cost, and where it stands.

use crate::{PlanId, TaskId};
use core::fmt;
use serde::{Deserialize, Serialize};

/// How much of a cap is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spending {
    pub scope: BudgetScope,
    pub measure: Measure,
    pub used: u64,
    pub cap: u64,
}

/// What a cap holds for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "kind", content = "id", rename_all = "snake_case")]
pub enum BudgetScope {
    Task(TaskId),
    Plan(PlanId),
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Tokens that went in and came out. Those read from a cache are not among them.
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

/// Micros as people write them: cents at least, and no more digits than there are.
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
    fn money_is_shown_exactly() {
        let shown =
            [0, 1, 10_000, 1_500_000, 2_345_678, u64::MAX].map(|it| Dollars(it).to_string());
        let wanted =
            ["$0.00", "$0.000001", "$0.01", "$1.50", "$2.345678", "$18446744073709.551615"];
        assert_eq!(shown, wanted);
    }
}
