//! The session's MCP servers, which are the only way to report. The only module that uses the MCP
//! library.

use crate::{model::ToolSpec, policy, script::Answer};
use pitcrew_process::{Owned, Piped, spawn_piped};
use rmcp::{
    RoleClient, ServiceExt,
    model::{CallToolRequestParams, ContentBlock},
    service::RunningService,
};
use serde_json::{Map, Value};
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

/// An MCP server that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("failed to start MCP server `{name}` (`{command}`): {reason}")]
pub(crate) struct StartError {
    pub name: String,
    pub command: String,
    pub reason: String,
}

/// The parameters for starting an MCP server.
pub(crate) struct ServerSpec {
    pub name: String,
    pub command: PathBuf,
    pub args: Vec<String>,
    pub env: Vec<(String, String)>,
}

/// A running MCP server with its tools.
pub(crate) struct Server {
    pub name: String,
    pub tools: Vec<ToolSpec>,
    service: RunningService<RoleClient, ()>,
    /// Ends when the session is dropped.
    _program: Owned,
}

impl Server {
    pub async fn start(
        spec: &ServerSpec,
        cwd: &Path,
        withheld: &[String],
    ) -> Result<Self, StartError> {
        let failed = |reason: String| StartError {
            name: spec.name.clone(),
            command: spec.command.display().to_string(),
            reason,
        };
        let mut argv: Vec<OsString> = vec![spec.command.clone().into()];
        argv.extend(spec.args.iter().map(OsString::from));
        let policy = policy::own(withheld, &spec.env);
        let Piped { stdin, stdout, program } =
            spawn_piped(&policy, &argv, cwd).map_err(|it| failed(it.kind.to_string()))?;
        let service = ().serve((stdout, stdin)).await.map_err(|it| failed(it.to_string()))?;
        let tools = service.list_all_tools().await.map_err(|it| failed(it.to_string()))?;
        let tools = tools.into_iter().map(|it| ToolSpec {
            schema: Value::Object((*it.input_schema).clone()),
            name: it.name.into_owned(),
            description: it.description.unwrap_or_default().into_owned(),
        });
        let (name, tools) = (spec.name.clone(), tools.collect());
        Ok(Self { name, tools, service, _program: program })
    }

    pub fn has(&self, tool: &str) -> bool {
        self.tools.iter().any(|it| it.name == tool)
    }

    /// Calls a tool; returns its answer or its error.
    pub async fn call(&self, tool: &str, arguments: Map<String, Value>) -> Result<Answer, Answer> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let result = self.service.call_tool(params).await;
        let result = result.map_err(|it| Answer { text: it.to_string(), structured: None })?;
        let texts = result.content.iter().filter_map(|it| {
            if let ContentBlock::Text(text) = it { Some(text.text.as_str()) } else { None }
        });
        let text = texts.collect::<Vec<_>>().join("\n");
        let answer = Answer { text, structured: result.structured_content };
        if result.is_error == Some(true) { Err(answer) } else { Ok(answer) }
    }
}
