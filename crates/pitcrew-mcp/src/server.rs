//! The MCP server. Only this module uses the server side of the MCP library.

mod invalid_message;
mod lines;
mod http;

pub use http::{HttpOptions, serve_http};

use crate::{
    ToolAnswer, ToolRefusal,
    catalogue::{self, Audience, Changes, ToolInfo},
};
use lines::Lines;
use pitcrew_model::{limits, text};
use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ConstString, ContentBlock,
        CustomRequest, CustomResult, ErrorCode, GetPromptRequestMethod, GetPromptRequestParams,
        GetPromptResponse, Implementation, JsonObject, ListToolsResult, PaginatedRequestParams,
        ProgressNotificationParam, ReadResourceRequestParams, ReadResourceResponse,
        ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
    },
    service::RequestContext,
};
use serde_json::{Value, json};
use std::{future::Future, pin::pin, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::{Instant, interval_at},
};

/// How often a call that is held sends progress to clients that request it. Many clients give up on
/// a silent call after a minute.
const PROGRESS_EVERY: Duration = Duration::from_secs(10);

/// The kind of client. Decides the instructions at the start of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientKind {
    /// A worker on a task or a sub-task.
    Worker,
    /// A person's own agent, from outside.
    Client,
}

/// The receiver of calls. The binary supplies a client of the orchestrator process.
pub trait ToolHandler: Send + Sync + 'static {
    fn client_kind(&self) -> ClientKind;

    /// Returns the tools that the caller sees.
    fn visible(&self) -> impl Future<Output = Vec<&'static ToolInfo>> + Send;

    /// Carries out `tool`, by its canonical name, with arguments as the agent sent them. May wait
    /// for any length of time.
    fn call(
        &self,
        tool: &str,
        arguments: Value,
    ) -> impl Future<Output = Result<ToolAnswer, ToolRefusal>> + Send;
}

/// The session with the agent's MCP client broke.
#[derive(Debug, thiserror::Error)]
#[error("failed to serve MCP tools: {message}")]
pub struct ServeError {
    pub message: String,
}

/// Serves the tools on standard input and output until the client closes them.
pub async fn serve_stdio(handler: impl ToolHandler) -> Result<(), ServeError> {
    let (reader, writer) = rmcp::transport::io::stdio_pipes();
    serve(handler, reader, writer).await
}

/// Serves the tools on any pair of byte streams until the client closes them.
pub async fn serve(
    handler: impl ToolHandler,
    reader: impl AsyncRead + Send + Unpin + 'static,
    writer: impl AsyncWrite + Send + Unpin + 'static,
) -> Result<(), ServeError> {
    let failed = |message: String| ServeError { message };
    let service = Server { handler }.serve(Lines::new(reader, writer)).await;
    let running = service.map_err(|it| failed(it.to_string()))?;
    running.waiting().await.map_err(|it| failed(it.to_string()))?;
    Ok(())
}

struct Server<O> {
    handler: O,
}

impl<O: ToolHandler> ServerHandler for Server<O> {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("pitcrew", env!("CARGO_PKG_VERSION")))
            .with_instructions(match self.handler.client_kind() {
                ClientKind::Worker => WORKER_INSTRUCTIONS,
                ClientKind::Client => CLIENT_INSTRUCTIONS,
            })
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let visible = self.handler.visible().await;
        let is_worker = visible.iter().any(|it| it.audience == Audience::Workers);
        let offered = visible.into_iter().map(|tool| {
            let offered = offered(tool);
            // Models do not see result schemas, and agent programs would compile a validator for
            // each at start.
            if is_worker { offered } else { with_result(offered, tool) }
        });
        Ok(ListToolsResult::with_all_items(offered.collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        // Unknown names are passed on too: the orchestrator's refusal reaches the model, while
        // clients hide protocol errors.
        let tool = catalogue::canonical_name(&request.name).unwrap_or(&request.name);
        let called = self.handler.call(tool, arguments);
        let result = match with_progress(called, &context).await {
            Ok(ToolAnswer { text, structured }) => {
                let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
                result.structured_content = Some(Value::Object(structured));
                result
            }
            Err(refusal) => CallToolResult::error(vec![ContentBlock::text(refusal.message)]),
        };
        Ok(result.into())
    }

    /// There are no resources, so every one is unknown.
    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let about = json!({ "uri": request.uri });
        Err(ErrorData::invalid_params("there are no resources here, only tools", Some(about)))
    }

    async fn get_prompt(
        &self,
        _request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        Err(no_method(GetPromptRequestMethod::VALUE))
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(match NEEDED.iter().find(|it| it.0 == request.method) {
            Some((method, needed)) => bad_params(method, needed),
            None => no_method(&request.method),
        })
    }
}

/// The required parameters of our methods. The library reports a method with invalid parameters as
/// unknown.
const NEEDED: &[(&str, &str)] = &[
    ("initialize", "`protocolVersion`, `capabilities` and `clientInfo`"),
    ("tools/call", "`name`, the name of a tool, and `arguments`, an object"),
    ("tools/list", "nothing, or `cursor`, a text"),
    ("ping", "nothing"),
];

fn bad_params(method: &str, needed: &str) -> ErrorData {
    let message = format!("the `params` of `{method}` cannot be read: it takes {needed}");
    ErrorData::invalid_params(message, None)
}

/// The library reports only the name.
fn no_method(name: &str) -> ErrorData {
    let name = text::cut(name, limits::NAME_BYTES_MAX);
    let message = format!(
        "there is no method `{name}` here: Pitcrew offers tools and nothing else; `tools/list` \
         names them and `tools/call` calls one"
    );
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None)
}

const WORKER_INSTRUCTIONS: &str = "\
Pitcrew runs a crew of coding agents on one git repository. You are one of them.
End your task with exactly one call: orchestrator_complete_task, or a2a_subtask_complete in a sub-task.
Report status or ask a question with a2a_notify_orchestrator.
See the plan with orchestrator_list_workers.";

const CLIENT_INSTRUCTIONS: &str = "\
Pitcrew runs a crew of coding agents on one git repository, each in its own checkout. You drive the crew from outside.
For work in several steps, create a plan with orchestrator_save_plan. It runs when the person approves it (`pitcrew approve`).
Extend a plan with orchestrator_add_plan_task. Start a task that waits for its deployment with orchestrator_deploy_task.
For a single piece of work, use a2a_spawn_subtask or a2a_spawn_parallel_subtasks, if listed. Choose an agent with a2a_list_agents.
Wait for results with a2a_await_subtasks, or read them without waiting with a2a_get_subtask_results.
Follow a plan with orchestrator_list_workers. Call it again until the plan has ended.
You cannot approve or land. When a plan is done, tell the person its id, and that `pitcrew land` merges it into their branch.";

/// Waits for the call, and sends progress to a client that requested it.
async fn with_progress<T>(
    call: impl Future<Output = T>,
    context: &RequestContext<RoleServer>,
) -> T {
    let mut call = pin!(call);
    let Some(token) = context.meta.get_progress_token() else { return call.await };
    let mut ticks = interval_at(Instant::now() + PROGRESS_EVERY, PROGRESS_EVERY);
    let mut count = 0.0;
    loop {
        tokio::select! {
            answer = &mut call => return answer,
            _ = ticks.tick() => {
                count += 1.0;
                let progress = ProgressNotificationParam::new(token.clone(), count)
                    .with_message("still waiting");
                // A client may be gone; the call ends with its connection.
                context.peer.notify_progress(progress).await.ok();
            }
        }
    }
}

fn offered(tool: &ToolInfo) -> Tool {
    let annotations = ToolAnnotations::with_title(tool.title)
        .read_only(tool.changes == Changes::Nothing)
        .destructive(tool.changes == Changes::Ends)
        .open_world(false);
    Tool::new(tool.name, tool.description, object(&tool.input))
        .with_title(tool.title)
        .with_annotations(annotations)
}

/// Adds the schema of the structured result.
fn with_result(offered: Tool, tool: &ToolInfo) -> Tool {
    offered.with_raw_output_schema(Arc::new(object(&tool.output)))
}

fn object(schema: &Value) -> JsonObject {
    match schema {
        Value::Object(schema) => schema.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            unreachable!("the catalogue holds objects: its test says so")
        }
    }
}
