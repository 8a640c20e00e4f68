//! Asks an agent what it has used, where it does not tell all of that by itself.

use super::Connection;
use crate::{frame::number, session::TurnEnd};
use pitcrew_model::{EffectId, Usage};
use serde_json::json;
use std::time::Duration;
use tokio::time::timeout;

/// Agents answer within milliseconds. One that does not is believed what it said by itself.
const TOTALS_MAX: Duration = Duration::from_secs(3);

impl Connection {
    /// The end of a turn with all that it took, where the backend knows how to ask, and its cost.
    ///
    /// Whoever comes back to the end of a turn asks again: the shim passes it on once, and what was
    /// answered before is found.
    pub async fn counted(&self, effect: EffectId, session: &str, end: TurnEnd) -> TurnEnd {
        let usage = self.asked_usage(effect, session).await.unwrap_or(end.usage);
        let usage = self.profile.prices.priced(usage, self.state().model.as_deref());
        TurnEnd { usage, ..end }
    }

    async fn asked_usage(&self, effect: EffectId, session: &str) -> Option<Usage> {
        let method = self.profile.usage_method.as_ref()?;
        let (number, params) = (number::usage(effect), json!({ "sessionId": session }));
        match timeout(TOTALS_MAX, self.request(number, method, &params)).await {
            Ok(Ok(Ok(_))) => Some(self.state().usage.last_turn()),
            // It is gone, does not know the method, or takes its time.
            Ok(Ok(Err(_)) | Err(_)) | Err(_) => None,
        }
    }
}
