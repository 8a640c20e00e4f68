//! Detects an agent that waits silently for a limit which only its stderr mentions.

use super::Connection;
use crate::{
    fault,
    frame::{self, number},
};
use pitcrew_model::{EffectId, StopReason, Timestamp};
use serde_json::{Value, json};
use std::{
    convert::Infallible,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use tokio::time::sleep;

const LOOKS_APART: Duration = Duration::from_secs(2);
/// Shorter waits are left alone.
const SILENCE_MS_MIN: u64 = 10_000;
/// Lines of stdout and stderr this close together may have come in any order.
const TOGETHER_MS: u64 = 3_000;

impl Connection {
    /// Ends the turn of an agent whose wait may take long. The notification that asks the agent to
    /// end it contains the reason, for a process that reads the spool later.
    pub(super) async fn end_silent_wait(&self, effect: EffectId, session: &str) -> Infallible {
        if self.profile.log_errors.is_empty() {
            return std::future::pending().await;
        }
        let stop = loop {
            sleep(LOOKS_APART).await;
            if let Some(stop) = self.silent_trouble() {
                break stop;
            }
        };
        let params = json!({ "sessionId": session, "_meta": { "pitcrew": { "stop": stop } } });
        let frame = frame::notification("session/cancel", &params);
        self.send_small(number::give_up(effect), &frame).await;
        std::future::pending().await
    }

    /// What the open turn waits for, if its last output is a stderr line that matches a rule.
    fn silent_trouble(&self) -> Option<StopReason> {
        let heard_at = {
            let state = self.state();
            let is_waiting = state.turn.is_some() && state.asks.is_empty();
            is_waiting.then_some(state.heard_at_ms)?
        };
        let now = timestamp(SystemTime::now());
        if now.0 < heard_at.0.saturating_add(SILENCE_MS_MIN) {
            return None;
        }
        let said =
            self.shim.last_stderr_line(self.profile.log_turn.as_deref().unwrap_or_default())?;
        let at = timestamp(said.at);
        let is_settled = now.0 >= at.0.saturating_add(SILENCE_MS_MIN);
        let is_newest = at.0.saturating_add(TOGETHER_MS) >= heard_at.0;
        if !is_settled || !is_newest {
            return None;
        }
        let (cause, message) = fault::of_log(&said.line, &self.profile.log_errors, at, now)?;
        Some(StopReason::Error { cause, message })
    }
}

pub(super) fn timestamp(time: SystemTime) -> Timestamp {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// Why a turn was given up, if the notification that ends it contains the reason.
pub(super) fn given_up(params: &Value) -> Option<StopReason> {
    serde_json::from_value(params["_meta"]["pitcrew"]["stop"].clone()).ok()
}
