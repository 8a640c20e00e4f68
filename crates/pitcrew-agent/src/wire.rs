//! The agent's side of ACP: the only module that names the protocol library.

use crate::script::Answer;
use agent_client_protocol::{Client, v1::ConnectionTo};
use serde_json::{Map, Value};
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
        ContentChunk, Cost, Diff, PermissionOption, PermissionOptionKind, ReadTextFileRequest,
        RequestPermissionOutcome, RequestPermissionRequest, SessionNotification, SessionUpdate,
        ToolCall, ToolCallContent, ToolCallId, ToolCallLocation, ToolCallStatus, ToolCallUpdate,
        ToolCallUpdateFields, UsageUpdate, WriteTextFileRequest,
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

/// Files, through the client.
impl Teller {
    /// Nothing where there is no such file.
    pub async fn read_file(
        &self,
        file: &Path,
        first: u64,
        count: Option<u64>,
    ) -> Result<Option<String>, String> {
        let number = |it: u64| u32::try_from(it).unwrap_or(u32::MAX);
        let request = ReadTextFileRequest::new(self.session.clone(), file)
            .line((first > 1).then(|| number(first)))
            .limit(count.map(number));
        match self.connection.send_request(request).block_task().await {
            Ok(answer) => Ok(Some(answer.content)),
            Err(error) => match Refused::of(&error) {
                Refused { code: NOT_FOUND, .. } => Ok(None),
                refused => Err(refused.told()),
            },
        }
    }

    pub async fn write_file(&self, file: &Path, text: &str) -> Result<(), String> {
        let request = WriteTextFileRequest::new(self.session.clone(), file, text);
        let written = self.connection.send_request(request).block_task().await;
        written.map(|_| ()).map_err(|it| Refused::of(&it).told())
    }

    /// Calls a method of the client for files as if it were a tool.
    pub async fn file_method(
        &self,
        method: &str,
        arguments: &Map<String, Value>,
        cwd: &Path,
    ) -> Result<Answer, Answer> {
        let text = |key: &str| arguments.get(key).and_then(Value::as_str).unwrap_or_default();
        let number = |key: &str| arguments.get(key)?.as_u64()?.try_into().ok();
        let (session, file) = (self.session.clone(), cwd.join(text("path")));
        let answered = if method == "fs/read_text_file" {
            let request = ReadTextFileRequest::new(session, file);
            let request = request.line(number("line")).limit(number("limit"));
            let answer = self.connection.send_request(request).block_task().await;
            answer.map(|it| it.content)
        } else if method == "fs/write_text_file" {
            let request = WriteTextFileRequest::new(session, file, text("content"));
            let answer = self.connection.send_request(request).block_task().await;
            answer.map(|_| "written".to_owned())
        } else {
            let text = format!("there is no method `{method}` for files");
            return Err(Answer { text, structured: None });
        };
        answered.map(|text| Answer { text, structured: None }).map_err(|error| {
            let Refused { code, message, data } = Refused::of(&error);
            Answer { text: format!("{message} (code {code})"), structured: data }
        })
    }
}

const NOT_FOUND: i64 = -32002;

/// What the client answered with, read by hand: the library's type may grow.
struct Refused {
    code: i64,
    message: String,
    data: Option<Value>,
}

impl Refused {
    fn of(error: &Error) -> Self {
        let error = serde_json::to_value(error).unwrap_or_default();
        Self {
            code: error["code"].as_i64().unwrap_or_default(),
            message: error["message"].as_str().unwrap_or("refused").to_owned(),
            data: error.get("data").filter(|it| !it.is_null()).cloned(),
        }
    }

    /// For a model: an outline is what it would have read the file for.
    fn told(self) -> String {
        let outline = self.data.as_ref().and_then(|it| it["outline"].as_str());
        match outline {
            Some(outline) => format!("{}\n{outline}", self.message),
            None => self.message,
        }
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
