//! How a worker's process reaches the orchestrator: by what its environment holds.

use crate::{
    client::{Answer, CallError, call},
    exit::Exit,
    report::Report,
};
use hyper::Method;
use pitcrew_api::{Problem, Token, ToolAnswer, paths};
use serde_json::Value;
use std::{path::PathBuf, time::Duration};
use tokio::time::{Instant, sleep};

/// An orchestrator that goes down is back within this, or nobody needs it.
const PATIENCE: Duration = Duration::from_secs(30);
const TRY_EVERY: Duration = Duration::from_millis(250);

/// The socket and the secret of one attempt.
pub struct WorkerDoor {
    socket: PathBuf,
    token: Token,
}

impl WorkerDoor {
    pub fn of_environment() -> Result<Self, Report> {
        let missing = |name: &str| {
            Report::new(Exit::Usage, format!("{name} is not set, or not what it should be"))
                .help("this command is for agents: Pitcrew sets it in their environment")
        };
        let socket = std::env::var_os("PITCREW_SOCKET").filter(|it| !it.is_empty());
        let token = std::env::var("PITCREW_TOKEN").ok().and_then(|it| it.parse().ok());
        Ok(Self {
            socket: socket.ok_or_else(|| missing("PITCREW_SOCKET"))?.into(),
            token: token.ok_or_else(|| missing("PITCREW_TOKEN"))?,
        })
    }

    /// Calls a tool. What could not be served at all is an answer too: the caller is a model.
    pub async fn tool(&self, name: &str, arguments: &Value) -> ToolAnswer {
        let Some(path) = paths::tool(name) else {
            return ToolAnswer::failed(format!("`{name}` is no name of a tool"));
        };
        let body = arguments.to_string().into_bytes();
        let deadline = Instant::now() + PATIENCE;
        loop {
            match call(&self.socket, &self.token, Method::POST, &path, body.clone()).await {
                Ok(answer) if answer.status == 503 && Instant::now() < deadline => {}
                Ok(answer) => return told(&answer),
                Err(CallError::NotSent(_)) if Instant::now() < deadline => {}
                Err(CallError::NotSent(reason) | CallError::Broken(reason)) => {
                    return ToolAnswer::failed(format!(
                        "the orchestrator cannot be reached: {reason}"
                    ));
                }
            }
            sleep(TRY_EVERY).await;
        }
    }
}

fn told(answer: &Answer) -> ToolAnswer {
    if answer.status == 200
        && let Ok(answer) = serde_json::from_slice(&answer.body)
    {
        return answer;
    }
    ToolAnswer::failed(match serde_json::from_slice::<Problem>(&answer.body) {
        Ok(problem) => problem.message,
        Err(_) => format!("the orchestrator answered with HTTP status {}", answer.status),
    })
}
