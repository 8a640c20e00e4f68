//! Sends tool calls to the orchestrator: for a worker as its environment says, for the user's own
//! agent through the repository it runs in.

use crate::{
    client::{CallError, Client, HttpResponse, call, workspace_token},
    exit::Exit,
    render::Style,
    report::Report,
    workspace::Workspace,
};
use hyper::Method;
use pitcrew_api::{Problem, Token, ToolNames, ToolReply, paths};
use pitcrew_mcp::{ClientKind, Role, Spawning, ToolInfo, tools, visible};
use pitcrew_model::limits;
use pitcrew_process::relay_of;
use pitcrew_runtime::{Tokens, nonce};
use serde_json::Value;
use std::{path::PathBuf, time::Duration};
use tokio::time::{Instant, sleep};

const TRY_EVERY: Duration = Duration::from_millis(100);

/// The socket and the token of one caller.
pub struct ToolClient {
    socket: PathBuf,
    token: Token,
    patience: Duration,
    caller: Caller,
}

enum Caller {
    /// Never starts an orchestrator. If none is running, it waits for as long as the agent itself
    /// is kept alive without one.
    Worker,
    /// Starts an orchestrator if necessary, like any command.
    Client(Box<Workspace>),
}

impl ToolClient {
    /// Connects as a worker if the environment says so, otherwise as the user's own agent.
    pub async fn open() -> Result<Self, Report> {
        match std::env::var_os("PITCREW_SOCKET").filter(|it| !it.is_empty()) {
            Some(socket) => {
                let socket = PathBuf::from(socket);
                Self::of_worker(relay_of(&socket).map_or(socket, PathBuf::from))
            }
            None => Self::of_client(Workspace::here()?).await,
        }
    }

    fn of_worker(socket: PathBuf) -> Result<Self, Report> {
        let missing = |name: &str| {
            Report::new(Exit::Usage, format!("{name} is not set or not valid"))
                .help("Pitcrew sets it in the environment of its agents, beside PITCREW_SOCKET")
        };
        let variable = |name: &str| std::env::var(name).ok();
        let token = variable("PITCREW_TOKEN").and_then(|it| it.parse().ok());
        let patience_ms = variable("PITCREW_TOOL_PATIENCE_MS").and_then(|it| it.parse().ok());
        Ok(Self {
            socket,
            token: token.ok_or_else(|| missing("PITCREW_TOKEN"))?,
            patience: Duration::from_millis(patience_ms.unwrap_or(limits::LEASE_MS_DEFAULT)),
            caller: Caller::Worker,
        })
    }

    async fn of_client(workspace: Workspace) -> Result<Self, Report> {
        let client = Client::of(workspace).await?;
        let workspace = client.workspace;
        Ok(Self {
            socket: workspace.dirs.socket(),
            token: client_token(&workspace)?,
            patience: Duration::from_millis(limits::LEASE_MS_DEFAULT),
            caller: Caller::Client(Box::new(workspace)),
        })
    }

    pub fn client_kind(&self) -> ClientKind {
        match &self.caller {
            Caller::Worker => ClientKind::Worker,
            Caller::Client(_) => ClientKind::Client,
        }
    }

    /// The tools that the caller may use. If the orchestrator does not answer, all tools of that
    /// kind of caller; a forbidden call is refused later.
    pub async fn visible(&self) -> Vec<&'static ToolInfo> {
        let asked = call(&self.socket, &self.token, Method::GET, paths::TOOLS, Vec::new()).await;
        let names: Option<ToolNames> =
            asked.ok().and_then(|it| serde_json::from_slice(&it.body).ok());
        let spawning = Spawning::Allowed;
        match (names, &self.caller) {
            (Some(ToolNames { names }), _) => {
                tools().iter().filter(|it| names.iter().any(|name| name == it.name)).collect()
            }
            (None, Caller::Worker) => visible(Role::Worker { spawning }),
            (None, Caller::Client(_)) => visible(Role::Client { spawning }),
        }
    }

    /// The folder of a worker's socket outlives the orchestrator and is removed with the attempt.
    fn attempt_has_ended(&self) -> bool {
        let folder = self.socket.parent().filter(|it| it.is_absolute());
        matches!(self.caller, Caller::Worker) && folder.is_some_and(|it| !it.exists())
    }

    /// Calls a tool. A failure is an answer too, because the caller is a model.
    ///
    /// If the answer is lost, the call is sent again with the same nonce and executed once. A
    /// pending call is polled with its nonce.
    pub async fn tool(&self, name: &str, arguments: &Value) -> ToolReply {
        let nonce = match nonce() {
            Ok(nonce) => nonce,
            Err(error) => {
                return ToolReply::failed(format!("failed to generate a random number: {error}"));
            }
        };
        let Some(path) = paths::tool(name, &nonce) else {
            return ToolReply::failed(format!("`{name}` is not a valid tool name"));
        };
        let body = arguments.to_string().into_bytes();
        let mut deadline = Instant::now() + self.patience;
        loop {
            let is_late = Instant::now() >= deadline;
            match call(&self.socket, &self.token, Method::POST, &path, body.clone()).await {
                Ok(answer) if answer.status == HELD => {
                    deadline = Instant::now() + self.patience;
                    continue;
                }
                Ok(answer) if answer.status == 503 && !is_late => {}
                Ok(answer) => return reply_of(&answer),
                Err(_) if self.attempt_has_ended() => {
                    return ToolReply::failed("this attempt has ended; its tools are closed");
                }
                Err(CallError::NotSent(_) | CallError::Broken(_)) if !is_late => {}
                Err(CallError::NotSent(reason) | CallError::Broken(reason)) => {
                    return ToolReply::failed(format!(
                        "the orchestrator does not answer: {reason}; call orchestrator_list_workers to see the current state"
                    ));
                }
            }
            if let Caller::Client(workspace) = &self.caller
                && let Err(report) = Client::of((**workspace).clone()).await
            {
                return ToolReply::failed(report.render(Style::plain()));
            }
            sleep(TRY_EVERY).await;
        }
    }
}

/// The HTTP status of a call that is still pending.
const HELD: u16 = 202;

/// The token of the user's own agents.
pub fn client_token(workspace: &Workspace) -> Result<Token, Report> {
    let person = workspace_token(&workspace.dirs)?;
    let token = Tokens::new(person.reveal().to_owned()).client();
    Ok(token.parse().expect("a derived token is one"))
}

fn reply_of(answer: &HttpResponse) -> ToolReply {
    if answer.status == 200
        && let Ok(answer) = serde_json::from_slice(&answer.body)
    {
        return answer;
    }
    ToolReply::failed(match serde_json::from_slice::<Problem>(&answer.body) {
        Ok(problem) => problem.message,
        Err(_) => format!("the orchestrator answered with HTTP status {}", answer.status),
    })
}
