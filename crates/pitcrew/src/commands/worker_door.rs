//! How a worker's process reaches the orchestrator: by what its environment holds.
//!
//! Never starts one: that is for people. While none is there it waits, for as long as the agent
//! itself is kept without one.

use crate::{
    client::{Answer, CallError, call},
    exit::Exit,
    report::Report,
};
use hyper::Method;
use pitcrew_api::{Problem, Token, ToolAnswer, paths};
use pitcrew_model::limits;
use serde_json::Value;
use std::{fs::File, io::Read, path::PathBuf, time::Duration};
use tokio::time::{Instant, sleep};

const TRY_EVERY: Duration = Duration::from_millis(100);

/// The socket and the secret of one attempt.
pub struct WorkerDoor {
    socket: PathBuf,
    token: Token,
    patience: Duration,
}

impl WorkerDoor {
    pub fn of_environment() -> Result<Self, Report> {
        let missing = |name: &str| {
            Report::new(Exit::Usage, format!("{name} is not set, or not what it should be"))
                .help("this command is for agents: Pitcrew sets it in their environment")
        };
        let variable = |name: &str| std::env::var(name).ok();
        let socket = std::env::var_os("PITCREW_SOCKET").filter(|it| !it.is_empty());
        let token = variable("PITCREW_TOKEN").and_then(|it| it.parse().ok());
        let patience_ms = variable("PITCREW_TOOL_PATIENCE_MS").and_then(|it| it.parse().ok());
        Ok(Self {
            socket: socket.ok_or_else(|| missing("PITCREW_SOCKET"))?.into(),
            token: token.ok_or_else(|| missing("PITCREW_TOKEN"))?,
            patience: Duration::from_millis(patience_ms.unwrap_or(limits::LEASE_MS_DEFAULT)),
        })
    }

    /// Calls a tool. What could not be served at all is an answer too: the caller is a model.
    ///
    /// A call whose answer is lost is made again under the same nonce, so that it is carried out
    /// once.
    pub async fn tool(&self, name: &str, arguments: &Value) -> ToolAnswer {
        let nonce = match nonce() {
            Ok(nonce) => nonce,
            Err(error) => return ToolAnswer::failed(format!("no random number: {error}")),
        };
        let Some(path) = paths::tool(name, &nonce) else {
            return ToolAnswer::failed(format!("`{name}` is no name of a tool"));
        };
        let body = arguments.to_string().into_bytes();
        let deadline = Instant::now() + self.patience;
        loop {
            match call(&self.socket, &self.token, Method::POST, &path, body.clone()).await {
                Ok(answer) if answer.status == 503 && Instant::now() < deadline => {}
                Ok(answer) => return told(&answer),
                Err(_) if Instant::now() < deadline => {}
                Err(CallError::NotSent(reason) | CallError::Broken(reason)) => {
                    let waited = self.patience.as_secs();
                    return ToolAnswer::failed(format!(
                        "the orchestrator was not there for {waited} s: {reason}"
                    ));
                }
            }
            sleep(TRY_EVERY).await;
        }
    }
}

/// A name for a call that no other call has.
fn nonce() -> std::io::Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
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
