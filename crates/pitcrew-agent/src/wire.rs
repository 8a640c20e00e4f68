//! The agent's side of ACP: the only module that names the protocol library.

use agent_client_protocol::{Client, v1::ConnectionTo};
use serde_json::Value;
use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

pub(crate) use agent_client_protocol::{
    Agent, Error, Stdio, on_receive_notification, on_receive_request,
    v1::{
        Responder,
        schema::{
            AgentCapabilities, CancelNotification, CloseSessionRequest, CloseSessionResponse,
            ContentBlock, Implementation, InitializeRequest, InitializeResponse, McpServer,
            NewSessionRequest, NewSessionResponse, PromptRequest, PromptResponse,
            SessionCapabilities, SessionCloseCapabilities, SessionId, StopReason, ToolKind, Usage,
        },
    },
};
use agent_client_protocol::{
    schema::ProtocolVersion,
    v1::schema::{
        ContentChunk, Cost, Diff, PermissionOption, PermissionOptionKind, RequestPermissionOutcome,
        RequestPermissionRequest, SessionNotification, SessionUpdate, ToolCall, ToolCallContent,
        ToolCallId, ToolCallLocation, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
        UsageUpdate,
    },
};

pub(crate) type Connection = ConnectionTo<Client>;

/// Larger texts are not shown as a difference.
const DIFF_BYTES_MAX: usize = 64 * 1_024;

/// What the client said to a request for permission.
pub(crate) enum Verdict {
    Allowed,
    Rejected,
    Cancelled,
}

/// Tells the client what happens in one session.
pub(crate) struct Teller {
    connection: Connection,
    session: SessionId,
    calls_count: AtomicU64,
}

/// A step that is being done, as the client knows it.
pub(crate) struct Doing {
    id: ToolCallId,
    title: String,
    kind: ToolKind,
    input: Value,
}

/// Before and after of a file.
pub(crate) struct Change {
    pub path: PathBuf,
    pub old: Option<String>,
    pub new: String,
}

impl Teller {
    pub fn new(connection: Connection, session: SessionId) -> Self {
        Self { connection, session, calls_count: AtomicU64::new(0) }
    }

    /// A client that is gone cannot be told; the connection ends by itself then.
    fn update(&self, update: SessionUpdate) {
        let notification = SessionNotification::new(self.session.clone(), update);
        self.connection.send_notification(notification).ok();
    }

    pub fn say(&self, text: &str) {
        let chunk = ContentChunk::new(format!("{text}\n").into());
        self.update(SessionUpdate::AgentMessageChunk(chunk));
    }

    /// A piece of what is being said.
    pub fn saying(&self, text: &str) {
        let chunk = ContentChunk::new(text.to_owned().into());
        self.update(SessionUpdate::AgentMessageChunk(chunk));
    }

    /// A piece of what is being thought.
    pub fn thinking(&self, text: &str) {
        let chunk = ContentChunk::new(text.to_owned().into());
        self.update(SessionUpdate::AgentThoughtChunk(chunk));
    }

    /// How full the conversation is, and what the session has cost where that is known.
    pub fn used(&self, tokens: u64, tokens_max: u64, cost_micros: Option<u64>) {
        // By way of decimal digits: a sum of money is told as it is.
        let dollars = |micros: u64| format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
        let cost = cost_micros.and_then(|it| dollars(it).parse().ok());
        let cost = cost.map(|it: f64| Cost::new(it, "USD"));
        let update = UsageUpdate::new(tokens, tokens_max).cost(cost);
        self.update(SessionUpdate::UsageUpdate(update));
    }

    pub fn begin(&self, kind: ToolKind, title: &str, path: Option<&Path>, input: Value) -> Doing {
        let number = self.calls_count.fetch_add(1, Ordering::Relaxed) + 1;
        let id = ToolCallId::new(format!("step-{number}"));
        let locations = path.map(ToolCallLocation::new).into_iter().collect();
        let call = ToolCall::new(id.clone(), title)
            .kind(kind)
            .status(ToolCallStatus::InProgress)
            .locations(locations)
            .raw_input(input.clone());
        self.update(SessionUpdate::ToolCall(call));
        Doing { id, title: title.to_owned(), kind, input }
    }

    /// What the step has given back so far, in place of what was told before.
    pub fn so_far(&self, doing: &Doing, output: &str) {
        let fields = ToolCallUpdateFields::new().content(texts(output));
        self.update(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(doing.id.clone(), fields)));
    }

    pub fn done(&self, doing: &Doing, output: &str) {
        self.ended(doing, ToolCallStatus::Completed, texts(output));
    }

    pub fn changed(&self, doing: &Doing, change: Change) {
        let size = change.new.len() + change.old.as_ref().map_or(0, String::len);
        let content = if size <= DIFF_BYTES_MAX {
            vec![Diff::new(change.path, change.new).old_text(change.old).into()]
        } else {
            texts(&format!("{} bytes written", change.new.len()))
        };
        self.ended(doing, ToolCallStatus::Completed, content);
    }

    pub fn failed(&self, doing: &Doing, output: &str) {
        self.ended(doing, ToolCallStatus::Failed, texts(output));
    }

    fn ended(&self, doing: &Doing, status: ToolCallStatus, content: Vec<ToolCallContent>) {
        let mut fields = ToolCallUpdateFields::new().status(status);
        if !content.is_empty() {
            fields = fields.content(content);
        }
        self.update(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(doing.id.clone(), fields)));
    }

    /// Asks for permission to do the step.
    pub async fn permission(&self, doing: &Doing) -> Result<Verdict, Error> {
        const ALLOW: &str = "allow";
        let option = PermissionOption::new;
        let options = vec![
            option(ALLOW, "Allow", PermissionOptionKind::AllowOnce),
            option("reject", "Reject", PermissionOptionKind::RejectOnce),
        ];
        let fields = ToolCallUpdateFields::new()
            .title(doing.title.clone())
            .kind(doing.kind)
            .raw_input(doing.input.clone());
        let call = ToolCallUpdate::new(doing.id.clone(), fields);
        let request = RequestPermissionRequest::new(self.session.clone(), call, options);
        let answer = self.connection.send_request(request).block_task().await?;
        Ok(match answer.outcome {
            RequestPermissionOutcome::Selected(it) if &*it.option_id.0 == ALLOW => Verdict::Allowed,
            RequestPermissionOutcome::Selected(_) => Verdict::Rejected,
            // The library's enum may grow; nothing but a choice is permission.
            RequestPermissionOutcome::Cancelled | _ => Verdict::Cancelled,
        })
    }
}

fn texts(text: &str) -> Vec<ToolCallContent> {
    if text.is_empty() { Vec::new() } else { vec![text.to_owned().into()] }
}

/// The answer to `initialize`.
pub(crate) fn introduction() -> InitializeResponse {
    let session = SessionCapabilities::new().close(SessionCloseCapabilities::new());
    InitializeResponse::new(ProtocolVersion::V1)
        .agent_capabilities(AgentCapabilities::new().session_capabilities(session))
        .agent_info(Implementation::new("pitcrew-agent", env!("CARGO_PKG_VERSION")))
}

/// The model gave no answer. Whoever drives us decides by `kind` what becomes of the task.
pub(crate) fn no_answer(kind: &str, reset_at_ms: Option<u64>, message: impl Into<String>) -> Error {
    const AUTH_REQUIRED: i32 = -32000;
    const INTERNAL: i32 = -32603;
    let code = if kind == "auth" { AUTH_REQUIRED } else { INTERNAL };
    let mut data = serde_json::json!({ "errorKind": kind });
    if let Some(reset_at_ms) = reset_at_ms {
        data["resetAt"] = reset_at_ms.into();
    }
    Error::new(code, message.into()).data(data)
}

pub(crate) fn invalid(message: impl Into<String>) -> Error {
    Error::new(-32602, message.into())
}
