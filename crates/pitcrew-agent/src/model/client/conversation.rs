//! What was said in a session, and about how much it is.

use super::{Answer, Call};
use genai::chat::{ChatMessage, ToolResponse};

/// A token has about four letters of English, and fewer of anything else.
const BYTES_PER_TOKEN: u64 = 3;

/// Everything that was said in a session.
#[derive(Default)]
pub(crate) struct Conversation {
    messages: Vec<ChatMessage>,
    /// What the provider counted at its last answer.
    tokens_counted: u64,
    /// What has come since.
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

    /// What came of the calls of the last answer, in their order.
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

    /// About how much it is by now, with what goes along with every call.
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
