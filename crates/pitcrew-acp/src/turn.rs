//! One turn of an agent, from the prompt to its end.

use crate::{
    fault::{self, ErrorContext},
    frame::Answer,
    need::Needs,
    plain::plain,
    session::TurnEnd,
};
use pitcrew_model::{EffectId, ErrorCause, StopReason, Usage, limits, text};
use serde_json::Value;
use tokio::sync::oneshot;

/// An open turn.
#[derive(Debug)]
pub(crate) struct Turn {
    pub effect: EffectId,
    /// Receives its result; `None` for a turn that started before we attached.
    pub waiter: Option<oneshot::Sender<TurnEnd>>,
    pub words: Words,
    pub needs: Needs,
    /// The agent's latest own description of the session state.
    pub marks: Vec<String>,
    /// The agent was asked to end it.
    pub is_cancelled: bool,
}

/// The agent's latest message. Text before a tool call is not the last message.
#[derive(Debug, Default)]
pub(crate) struct Words {
    text: String,
    /// The length of the last chunk.
    piece_bytes: usize,
    superseded: bool,
}

impl Words {
    pub fn say(&mut self, chunk: &str) {
        if chunk.is_empty() {
            return;
        }
        if std::mem::take(&mut self.superseded) {
            self.text.clear();
        }
        self.text.push_str(chunk);
        self.piece_bytes = chunk.len();
        if self.text.len() > 4 * limits::OUTPUT_TAIL_BYTES {
            self.text = text::tail(&self.text, limits::OUTPUT_TAIL_BYTES).to_owned();
        }
    }

    pub fn supersede(&mut self) {
        self.superseded = true;
    }

    /// The text after the last tool call, if any.
    pub fn last_message(&self) -> Option<&str> {
        (!self.superseded && !self.text.is_empty()).then_some(self.text.as_str())
    }

    /// The last chunk. Agents insert their own text between the model's without a line break.
    pub fn last_piece(&self) -> Option<&str> {
        let start = self.text.len().checked_sub(self.piece_bytes)?;
        self.last_message()?.get(start..)
    }

    pub fn last(&self) -> String {
        plain(text::tail(self.text.trim(), limits::OUTPUT_TAIL_BYTES))
    }
}

impl Turn {
    pub fn new(effect: EffectId) -> Self {
        let (words, needs, marks) = (Words::default(), Needs::default(), Vec::new());
        Self { effect, waiter: None, words, needs, marks, is_cancelled: false }
    }

    pub fn say(&mut self, chunk: &str) {
        self.words.say(chunk);
        self.needs.say(chunk);
    }

    /// A tool call ends the message.
    pub fn end_message(&mut self) {
        self.words.supersede();
        self.needs.end_message();
    }

    /// Output before the prompt belongs to no turn.
    pub fn begin(&mut self) {
        self.words = Words::default();
        self.needs = Needs::default();
        self.marks.clear();
    }

    pub fn is_waited_for(&self) -> bool {
        self.waiter.as_ref().is_some_and(|it| !it.is_closed())
    }

    /// The result of the turn that was answered with this.
    ///
    /// Errors after a cancel are not errors of the model.
    pub fn stop(&self, answer: &Answer, known: &ErrorContext<'_>) -> StopReason {
        let stop = match answer {
            Ok(answer) => stop_reason(answer),
            Err(error) => {
                let cause = fault::of_answer(error, known);
                StopReason::Error { cause, message: fault::said(cause, error.to_string()) }
            }
        };
        if self.is_cancelled {
            return if is_error(&stop) { StopReason::Cancelled } else { stop };
        }
        let said = || fault::of_words(&self.words, &self.marks, known);
        match (stop == StopReason::EndTurn).then(said).flatten() {
            Some((cause, message)) => {
                StopReason::Error { cause, message: fault::said(cause, message) }
            }
            None => stop,
        }
    }

    /// Ends the turn. Returns the result if no caller waits for it.
    pub fn finish(self, stop: StopReason, usage: Usage) -> Option<TurnEnd> {
        let (last_words, needs) = (self.words.last(), self.needs.take());
        let end = TurnEnd { stop, usage, last_words, needs };
        match self.waiter {
            Some(waiter) => waiter.send(end).err(),
            None => Some(end),
        }
    }
}

pub(crate) fn is_error(stop: &StopReason) -> bool {
    matches!(stop, StopReason::Error { .. })
}

/// Parsed by hand: the protocol library rejects the whole answer if it does not know the reason.
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
    fn the_last_message_is_after_the_last_tool_call() {
        let mut words = Words::default();
        words.say("I look. ");
        words.supersede();
        assert_eq!(words.last(), "I look.", "a tool call alone is not a message");
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
