//! Queries an agent's total usage if it does not report that by itself.

use super::Connection;
use crate::{frame::number, session::TurnEnd};
use pitcrew_model::{EffectId, Usage};
use serde_json::json;
use std::time::Duration;
use tokio::time::timeout;

/// Agents answer within milliseconds. If one does not, its own report is used.
const TOTALS_MAX: Duration = Duration::from_secs(3);

impl Connection {
    /// Adds the usage and the cost to the end of a turn, if the backend has a query for it.
    ///
    /// A process that reattaches at the end of a turn repeats the query: the shim sends it only
    /// once, and an earlier answer is found.
    pub async fn with_total_usage(&self, effect: EffectId, session: &str, end: TurnEnd) -> TurnEnd {
        let usage = self.query_totals(effect, session).await.unwrap_or(end.usage);
        let usage = self.profile.prices.priced(usage, self.state().model.as_deref());
        TurnEnd { usage, ..end }
    }

    async fn query_totals(&self, effect: EffectId, session: &str) -> Option<Usage> {
        let method = self.profile.usage_method.as_ref()?;
        let (number, params) = (number::usage(effect), json!({ "sessionId": session }));
        match timeout(TOTALS_MAX, self.request(number, method, &params)).await {
            Ok(Ok(Ok(_))) => Some(self.state().usage.last_turn()),
            // The agent is gone, does not know the method, or is too slow.
            Ok(Ok(Err(_)) | Err(_)) | Err(_) => None,
        }
    }
}
