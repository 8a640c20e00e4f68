//! The agent's side of ACP. The only module that uses the protocol library.

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

/// Larger texts are not sent as a diff.
const DIFF_BYTES_MAX: usize = 64 * 1_024;

/// The client's answer to a permission request.
pub(crate) enum Verdict {
    Allowed,
    Rejected,
    Cancelled,
}

/// Reports the activity of one session to the client.
pub(crate) struct Reporter {
    connection: Connection,
    session: SessionId,
    calls_count: AtomicU64,
}

/// A step in progress, as the client knows it.
pub(crate) struct StepHandle {
    id: ToolCallId,
    title: String,
    kind: ToolKind,
    input: Value,
}

/// A file before and after a change.
pub(crate) struct Change {
    pub path: PathBuf,
    pub old: Option<String>,
    pub new: String,
}

impl Reporter {
    pub fn new(connection: Connection, session: SessionId) -> Self {
        Self { connection, session, calls_count: AtomicU64::new(0) }
    }

    /// Errors are ignored: if the client is gone, the connection ends by itself.
    fn update(&self, update: SessionUpdate) {
        let notification = SessionNotification::new(self.session.clone(), update);
        self.connection.send_notification(notification).ok();
    }

    pub fn say(&self, text: &str) {
        let chunk = ContentChunk::new(format!("{text}\n").into());
        self.update(SessionUpdate::AgentMessageChunk(chunk));
    }

    /// A chunk of a message.
    pub fn saying(&self, text: &str) {
        let chunk = ContentChunk::new(text.to_owned().into());
        self.update(SessionUpdate::AgentMessageChunk(chunk));
    }

    /// A chunk of the model's thoughts.
    pub fn thinking(&self, text: &str) {
        let chunk = ContentChunk::new(text.to_owned().into());
        self.update(SessionUpdate::AgentThoughtChunk(chunk));
    }

    /// The size of the conversation, and the cost of the session if known.
    pub fn used(&self, tokens: u64, tokens_max: u64, cost_micros: Option<u64>) {
        // Through decimal digits, so that the amount is exact.
        let dollars = |micros: u64| format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
        let cost = cost_micros.and_then(|it| dollars(it).parse().ok());
        let cost = cost.map(|it: f64| Cost::new(it, "USD"));
        let update = UsageUpdate::new(tokens, tokens_max).cost(cost);
        self.update(SessionUpdate::UsageUpdate(update));
    }

    pub fn begin(
        &self,
        kind: ToolKind,
        title: &str,
        path: Option<&Path>,
        input: Value,
    ) -> StepHandle {
        let number = self.calls_count.fetch_add(1, Ordering::Relaxed) + 1;
        let id = ToolCallId::new(format!("step-{number}"));
        let locations = path.map(ToolCallLocation::new).into_iter().collect();
        let call = ToolCall::new(id.clone(), title)
            .kind(kind)
            .status(ToolCallStatus::InProgress)
            .locations(locations)
            .raw_input(input.clone());
        self.update(SessionUpdate::ToolCall(call));
        StepHandle { id, title: title.to_owned(), kind, input }
    }

    /// The output of the step so far; replaces earlier output.
    pub fn so_far(&self, doing: &StepHandle, output: &str) {
        let fields = ToolCallUpdateFields::new().content(texts(output));
        self.update(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(doing.id.clone(), fields)));
    }

    pub fn done(&self, doing: &StepHandle, output: &str) {
        self.ended(doing, ToolCallStatus::Completed, texts(output));
    }

    pub fn changed(&self, doing: &StepHandle, change: Change) {
        let size = change.new.len() + change.old.as_ref().map_or(0, String::len);
        let content = if size <= DIFF_BYTES_MAX {
            vec![Diff::new(change.path, change.new).old_text(change.old).into()]
        } else {
            texts(&format!("{} bytes written", change.new.len()))
        };
        self.ended(doing, ToolCallStatus::Completed, content);
    }

    pub fn failed(&self, doing: &StepHandle, output: &str) {
        self.ended(doing, ToolCallStatus::Failed, texts(output));
    }

    fn ended(&self, doing: &StepHandle, status: ToolCallStatus, content: Vec<ToolCallContent>) {
        let mut fields = ToolCallUpdateFields::new().status(status);
        if !content.is_empty() {
            fields = fields.content(content);
        }
        self.update(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(doing.id.clone(), fields)));
    }

    /// Requests permission for the step.
    pub async fn permission(&self, doing: &StepHandle) -> Result<Verdict, Error> {
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
            // The library's enum may grow; only a selected option is permission.
            RequestPermissionOutcome::Cancelled | _ => Verdict::Cancelled,
        })
    }
}

/// Files through the client.
impl Reporter {
    /// `None` if the file does not exist.
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
            Err(error) => match ClientError::of(&error) {
                ClientError { code: NOT_FOUND, .. } => Ok(None),
                refused => Err(refused.for_model()),
            },
        }
    }

    pub async fn write_file(&self, file: &Path, text: &str) -> Result<(), String> {
        let request = WriteTextFileRequest::new(self.session.clone(), file, text);
        let written = self.connection.send_request(request).block_task().await;
        written.map(|_| ()).map_err(|it| ClientError::of(&it).for_model())
    }

    /// Calls a file method of the client as if it were a tool.
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
            let ClientError { code, message, data } = ClientError::of(&error);
            Answer { text: format!("{message} (code {code})"), structured: data }
        })
    }
}

const NOT_FOUND: i64 = -32002;

/// The client's error, parsed by hand because the library's type may grow.
struct ClientError {
    code: i64,
    message: String,
    data: Option<Value>,
}

impl ClientError {
    fn of(error: &Error) -> Self {
        let error = serde_json::to_value(error).unwrap_or_default();
        Self {
            code: error["code"].as_i64().unwrap_or_default(),
            message: error["message"].as_str().unwrap_or("refused").to_owned(),
            data: error.get("data").filter(|it| !it.is_null()).cloned(),
        }
    }

    /// For a model: includes the outline, which replaces reading the file.
    fn for_model(self) -> String {
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

/// The model gave no answer. The client decides by `kind` what happens to the task.
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
