//! Talks to the orchestrator of a workspace, and starts it if it is not running.
//!
//! HTTP/1.1 over the workspace's unix socket, one connection per request. Decides nothing: it sends
//! commands and returns views.

mod call;
mod lines;
mod start;
mod token;

pub use call::{CallError, call};
pub use lines::{Lines, StreamItem};
pub use token::read_or_create as workspace_token;

use crate::{
    exit::Exit,
    report::{Report, exit_of},
    workspace::Workspace,
};
use hyper::Method;
use pitcrew_api::{Accepted, Health, Problem, ProblemCode, Refused, ShuttingDown, Token, paths};
use pitcrew_model::{Command, Rejection};
use pitcrew_runtime::Redactor;
use pitcrew_views::{BoardView, InboxView, MessagesView};
use serde::{Serialize, de::DeserializeOwned};
use std::time::{Duration, Instant};
use tokio::time::{sleep, timeout};

/// How often a request is sent again if the orchestrator exits before it accepts it.
const TRIES_MAX: usize = 3;
/// How long to wait while the work of an ended attempt is being saved.
const SAVING_TIME_MAX: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// The time limit of a `glance`.
const GLANCE_TIME_MAX: Duration = Duration::from_secs(1);

/// A connection to a running orchestrator.
pub struct Client {
    pub workspace: Workspace,
    token: Token,
}

impl Client {
    /// Connects to the orchestrator of the current folder's workspace, starting it if necessary.
    pub async fn here() -> Result<Self, Report> {
        Self::of(Workspace::here()?).await
    }

    pub async fn of(workspace: Workspace) -> Result<Self, Report> {
        let token = start::ensure(&workspace).await?;
        Ok(Self { workspace, token })
    }

    /// Connects to a running orchestrator; never starts one.
    pub async fn running(workspace: Workspace) -> Result<Option<(Self, Health)>, Report> {
        let Some(token) = token::read(&workspace.dirs)? else { return Ok(None) };
        match start::health(&workspace.dirs, &token).await? {
            Some(health) => Ok(Some((Self { workspace, token }, health))),
            None => Ok(None),
        }
    }

    /// Returns a redactor for the workspace's token and the secrets in this environment.
    pub fn redactor(&self) -> Redactor {
        let text = |it: std::ffi::OsString| it.to_string_lossy().into_owned();
        let variables = std::env::vars_os().map(|(name, value)| (text(name), text(value)));
        Redactor::new(variables, &[self.token.reveal()])
    }

    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Report> {
        self.request(Method::GET, path, Vec::new()).await
    }

    pub async fn command(&self, command: &Command) -> Result<Accepted, Report> {
        self.post(paths::COMMANDS, command).await
    }

    pub async fn board(&self, query: paths::BoardQuery) -> Result<BoardView, Report> {
        self.get(&paths::board(query)).await
    }

    /// Fetches the board if it is available immediately. Starts nothing; the caller tries again
    /// soon.
    pub async fn glance(&self, query: paths::BoardQuery) -> Option<BoardView> {
        timeout(GLANCE_TIME_MAX, self.peek(&paths::board(query))).await.ok()?
    }

    /// Fetches a view from a running orchestrator; never starts one.
    pub async fn peek<T: DeserializeOwned>(&self, path: &str) -> Option<T> {
        let socket = self.workspace.dirs.socket();
        let asked = call(&socket, &self.token, Method::GET, path, Vec::new()).await;
        read(&asked.ok()?).ok()
    }

    pub async fn messages(&self, query: paths::MessagesQuery) -> Result<MessagesView, Report> {
        self.get(&paths::messages(query)).await
    }

    pub async fn inbox(&self) -> Result<InboxView, Report> {
        self.get(paths::INBOX).await
    }

    /// Asks the orchestrator to stop. It may exit before it answers.
    pub async fn shut_down(&self) -> Result<(), Report> {
        let socket = self.workspace.dirs.socket();
        match call(&socket, &self.token, Method::POST, paths::SHUTDOWN, Vec::new()).await {
            Ok(answer) => read::<ShuttingDown>(&answer).map(|_| ()),
            Err(CallError::Broken(_)) => Ok(()),
            Err(error) => Err(self.unreachable(&error)),
        }
    }

    /// Opens a stream. The reader reopens a broken one.
    pub async fn stream(&self, path: &str) -> Result<Lines, Report> {
        let mut tries_count = 0;
        loop {
            tries_count += 1;
            match lines::open(&self.workspace.dirs.socket(), &self.token, path).await {
                Ok(Ok(lines)) => return Ok(lines),
                Ok(Err(answer)) => return Err(refusal(&answer)),
                Err(error) if tries_count == TRIES_MAX => return Err(self.unreachable(&error)),
                Err(_) => {
                    start::ensure(&self.workspace).await?;
                }
            }
        }
    }

    pub async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, Report> {
        let body = serde_json::to_vec(body).expect("our wire types are representable in JSON");
        self.request(Method::POST, path, body).await
    }

    async fn request<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Vec<u8>,
    ) -> Result<T, Report> {
        let socket = self.workspace.dirs.socket();
        let deadline = Instant::now() + SAVING_TIME_MAX;
        let mut tries_count = 0;
        loop {
            tries_count += 1;
            let sent = call(&socket, &self.token, method.clone(), path, body.clone()).await;
            let is_last = tries_count == TRIES_MAX;
            match sent {
                // This state is temporary, so wait instead of failing.
                Ok(answer) if answer.is_saving() && Instant::now() < deadline => {
                    tries_count = 0;
                    sleep(LOOK_EVERY).await;
                }
                Ok(answer) if answer.is_ending() && !is_last => {}
                Ok(answer) => return read(&answer),
                // A request that was not sent, or that only reads, can be sent again.
                Err(CallError::NotSent(_)) if !is_last => {}
                Err(CallError::Broken(_)) if method == Method::GET && !is_last => {}
                Err(error) => return Err(self.unreachable(&error)),
            }
            start::ensure(&self.workspace).await?;
        }
    }

    fn unreachable(&self, error: &CallError) -> Report {
        let report = match error {
            CallError::NotSent(reason) => {
                let root = self.workspace.root().display();
                Report::new(
                    Exit::Unreachable,
                    format!("failed to connect to the orchestrator of `{root}`"),
                )
                .because(reason)
            }
            CallError::Broken(reason) => Report::new(
                Exit::Unreachable,
                "the orchestrator went away while it was handling the command",
            )
            .because(reason),
        };
        report.help("`pitcrew status` starts it again and shows the current state")
    }
}

/// An HTTP response.
pub struct HttpResponse {
    pub status: u16,
    pub body: Vec<u8>,
}

impl HttpResponse {
    /// The orchestrator is shutting down; the next one will serve this request.
    fn is_ending(&self) -> bool {
        let problem = |it: Problem| it.code == ProblemCode::ShuttingDown;
        let refused = |it: Refused| it.rejection.known() == Some(&Rejection::ShuttingDown);
        match self.status {
            Refused::HTTP_STATUS => serde_json::from_slice(&self.body).is_ok_and(refused),
            503 => serde_json::from_slice(&self.body).is_ok_and(problem),
            _ => false,
        }
    }

    /// The work that the command refers to is still being saved.
    fn is_saving(&self) -> bool {
        let saving =
            |it: Refused| matches!(it.rejection.known(), Some(Rejection::StillSaving { .. }));
        self.status == Refused::HTTP_STATUS && serde_json::from_slice(&self.body).is_ok_and(saving)
    }
}

pub fn read<T: DeserializeOwned>(answer: &HttpResponse) -> Result<T, Report> {
    if answer.status != 200 {
        return Err(refusal(answer));
    }
    serde_json::from_slice(&answer.body).map_err(|error| {
        Report::new(
            Exit::Failure,
            "the orchestrator sent a response that this version of `pitcrew` does not understand",
        )
        .because(error.to_string())
        .help("run `pitcrew stop`; the next command starts an orchestrator of this version")
    })
}

fn refusal(answer: &HttpResponse) -> Report {
    if answer.status == Refused::HTTP_STATUS
        && let Ok(refused) = serde_json::from_slice::<Refused>(&answer.body)
    {
        let exit = refused.rejection.known().map_or(Exit::Refused, exit_of);
        return Report::new(exit, refused.message);
    }
    match serde_json::from_slice::<Problem>(&answer.body) {
        Ok(problem) => problem.into(),
        Err(_) => {
            let text = String::from_utf8_lossy(&answer.body);
            let message = format!("the orchestrator answered with HTTP status {}", answer.status);
            Report::new(Exit::Failure, message).because(text.trim().to_owned())
        }
    }
}
