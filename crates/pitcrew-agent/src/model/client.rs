//! Sends requests to a model. The only module that uses the provider library.

mod answer;
mod conversation;
mod errors;

pub(crate) use answer::{Answer, Call, Stop};
pub(crate) use conversation::Conversation;

use super::{Failure, Key, ModelSetup, ToolSpec, failure::Secret};
use answer::answer_of;
use errors::of_error;
use futures::StreamExt;
use genai::{
    ModelIden, ServiceTarget,
    adapter::AdapterKind,
    chat::{CacheControl, ChatOptions, ChatRequest, ChatStreamEvent, MessageOptions, Tool},
    resolver::{AuthData, Endpoint},
};
use pitcrew_model::{ModelProvider, text};
use std::time::Duration;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// Longer than a model needs for its first token.
const FIRST_WORD_TIMEOUT: Duration = Duration::from_mins(10);
/// A stream that is silent this long is dead.
const NEXT_WORD_TIMEOUT: Duration = Duration::from_mins(5);
/// The largest answer. It fits into a protocol frame, however it is encoded.
const ANSWER_BYTES_MAX: usize = 512 * 1_024;

/// A part of a streamed answer.
pub(crate) enum Piece<'a> {
    Said(&'a str),
    Thought(&'a str),
}

/// A connection to one model.
pub(crate) struct Client {
    library: genai::Client,
    target: ServiceTarget,
    options: ChatOptions,
    provider: ModelProvider,
    secret: Secret,
}

impl Client {
    pub fn new(setup: &ModelSetup) -> Result<Self, Failure> {
        let failed = |reason: String| Failure::Lasting { reason };
        // If another caller has installed it already, that is fine.
        rustls::crypto::ring::default_provider().install_default().ok();
        let web = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            // A redirect would send the key to another host.
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|error| failed(format!("failed to set up TLS: {}", text::chain(&error))))?;
        let library = genai::Client::builder().with_reqwest(web).build();
        let library = library.map_err(|error| failed(error.to_string()))?;
        let (auth, secret) = match &setup.key {
            Key::NotNeeded => (AuthData::from_single("none"), Secret::default()),
            Key::Given(key) => (AuthData::from_single(key.clone()), Secret::new(key)),
            Key::Missing(what) => return Err(Failure::Auth { reason: what.clone() }),
        };
        let kind = match setup.provider {
            ModelProvider::Anthropic => AdapterKind::Anthropic,
            ModelProvider::OpenAi => AdapterKind::OpenAI,
            ModelProvider::Gemini => AdapterKind::Gemini,
            ModelProvider::Ollama => AdapterKind::Ollama,
        };
        let endpoint = setup.endpoint.as_deref().unwrap_or(setup.provider.endpoint());
        let endpoint = Endpoint::from_owned(format!("{}/", endpoint.trim_end_matches('/')));
        let model = ModelIden::new(kind, setup.name.clone());
        let target = ServiceTarget { endpoint, auth, model };
        let mut options = ChatOptions::default()
            .with_capture_content(true)
            .with_capture_reasoning_content(true)
            .with_capture_tool_calls(true)
            .with_capture_usage(true)
            .with_stream_header_timeout(FIRST_WORD_TIMEOUT)
            .with_stream_read_timeout(NEXT_WORD_TIMEOUT);
        options.max_tokens = setup.max_output_tokens;
        Ok(Self { library, target, options, provider: setup.provider, secret })
    }

    /// Requests the next answer, and reports its pieces as they arrive.
    pub async fn ask(
        &self,
        system: &str,
        tools: &[ToolSpec],
        conversation: &Conversation,
        mut tell: impl FnMut(Piece<'_>) + Send,
    ) -> Result<Answer, Failure> {
        let request = self.request(system, tools, conversation);
        let answer =
            self.library.exec_chat_stream(self.target.clone(), request, Some(&self.options)).await;
        let mut stream = answer.map_err(|error| of_error(&error, &self.secret))?.stream;
        let mut bytes_count = 0;
        while let Some(event) = stream.next().await {
            bytes_count += match event.map_err(|error| of_error(&error, &self.secret))? {
                ChatStreamEvent::Chunk(it) => {
                    tell(Piece::Said(&it.content));
                    it.content.len()
                }
                ChatStreamEvent::ReasoningChunk(it) => {
                    tell(Piece::Thought(&it.content));
                    it.content.len()
                }
                // Some providers repeat a call with each piece of it.
                ChatStreamEvent::ToolCallChunk(it) if it.tool_call.size() > ANSWER_BYTES_MAX => {
                    return Err(too_long());
                }
                ChatStreamEvent::ToolCallChunk(_)
                | ChatStreamEvent::Start
                | ChatStreamEvent::ThoughtSignatureChunk(_)
                | ChatStreamEvent::Heartbeat => 0,
                ChatStreamEvent::End(end) => return answer_of(end),
            };
            if bytes_count > ANSWER_BYTES_MAX {
                return Err(too_long());
            }
        }
        Err(Failure::Passing { reason: "the answer broke off".to_owned() })
    }

    fn request(
        &self,
        system: &str,
        tools: &[ToolSpec],
        conversation: &Conversation,
    ) -> ChatRequest {
        let mut messages = conversation.messages();
        // Only Anthropic needs explicit cache markers.
        if self.provider == ModelProvider::Anthropic
            && let Some(last) = messages.last_mut()
        {
            last.options = Some(MessageOptions::from(CacheControl::Ephemeral));
        }
        let tools = tools.iter().map(|it| {
            Tool::new(it.name.clone())
                .with_description(it.description.clone())
                .with_schema(it.schema.clone())
        });
        ChatRequest::new(messages).with_system(system).with_tools(tools)
    }
}

fn too_long() -> Failure {
    let reason = format!("the model's answer is longer than {ANSWER_BYTES_MAX} bytes");
    Failure::Lasting { reason }
}
