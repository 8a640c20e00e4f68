//! One turn of an agent, from the prompt to its end.

use crate::{frame::RpcError, plain::plain, session::TurnEnd};
use pitcrew_model::{EffectId, ErrorCause, StopReason, Usage, limits, text};
use serde_json::Value;
use tokio::sync::oneshot;

/// A turn that is going on.
#[derive(Debug)]
pub(crate) struct Turn {
    pub effect: EffectId,
    /// Whoever waits for its end; nobody in a turn that was begun before we came.
    pub waiter: Option<oneshot::Sender<TurnEnd>>,
    pub words: Words,
}

/// The agent's latest message. What it said before a tool call is not its last word.
#[derive(Debug, Default)]
pub(crate) struct Words {
    text: String,
    superseded: bool,
}

impl Words {
    pub fn say(&mut self, chunk: &str) {
        if std::mem::take(&mut self.superseded) {
            self.text.clear();
        }
        self.text.push_str(chunk);
        if self.text.len() > 4 * limits::OUTPUT_TAIL_BYTES {
            self.text = text::tail(&self.text, limits::OUTPUT_TAIL_BYTES).to_owned();
        }
    }

    pub fn supersede(&mut self) {
        self.superseded = true;
    }

    pub fn last(&self) -> String {
        plain(text::tail(self.text.trim(), limits::OUTPUT_TAIL_BYTES))
    }
}

impl Turn {
    pub fn new(effect: EffectId) -> Self {
        Self { effect, waiter: None, words: Words::default() }
    }

    pub fn is_waited_for(&self) -> bool {
        self.waiter.as_ref().is_some_and(|it| !it.is_closed())
    }

    /// Ends the turn with the agent's answer to the prompt. Gives back the end where nobody waits
    /// for it any more, or not yet.
    pub fn finish(self, answer: &Result<Value, RpcError>, usage: Usage) -> Option<TurnEnd> {
        let stop = match answer {
            Ok(answer) => stop_reason(answer),
            Err(error) => {
                StopReason::Error { cause: ErrorCause::Other, message: error.to_string() }
            }
        };
        let end = TurnEnd { stop, usage, last_words: self.words.last() };
        match self.waiter {
            Some(waiter) => waiter.send(end).err(),
            None => Some(end),
        }
    }
}

/// Read by hand: the protocol library fails the whole answer over a reason it does not know.
fn stop_reason(answer: &Value) -> StopReason {
    match answer["stopReason"].as_str() {
        Some("end_turn") => StopReason::EndTurn,
        Some("max_tokens") => StopReason::MaxTokens,
        Some("max_turn_requests") => StopReason::MaxTurnRequests,
        Some("refusal") => StopReason::Refusal,
        Some("cancelled") => StopReason::Cancelled,
        Some(reason) => {
            let reason = crate::plain::one_line(reason, limits::NAME_BYTES_MAX);
            StopReason::Error {
                cause: ErrorCause::Other,
                message: format!("unknown stop reason `{reason}`"),
            }
        }
        None => StopReason::Error {
            cause: ErrorCause::Other,
            message: "the turn ended without a stop reason".into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_are_those_after_the_last_tool_call() {
        let mut words = Words::default();
        words.say("I look. ");
        words.supersede();
        assert_eq!(words.last(), "I look.", "a tool call alone says nothing new");
        words.say("All ");
        words.say("done.\u{1b}[0m");
        assert_eq!(words.last(), "All done.");
        for _ in 0..100 {
            words.say(&"日".repeat(1_000));
        }
        assert!(words.text.len() <= 4 * limits::OUTPUT_TAIL_BYTES);
        assert!(words.last().len() <= limits::OUTPUT_TAIL_BYTES);
    }
}
