//! The conversation of a session, and an estimate of its size.

use super::{Answer, Call};
use genai::chat::{ChatMessage, ToolResponse};

/// A token is about four letters of English, and fewer in other languages.
const BYTES_PER_TOKEN: u64 = 3;

/// All messages of a session.
#[derive(Default)]
pub(crate) struct Conversation {
    messages: Vec<ChatMessage>,
    /// The size that the provider reported with its last answer.
    tokens_counted: u64,
    /// The bytes added since then.
    bytes_uncounted: usize,
}

impl Conversation {
    pub fn hear(&mut self, words: &str) {
        self.add(ChatMessage::user(words));
    }

    pub fn answered(&mut self, answer: &Answer) {
        if answer.content.is_empty() {
            return;
        }
        self.messages.push(ChatMessage::assistant(answer.content.clone()));
        let counted = answer.tokens.total();
        if counted == 0 {
            self.bytes_uncounted += answer.content.size();
        } else {
            self.tokens_counted = counted;
            self.bytes_uncounted = 0;
        }
    }

    /// Adds the results of the last answer's calls, in order.
    pub fn results(&mut self, results: Vec<(Call, String)>) {
        let responses = results
            .into_iter()
            .map(|(call, text)| ToolResponse::new(call.id, text).with_fn_name(call.name));
        let responses: Vec<ToolResponse> = responses.collect();
        self.add(ChatMessage::from(responses));
    }

    fn add(&mut self, message: ChatMessage) {
        self.bytes_uncounted += message.size();
        self.messages.push(message);
    }

    /// The estimated size, including the fixed part of every request.
    pub fn tokens(&self, along_bytes: usize) -> u64 {
        let along_bytes = if self.tokens_counted == 0 { along_bytes } else { 0 };
        let uncounted = (self.bytes_uncounted + along_bytes) as u64;
        let uncounted = uncounted.div_ceil(BYTES_PER_TOKEN);
        self.tokens_counted.saturating_add(uncounted)
    }
}

impl Conversation {
    pub(super) fn messages(&self) -> Vec<ChatMessage> {
        self.messages.clone()
    }
}
