//! Starts an agent and opens a session with it.

use crate::{
    FileScope, Profile, Session, SessionEvents,
    connection::{self, CaughtUp, Connection, catch_up},
    error::{OpenError, TurnError},
    events::QueuedRequest,
    fault,
    frame::{Answer, number},
    offer::Setting,
    plain,
    schema::{
        ClientCapabilities, EnvVariable, FileSystemCapabilities, HttpHeader, Implementation,
        InitializeRequest, InitializeResponse, McpServer as AcpMcpServer, McpServerHttp,
        McpServerStdio, NewSessionRequest, NewSessionResponse, ProtocolVersion, SessionId,
    },
    session::{Inner, Reader},
};
use pitcrew_model::{EffectId, ErrorCause, Failure, limits};
use pitcrew_process::{
    CONFINE_PREFIX, PreparedShim, Presence, ShimError, ShimErrorKind, ShimEvents, ShimHandle,
    ShimSpec, attach_shim, start_shim,
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::{sync::mpsc, time::timeout};

/// Queued requests of an agent before its output is no longer read.
const PERMISSIONS_QUEUED_MAX: usize = 16;

/// The longest session id: it is kept, and returned to the agent unchanged.
const SESSION_ID_BYTES_MAX: usize = 1_024;
const ERROR_BYTES_MAX: usize = 1_000;

/// How long a shim of an earlier start may take to answer or to exit.
const PREDECESSOR_END_MAX: Duration = Duration::from_secs(15);

/// An agent to start.
pub struct Launch {
    pub shim: ShimSpec,
    /// Our own executable, which is also the shim's program.
    pub program: PathBuf,
    /// The checkout.
    pub cwd: PathBuf,
    /// The MCP server for the agent.
    pub mcp: McpServer,
    /// The properties of its backend.
    pub profile: Profile,
    /// The files that it reaches through us. If `None`, file access is not offered.
    pub reach: Option<FileScope>,
    /// Determines the numbers of the frames.
    pub effect: EffectId,
    /// The timeout of each answer; usually `limits::INITIALIZE_TIMEOUT_MS`.
    pub timeout: Duration,
}

/// An MCP server that the agent starts over stdio, or reaches over HTTP if it supports that.
#[derive(Clone, Debug)]
pub struct McpServer {
    pub name: String,
    pub command: PathBuf,
    pub args: Vec<String>,
    pub env: Vec<(String, String)>,
    pub http: Option<McpOverHttp>,
}

/// The URL of the same server over HTTP, and the agent's token.
#[derive(Clone, Debug)]
pub struct McpOverHttp {
    pub url: String,
    pub bearer: String,
}

impl Launch {
    fn connection(&self, shim: ShimHandle) -> Connection {
        let (cwd, profile) = (self.cwd.clone(), self.profile.clone());
        Connection::new(shim, cwd, profile, self.reach.clone())
    }

    /// The agent's display name.
    fn display_name(&self) -> &str {
        let program = self.shim.argv.first().map_or("", String::as_str);
        let file = Path::new(program).file_name().and_then(|it| it.to_str()).unwrap_or(program);
        self.profile.title.as_deref().unwrap_or(file)
    }
}

/// Starts the agent, initializes it and creates a session. After an error nothing of it is left
/// running. If this future is dropped, the shim has lost its client and the lease runs.
///
/// An agent that was started for the same attempt and still runs is not started again, and no frame
/// is sent to it twice.
pub async fn open(launch: Launch) -> Result<(Session, SessionEvents), OpenError> {
    if let Some(wire) = resume(&launch).await {
        match settle(wire, &launch).await {
            // It was exiting when we attached; the effect still has to be done.
            Err(Failure::AgentExited { .. }) => {}
            opened => return opened.map_err(|failure| failed(&launch, failure)),
        }
    }
    let started = start_shim(&launch.program, &launch.shim).await;
    let (shim, events) = started.map_err(|error| failed(&launch, not_started(&error)))?;
    let connection = launch.connection(shim);
    let wire = Wire { connection, events, before: CaughtUp::default() };
    settle(wire, &launch).await.map_err(|failure| failed(&launch, failure))
}

/// The same with a prepared shim, if that matches the agent.
pub async fn open_prepared(
    launch: Launch,
    prepared: Option<PreparedShim>,
) -> Result<(Session, SessionEvents), OpenError> {
    let Some((shim, events)) = start_prepared(&launch, prepared).await else {
        return open(launch).await;
    };
    let connection = launch.connection(shim);
    let wire = Wire { connection, events, before: CaughtUp::default() };
    settle(wire, &launch).await.map_err(|failure| failed(&launch, failure))
}

/// Returns `None` if the agent has to be started; then nothing prepared is left.
async fn start_prepared(
    launch: &Launch,
    prepared: Option<PreparedShim>,
) -> Option<(ShimHandle, ShimEvents)> {
    let prepared = prepared?;
    if *prepared.spec() != launch.shim {
        prepared.end().await;
        return None;
    }
    // Ignores the error: starting the agent again reports it, or succeeds.
    prepared.go().await.ok()
}

/// Attaches to the agent of an earlier start of the same attempt, if it is alive. Waits for one
/// that is exiting.
async fn resume(launch: &Launch) -> Option<Wire> {
    let found = attach_shim(&launch.shim.dir, PREDECESSOR_END_MAX).await.ok()?;
    let Presence::Alive { spooled, .. } = found.presence else { return None };
    let connection = launch.connection(found.shim);
    Some(Wire::caught_up(connection, found.events, spooled).await)
}

fn failed(launch: &Launch, failure: Failure) -> OpenError {
    let program = launch.shim.argv.first().cloned().unwrap_or_default();
    OpenError { failure: never_ran(&program, failure), program }
}

/// In a sandbox the launcher runs before the agent, and reports why it could not execute it. A
/// retry would not help.
fn never_ran(program: &str, failure: Failure) -> Failure {
    let Failure::AgentExited { output, .. } = &failure else { return failure };
    let Some(reason) = output.strip_prefix(CONFINE_PREFIX) else { return failure };
    Failure::AgentMissing { program: program.to_owned(), message: reason.trim_end().to_owned() }
}

async fn settle(wire: Wire, launch: &Launch) -> Result<(Session, SessionEvents), Failure> {
    let (connection, reader, permissions) = wire.listen();
    match Box::pin(agree(&connection, launch)).await {
        Ok(agreed) => Ok(session(connection, reader, permissions, launch.effect, agreed)),
        Err(failure) => {
            connection.stop(Duration::from_millis(limits::STOP_GRACE_MS)).await;
            Err(failure)
        }
    }
}

/// A connection and its incoming traffic.
pub(crate) struct Wire {
    pub connection: Connection,
    pub events: ShimEvents,
    pub before: CaughtUp,
}

impl Wire {
    /// Reads the earlier traffic, up to `spooled`.
    pub async fn caught_up(connection: Connection, mut events: ShimEvents, spooled: u64) -> Self {
        let before = catch_up(&connection, &mut events, spooled).await;
        Self { connection, events, before }
    }

    pub fn listen(self) -> (Arc<Connection>, Reader, mpsc::Receiver<QueuedRequest>) {
        let Self { connection, events, before } = self;
        let connection = Arc::new(connection);
        let (sender, permissions) = mpsc::channel(PERMISSIONS_QUEUED_MAX);
        let read = connection::read(connection.clone(), events, before, sender);
        (connection, Reader(tokio::spawn(read)), permissions)
    }
}

pub(crate) fn session(
    connection: Arc<Connection>,
    reader: Reader,
    permissions: mpsc::Receiver<QueuedRequest>,
    opened_by: EffectId,
    agreed: Negotiated,
) -> (Session, SessionEvents) {
    let inner = Arc::new(Inner { connection, _reader: reader, opened_by, agreed });
    let events = SessionEvents::new(inner.clone(), permissions);
    (Session { inner }, events)
}

fn not_started(error: &ShimError) -> Failure {
    match &error.kind {
        ShimErrorKind::AgentMissing { reason } => {
            Failure::AgentMissing { program: error.program.clone(), message: reason.clone() }
        }
        // A problem on our side, which another attempt may not have.
        ShimErrorKind::AlreadyRunning
        | ShimErrorKind::NotStarted { .. }
        | ShimErrorKind::Gone(_)
        | ShimErrorKind::BadFrame { .. } => {
            Failure::AgentExited { exit: error.kind.to_string(), output: String::new() }
        }
    }
}

/// The negotiated session.
pub(crate) struct Negotiated {
    pub agent_name: String,
    pub session: SessionId,
    pub can_close: bool,
    pub can_load: bool,
    pub can_resume: bool,
}

impl Negotiated {
    /// `otherwise` is the name of an agent that does not report its own.
    pub fn new(
        agent: &InitializeResponse,
        session: NewSessionResponse,
        otherwise: &str,
    ) -> Result<Self, Failure> {
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
            None => plain::one_line(otherwise, limits::NAME_BYTES_MAX),
        };
        let capabilities = &agent.agent_capabilities;
        Ok(Self {
            agent_name,
            session: session.session_id,
            can_close: capabilities.session_capabilities.close.is_some(),
            can_load: capabilities.load_session,
            can_resume: capabilities.session_capabilities.resume.is_some(),
        })
    }
}

async fn agree(connection: &Connection, launch: &Launch) -> Result<Negotiated, Failure> {
    // We offer no terminal, and files only where that is known to work: agents have their own, and
    // the next protocol version removes both.
    let has_files = launch.reach.is_some();
    let files = FileSystemCapabilities::new().read_text_file(has_files).write_text_file(has_files);
    let initialize = InitializeRequest::new(ProtocolVersion::V1)
        .client_capabilities(ClientCapabilities::new().fs(files))
        .client_info(Implementation::new("pitcrew", env!("CARGO_PKG_VERSION")));
    let step = connection.request(number::initialize(launch.effect), "initialize", &initialize);
    let answer = answered(connection, "initialize", launch.timeout, step).await?;
    let agent: InitializeResponse = readable("initialize", &answer)?;
    if agent.protocol_version != ProtocolVersion::V1 {
        let version = serde_json::to_value(agent.protocol_version).unwrap_or_default();
        let message =
            format!("the agent uses protocol version {version}; only version 1 is supported");
        return Err(Failure::Protocol { message });
    }
    let new_session =
        NewSessionRequest::new(launch.cwd.clone()).mcp_servers(vec![offered(&launch.mcp, &agent)]);
    let step = connection.request(number::new_session(launch.effect), "session/new", &new_session);
    let session = answered(connection, "session/new", launch.timeout, step).await?;
    let agreed =
        Negotiated::new(&agent, readable("session/new", &session)?, launch.display_name())?;
    let profile = &launch.profile;
    let model = Setting::Model { option: profile.model_option.as_deref() };
    for (setting, wanted) in [(Setting::Mode, &profile.mode), (model, &profile.model)] {
        if let Some(wanted) = wanted {
            set(connection, launch, &session, setting, wanted).await?;
        }
    }
    Ok(agreed)
}

/// Applies the profile's settings before the first prompt.
///
/// Whether a request is sent depends only on the answer to `session/new`, and it has its own
/// number: a process that resumes an interrupted start sends the same, or finds it answered.
async fn set(
    connection: &Connection,
    launch: &Launch,
    session: &Value,
    setting: Setting<'_>,
    wanted: &str,
) -> Result<(), Failure> {
    let display_name = || launch.display_name().to_owned();
    let unfit = |message| match setting {
        Setting::Mode => Failure::AgentMissing { program: display_name(), message },
        Setting::Model { .. } => Failure::ModelMissing { agent: display_name(), message },
    };
    let Some(change) = setting.change(session, wanted, launch.effect).map_err(unfit)? else {
        return Ok(());
    };
    let step = connection.request(change.number, change.method, &change.params);
    let answer = answered(connection, change.method, launch.timeout, step).await?;
    if setting.differs(&answer, &change) {
        return Err(unfit(format!("the agent accepted `{wanted}` but kept its previous setting")));
    }
    Ok(())
}

fn offered(mcp: &McpServer, agent: &InitializeResponse) -> AcpMcpServer {
    if let Some(http) = &mcp.http
        && agent.agent_capabilities.mcp_capabilities.http
    {
        let bearer = HttpHeader::new("Authorization", format!("Bearer {}", http.bearer));
        let server = McpServerHttp::new(&mcp.name, &http.url).headers(vec![bearer]);
        return AcpMcpServer::Http(server);
    }
    let env = mcp.env.iter().map(|(name, value)| EnvVariable::new(name, value)).collect();
    let server = McpServerStdio::new(&mcp.name, &mcp.command).args(mcp.args.clone()).env(env);
    AcpMcpServer::Stdio(server)
}

async fn answered(
    connection: &Connection,
    method: &str,
    limit: Duration,
    step: impl Future<Output = Result<Answer, TurnError>>,
) -> Result<Value, Failure> {
    let answer = match timeout(limit, step).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(gone)) => return Err(gone.failure()),
        Err(_) => {
            let message = format!("no answer to `{method}` within {} ms", limit.as_millis());
            return Err(Failure::Protocol { message });
        }
    };
    answer.map_err(|error| {
        let message = format!("`{method}` failed: {error}");
        match connection.cause(&error) {
            ErrorCause::Auth => Failure::Auth { message },
            ErrorCause::Quota { until } => Failure::Quota { until, message },
            cause @ ErrorCause::Unreachable => {
                Failure::Unreachable { message: fault::said(cause, message) }
            }
            ErrorCause::Model => Failure::Model { message },
            ErrorCause::Other => Failure::Protocol { message },
        }
    })
}

fn readable<T: DeserializeOwned>(method: &str, answer: &Value) -> Result<T, Failure> {
    T::deserialize(answer).map_err(|error| {
        // The error may quote the whole answer.
        let error = plain::one_line(&error.to_string(), ERROR_BYTES_MAX);
        Failure::Protocol { message: format!("the answer to `{method}` is invalid: {error}") }
    })
}
