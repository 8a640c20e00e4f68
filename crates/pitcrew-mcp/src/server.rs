//! The MCP server: the only place that names the MCP library on the serving side.

use crate::{ToolAnswer, ToolRefusal, catalogue};
use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
        JsonObject, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
        Tool,
    },
    service::RequestContext,
};
use serde_json::Value;
use std::future::Future;
use tokio::io::{AsyncRead, AsyncWrite};

/// Where calls go. The binary supplies a client of the orchestrator process.
pub trait Orchestrator: Send + Sync + 'static {
    /// Carries out `tool`, by its canonical name, with arguments as the agent sent them.
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
pub async fn serve_stdio(orchestrator: impl Orchestrator) -> Result<(), ServeError> {
    let (reader, writer) = rmcp::transport::io::stdio_pipes();
    serve(orchestrator, reader, writer).await
}

/// Serves the tools on any pair of byte streams until the client closes them.
pub async fn serve(
    orchestrator: impl Orchestrator,
    reader: impl AsyncRead + Send + Unpin + 'static,
    writer: impl AsyncWrite + Send + Unpin + 'static,
) -> Result<(), ServeError> {
    let failed = |message: String| ServeError { message };
    let service = Server { orchestrator }.serve((reader, writer)).await;
    let running = service.map_err(|it| failed(it.to_string()))?;
    running.waiting().await.map_err(|it| failed(it.to_string()))?;
    Ok(())
}

struct Server<O> {
    orchestrator: O,
}

impl<O: Orchestrator> ServerHandler for Server<O> {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("pitcrew", env!("CARGO_PKG_VERSION")))
            .with_instructions(
                "Call orchestrator_complete_task exactly once, at the end of your task. Call \
                 a2a_notify_orchestrator to report status or to ask a person.",
            )
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(catalogue::tools().into_iter().map(offered).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        // A name that nobody knows goes on too: the orchestrator's refusal reaches the model,
        // while clients show a protocol error to nobody.
        let tool = catalogue::canonical_name(&request.name).unwrap_or(&request.name);
        let result = match self.orchestrator.call(tool, arguments).await {
            Ok(ToolAnswer { text, structured }) => {
                let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
                result.structured_content = Some(Value::Object(structured));
                result
            }
            Err(refusal) => CallToolResult::error(vec![ContentBlock::text(refusal.message)]),
        };
        Ok(result.into())
    }
}

fn offered(tool: catalogue::ToolInfo) -> Tool {
    let schema: JsonObject = match tool.input {
        Value::Object(schema) => schema,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            unreachable!("the catalogue holds objects: its test says so")
        }
    };
    Tool::new(tool.name, tool.description, schema).with_title(tool.title)
}
