//! The state of a question about code, read from the kernel's state.

use crate::handle::Handle;
use pitcrew_kernel::{QueryStage, State};
use pitcrew_model::{AttemptId, QueryId, QueryOutcome};

/// The state of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueryState {
    /// The question is unknown, or its answer is no longer stored.
    Unknown,
    /// The question is in progress, or the asker waits for a slot to receive the answer.
    Open,
    Ended(QueryAnswer),
}

/// The result of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryAnswer {
    pub query: QueryId,
    pub outcome: QueryOutcome,
    pub text: String,
    pub tokens_spent: u64,
    pub tokens_saved: u64,
}

impl Handle {
    /// The question that the attempt's worker asked with this nonce. `None` during shutdown.
    pub async fn query(&self, attempt: AttemptId, nonce: String) -> Option<QueryState> {
        let look = move |state: &State| {
            let worker = state.attempts.get(attempt).map(|it| it.worker);
            let query = worker.and_then(|it| state.query_named(it, &nonce));
            let Some(query) = query else { return QueryState::Unknown };
            match query.stage {
                QueryStage::Ended { outcome } if state.is_query_told(query) => {
                    QueryState::Ended(QueryAnswer {
                        query: query.id,
                        outcome,
                        text: query.answer.clone(),
                        tokens_spent: query.spent,
                        tokens_saved: query.saved,
                    })
                }
                QueryStage::AtIndex | QueryStage::AtOwner { .. } | QueryStage::Ended { .. } => {
                    QueryState::Open
                }
            }
        };
        self.look(look).await
    }
}
