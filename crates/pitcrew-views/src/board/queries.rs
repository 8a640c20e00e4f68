//! Counts, cost and savings of queries.

use super::facts::{Board, Plan};
use crate::words::grouped;
use pitcrew_model::QueryOutcome;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Queries by outcome. Tokens are estimates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueryTally {
    /// Answered from the index.
    pub indexed_count: u64,
    /// Answered by the owners, now or earlier.
    pub answered_count: u64,
    /// Without an answer.
    pub unanswered_count: u64,
    pub tokens_spent: u64,
    pub tokens_saved: u64,
}

impl QueryTally {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn count(&mut self, outcome: QueryOutcome, spent: u64, saved: u64) {
        let count = match outcome {
            QueryOutcome::Indexed => &mut self.indexed_count,
            QueryOutcome::Cached { .. }
            | QueryOutcome::Answered { .. }
            | QueryOutcome::Overheard { .. } => &mut self.answered_count,
            QueryOutcome::NotFound
            | QueryOutcome::NotAvailable { .. }
            | QueryOutcome::OverBudget { .. }
            | QueryOutcome::TimedOut { .. }
            | QueryOutcome::Withdrawn => &mut self.unanswered_count,
        };
        *count += 1;
        self.tokens_spent = self.tokens_spent.saturating_add(spent);
        self.tokens_saved = self.tokens_saved.saturating_add(saved);
    }

    fn plus(self, other: Self) -> Self {
        Self {
            indexed_count: self.indexed_count + other.indexed_count,
            answered_count: self.answered_count + other.answered_count,
            unanswered_count: self.unanswered_count + other.unanswered_count,
            tokens_spent: self.tokens_spent.saturating_add(other.tokens_spent),
            tokens_saved: self.tokens_saved.saturating_add(other.tokens_saved),
        }
    }
}

/// `4 questions answered from the index, 1 by their owners, about 12 400 tokens saved, 0 spent`.
impl fmt::Display for QueryTally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.indexed_count == 1 { "question" } else { "questions" };
        write!(f, "{} {word} answered from the index", self.indexed_count)?;
        if self.answered_count > 0 {
            write!(f, ", {} by their owners", self.answered_count)?;
        }
        if self.unanswered_count > 0 {
            write!(f, ", {} not answered", self.unanswered_count)?;
        }
        let (saved, spent) = (grouped(self.tokens_saved), grouped(self.tokens_spent));
        write!(f, ", about {saved} tokens saved, {spent} spent")
    }
}

impl Board {
    pub(super) fn queries_of_plan(&self, plan: &Plan) -> QueryTally {
        let attempts = self.units(&plan.tasks).into_iter().flat_map(|it| &it.attempts);
        let attempts = attempts.filter_map(|it| self.attempts.get(it));
        attempts.fold(QueryTally::default(), |total, it| total.plus(it.queries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pitcrew_model::WorkerId;

    #[test]
    fn a_tally_contains_the_savings() {
        let mut tally = QueryTally::default();
        for _ in 0..4 {
            tally.count(QueryOutcome::Indexed, 0, 3_100);
        }
        let text = "4 questions answered from the index, about 12 400 tokens saved, 0 spent";
        assert_eq!(tally.to_string(), text);
        tally.count(QueryOutcome::Answered { owner: WorkerId(2) }, 51, 0);
        tally.count(QueryOutcome::NotFound, 0, 0);
        assert_eq!(
            tally.to_string(),
            "4 questions answered from the index, 1 by their owners, 1 not answered, about 12 400 tokens saved, 51 spent"
        );
    }
}
