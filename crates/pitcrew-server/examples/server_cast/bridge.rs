//! The agents' MCP server: forwards every call over HTTP.

use crate::http;
use hyper::Method;
use pitcrew_mcp::{
    ClientKind, Role, Spawning, ToolAnswer, ToolHandler, ToolInfo, ToolRefusal, serve_stdio,
    visible,
};
use serde_json::Value;
use std::{
    env,
    path::PathBuf,
    process::ExitCode,
    time::{Duration, UNIX_EPOCH},
};
use tokio::time::{Instant, sleep};

const PATIENCE: Duration = Duration::from_mins(2);
const TRY_EVERY: Duration = Duration::from_millis(20);

pub async fn run() -> ExitCode {
    let variable = |name: &str| env::var(name).expect("agents have this variable");
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

impl ToolHandler for Bridge {
    fn client_kind(&self) -> ClientKind {
        ClientKind::Worker
    }

    async fn visible(&self) -> Vec<&'static ToolInfo> {
        visible(Role::Worker { spawning: Spawning::Allowed })
    }

    async fn call(&self, tool: &str, arguments: Value) -> Result<ToolAnswer, ToolRefusal> {
        let since = UNIX_EPOCH.elapsed().expect("a clock").as_nanos();
        let nonce = format!("{}_{since}", std::process::id());
        let path = pitcrew_api::paths::tool(tool, &nonce);
        let path = path.ok_or_else(|| ToolRefusal::new("no name"))?;
        let until = Instant::now() + PATIENCE;
        let body = loop {
            let body = arguments.to_string().into_bytes();
            let key = Some(&*self.authorization);
            match http::call(&self.socket, Method::POST, &path, key, body).await {
                Ok((status, body)) if status != 503 => break body,
                // The next orchestrator knows which calls the previous one accepted.
                Ok(_) | Err(_) if Instant::now() < until => sleep(TRY_EVERY).await,
                Ok((_, body)) => break body,
                Err(error) => return Err(ToolRefusal::new(error.to_string())),
            }
        };
        let answer: pitcrew_api::ToolReply = serde_json::from_slice(&body)
            .map_err(|_| ToolRefusal::new(String::from_utf8_lossy(&body)))?;
        if answer.is_error {
            return Err(ToolRefusal::new(answer.text));
        }
        Ok(ToolAnswer { text: answer.text, structured: answer.structured })
    }
}
