//! The MCP server that agents are given: passes every call on over HTTP.

use crate::http;
use hyper::Method;
use pitcrew_mcp::{Orchestrator, ToolAnswer, ToolRefusal, serve_stdio};
use serde_json::{Map, Value};
use std::{env, path::PathBuf, process::ExitCode};

pub async fn run() -> ExitCode {
    let variable = |name: &str| env::var(name).expect("agents are given it");
    let bridge = Bridge {
        socket: variable("PITCREW_SOCKET").into(),
        authorization: format!("Bearer {}", variable("PITCREW_TOKEN")),
    };
    serve_stdio(bridge).await.expect("the session is served");
    ExitCode::SUCCESS
}

struct Bridge {
    socket: PathBuf,
    authorization: String,
}

impl Orchestrator for Bridge {
    async fn call(&self, tool: &str, arguments: Value) -> Result<ToolAnswer, ToolRefusal> {
        let path = pitcrew_api::paths::tool(tool).ok_or_else(|| ToolRefusal::new("no name"))?;
        let body = arguments.to_string().into_bytes();
        let called =
            http::call(&self.socket, Method::POST, &path, Some(&self.authorization), body).await;
        let (_, body) = called.map_err(|error| ToolRefusal::new(error.to_string()))?;
        let answer: pitcrew_api::ToolAnswer = serde_json::from_slice(&body)
            .map_err(|_| ToolRefusal::new(String::from_utf8_lossy(&body)))?;
        if answer.is_error {
            return Err(ToolRefusal::new(answer.text));
        }
        Ok(ToolAnswer { text: answer.text, structured: Map::new() })
    }
}
