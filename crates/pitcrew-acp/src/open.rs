//! Starting an agent and agreeing on a session with it.

use crate::{
    Session, SessionEvents,
    connection::{self, Connection},
    error::{OpenError, TurnError},
    frame::{RpcError, number},
    plain,
    schema::{
        ClientCapabilities, EnvVariable, Implementation, InitializeRequest, InitializeResponse,
        McpServer as AcpMcpServer, McpServerStdio, NewSessionRequest, NewSessionResponse,
        ProtocolVersion,
    },
    session::{Inner, Reader},
};
use pitcrew_model::{EffectId, Failure, limits};
use pitcrew_process::{ShimError, ShimErrorKind, ShimEvents, ShimHandle, ShimSpec, start_shim};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::{path::PathBuf, sync::Arc, time::Duration};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep, timeout},
};

/// Requests of an agent that may wait to be taken before it is not read on.
const PERMISSIONS_QUEUED_MAX: usize = 16;

/// The id of a session is kept, and goes back to the agent as it came.
const SESSION_ID_BYTES_MAX: usize = 1_024;
const ERROR_BYTES_MAX: usize = 1_000;

/// How long a shim needs at most to notice that nobody comes, and to end its agent.
const PREDECESSOR_END_MAX: Duration = Duration::from_secs(15);
const TRY_AGAIN: Duration = Duration::from_millis(10);

/// An agent to be started.
pub struct Launch {
    pub shim: ShimSpec,
    /// Our own executable, which is the shim's program.
    pub program: PathBuf,
    /// The checkout.
    pub cwd: PathBuf,
    /// The MCP server that the agent is given.
    pub mcp: McpServer,
    /// Numbers the frames.
    pub effect: EffectId,
    /// For each of the two answers: `limits::INITIALIZE_TIMEOUT_MS` unless somebody knows better.
    pub timeout: Duration,
}

/// An MCP server that the agent starts for itself, on stdio.
#[derive(Clone, Debug)]
pub struct McpServer {
    pub name: String,
    pub command: PathBuf,
    pub args: Vec<String>,
    pub env: Vec<(String, String)>,
}

/// Starts the agent, initializes it and makes a session. After an error nothing of it is left
/// running; when this is dropped half-way, the shim has lost its client and the lease runs.
pub async fn open(launch: Launch) -> Result<(Session, SessionEvents), OpenError> {
    let program = launch.shim.argv.first().cloned().unwrap_or_default();
    let failed = |failure| OpenError { program: program.clone(), failure };
    let (shim, events) = match start(&launch).await {
        Ok(started) => started,
        Err(error) => return Err(failed(not_started(&error))),
    };
    let connection = Arc::new(Connection::new(shim, launch.cwd.clone()));
    let (sender, permissions) = mpsc::channel(PERMISSIONS_QUEUED_MAX);
    let reader = Reader(tokio::spawn(connection::read(connection.clone(), events, sender)));
    let agreed = match agree(&connection, &launch).await {
        Ok(agreed) => agreed,
        Err(failure) => {
            connection.stop(Duration::from_millis(limits::STOP_GRACE_MS)).await;
            return Err(failed(failure));
        }
    };
    let inner = Arc::new(Inner {
        connection,
        _reader: reader,
        opened_by: launch.effect,
        agent_name: agreed.agent_name,
        id: agreed.session.session_id,
        can_close: agreed.can_close,
    });
    let events = SessionEvents {
        inner: inner.clone(),
        permissions,
        next_note_at: Instant::now(),
        over: false,
    };
    Ok((Session { inner }, events))
}

/// An earlier start of the same attempt may have lost its client a moment ago: its shim is at its
/// end, and is waited for.
async fn start(launch: &Launch) -> Result<(ShimHandle, ShimEvents), ShimError> {
    let until = Instant::now() + PREDECESSOR_END_MAX;
    loop {
        match start_shim(&launch.program, &launch.shim).await {
            Err(error)
                if matches!(error.kind, ShimErrorKind::AlreadyRunning)
                    && Instant::now() < until =>
            {
                sleep(TRY_AGAIN).await;
            }
            started => return started,
        }
    }
}

fn not_started(error: &ShimError) -> Failure {
    match &error.kind {
        ShimErrorKind::AgentMissing { reason } => {
            Failure::AgentMissing { program: error.program.clone(), message: reason.clone() }
        }
        // Trouble of ours, which another attempt may not meet.
        ShimErrorKind::AlreadyRunning
        | ShimErrorKind::NotStarted { .. }
        | ShimErrorKind::Gone(_)
        | ShimErrorKind::BadFrame { .. } => {
            Failure::AgentExited { exit: error.kind.to_string(), output: String::new() }
        }
    }
}

/// What both sides agreed on.
struct Agreed {
    agent_name: String,
    session: NewSessionResponse,
    can_close: bool,
}

async fn agree(connection: &Connection, launch: &Launch) -> Result<Agreed, Failure> {
    // No file system and no terminal of ours: agents use their own, and the next protocol
    // version removes both.
    let initialize = InitializeRequest::new(ProtocolVersion::V1)
        .client_capabilities(ClientCapabilities::new())
        .client_info(Implementation::new("pitcrew", env!("CARGO_PKG_VERSION")));
    let step = connection.request(number::initialize(launch.effect), "initialize", &initialize);
    let agent: InitializeResponse = answered("initialize", launch.timeout, step).await?;
    if agent.protocol_version != ProtocolVersion::V1 {
        let version = serde_json::to_value(agent.protocol_version).unwrap_or_default();
        let message = format!("the agent speaks version {version}; only version 1 is understood");
        return Err(Failure::Protocol { message });
    }
    let new_session = NewSessionRequest::new(launch.cwd.clone())
        .mcp_servers(vec![AcpMcpServer::Stdio(offered(&launch.mcp))]);
    let step = connection.request(number::new_session(launch.effect), "session/new", &new_session);
    let session: NewSessionResponse = answered("session/new", launch.timeout, step).await?;
    let length = session.session_id.0.len();
    if length > SESSION_ID_BYTES_MAX {
        let message = format!(
            "the session id has {length} bytes; at most {SESSION_ID_BYTES_MAX} are accepted"
        );
        return Err(Failure::Protocol { message });
    }
    let agent_name = match &agent.agent_info {
        Some(info) => {
            let name = info.title.as_deref().unwrap_or(&info.name);
            plain::one_line(&format!("{name} {}", info.version), limits::NAME_BYTES_MAX)
        }
        None => launch.shim.argv.first().cloned().unwrap_or_default(),
    };
    let can_close = agent.agent_capabilities.session_capabilities.close.is_some();
    Ok(Agreed { agent_name, session, can_close })
}

fn offered(mcp: &McpServer) -> McpServerStdio {
    let env = mcp.env.iter().map(|(name, value)| EnvVariable::new(name, value)).collect();
    McpServerStdio::new(&mcp.name, &mcp.command).args(mcp.args.clone()).env(env)
}

async fn answered<T: DeserializeOwned>(
    method: &str,
    limit: Duration,
    step: impl Future<Output = Result<Result<Value, RpcError>, TurnError>>,
) -> Result<T, Failure> {
    let answer = match timeout(limit, step).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(gone)) => return Err(gone.failure()),
        Err(_) => {
            let message = format!("no answer to `{method}` within {} ms", limit.as_millis());
            return Err(Failure::Protocol { message });
        }
    };
    let answer = answer.map_err(|error| Failure::Protocol {
        message: format!("`{method}` was refused: {error}"),
    })?;
    serde_json::from_value(answer).map_err(|error| {
        // It may quote the whole answer.
        let error = plain::one_line(&error.to_string(), ERROR_BYTES_MAX);
        Failure::Protocol { message: format!("the answer to `{method}` is unreadable: {error}") }
    })
}
