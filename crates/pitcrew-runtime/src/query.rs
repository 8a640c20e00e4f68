//! How a question about code of others stands: asked of the kernel's state itself.

use crate::handle::Handle;
use pitcrew_kernel::{QueryStage, State};
use pitcrew_model::{AttemptId, QueryId, QueryOutcome};

/// Where a question stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asking {
    /// It was never asked, or its answer is not kept any more.
    Unknown,
    /// It goes on, or its asker waits for a slot to hear how it ended.
    Open,
    Ended(Told),
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    pub query: QueryId,
    pub outcome: QueryOutcome,
    pub text: String,
    pub tokens_spent: u64,
    pub tokens_saved: u64,
}

impl Handle {
    /// The question that the attempt's worker asked under this name. Absent when we are shutting
    /// down.
    pub async fn query(&self, attempt: AttemptId, nonce: String) -> Option<Asking> {
        let look = move |state: &State| {
            let worker = state.attempts.get(attempt).map(|it| it.worker);
            let query = worker.and_then(|it| state.query_named(it, &nonce));
            let Some(query) = query else { return Asking::Unknown };
            match query.stage {
                QueryStage::Ended { outcome } if state.is_query_told(query) => {
                    Asking::Ended(Told {
                        query: query.id,
                        outcome,
                        text: query.answer.clone(),
                        tokens_spent: query.spent,
                        tokens_saved: query.saved,
                    })
                }
                QueryStage::AtIndex | QueryStage::AtOwner { .. } | QueryStage::Ended { .. } => {
                    Asking::Open
                }
            }
        };
        self.look(look).await
    }
}
