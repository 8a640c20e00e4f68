//! The tools over HTTP on the loopback: opened on request, closed when not requested for a while,
//! or with the other endpoints.
//!
//! Serves only the tools, and only with a token.

use crate::{
    accept::serve_at,
    auth::caller,
    extract::BODY_TIME_MAX,
    pool::{Connection, Endpoint},
    serve::Doors,
    tools::{Caller, Calling, Refused, secret},
};
use axum::{
    Extension, Router,
    body::Body,
    extract::{Request, State},
    response::{IntoResponse, Response},
    routing::any,
};
use pitcrew_api::paths;
use pitcrew_mcp::{
    ClientKind, HttpOptions, ToolAnswer, ToolHandler, ToolInfo, ToolRefusal, serve_http,
};
use pitcrew_runtime::{OpenTools, ToolsAt};
use serde_json::Value;
use std::{io, net::Ipv4Addr, sync::Arc, time::Duration};
use tokio::{
    net::TcpListener,
    sync::watch,
    time::{Instant, sleep_until},
};

/// How long a listener stays open after a request for it.
pub const KEEP_OPEN: Duration = Duration::from_millis(3 * pitcrew_api::MCP_ASK_EVERY_MS);

/// How long it stays open for agents: longer than any orchestrator runs.
const FOR_AGENTS: Duration = Duration::from_hours(24 * 365);

/// The largest body from an agent: far more than is kept of any summary.
const BODY_BYTES_MAX: usize = 1_024 * 1_024;

/// An open listener.
#[derive(Debug)]
pub struct Listener {
    port: u16,
    until: watch::Sender<Instant>,
}

/// Opens the listener for agents. Does not keep the server alive.
pub fn for_agents(doors: &Arc<Doors>) -> OpenTools {
    let doors = Arc::downgrade(doors);
    Arc::new(move |port| {
        let doors = doors.upgrade();
        Box::pin(async move {
            let doors = doors.ok_or(io::ErrorKind::NotConnected)?;
            let port = open(&doors, port, FOR_AGENTS).await?;
            Ok(ToolsAt { port, url: url(port) })
        })
    })
}

/// Opens the listener for at least this long, or extends the open one. `port` 0 means any free
/// port, or that of the open listener.
pub async fn open(doors: &Arc<Doors>, port: u16, kept: Duration) -> io::Result<u16> {
    let mut open = doors.loopback.lock().await;
    let until = Instant::now() + kept;
    if let Some(listener) = &*open {
        if port != 0 && port != listener.port {
            let message = format!("the tools are already served on port {}", listener.port);
            return Err(io::Error::new(io::ErrorKind::AddrInUse, message));
        }
        listener.until.send_if_modified(|it| {
            let is_later = *it < until;
            *it = until.max(*it);
            is_later
        });
        return Ok(listener.port);
    }
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    let port = listener.local_addr()?.port();
    let (until, deadline) = watch::channel(until);
    *open = Some(Listener { port, until });
    let router = Router::new().route(paths::MCP, any(answer)).with_state(doors.clone());
    let doors = doors.clone();
    // The task ends with the server and need not be joined.
    tokio::spawn(async move {
        let closing = doors.clone();
        let expiry = async move {
            tokio::select! {
                () = closing.closed() => {}
                () = expired(deadline, &closing) => {}
            }
        };
        serve_at(listener, doors.pool(Endpoint::Loopback), router, &doors, expiry).await;
    });
    Ok(port)
}

/// The URL of the tools on a port.
pub fn url(port: u16) -> String {
    format!("http://127.0.0.1:{port}{}", paths::MCP)
}

/// Returns when the requested time is over; the listener cannot be found from then on.
async fn expired(mut until: watch::Receiver<Instant>, doors: &Doors) {
    loop {
        let deadline = *until.borrow_and_update();
        tokio::select! {
            () = sleep_until(deadline) => {}
            grown = until.changed() => if grown.is_ok() { continue },
        }
        let mut open = doors.loopback.lock().await;
        if open.as_ref().is_none_or(|it| *it.until.borrow() <= Instant::now()) {
            *open = None;
            return;
        }
    }
}

async fn answer(
    State(doors): State<Arc<Doors>>,
    Extension(connection): Extension<Arc<Connection>>,
    request: Request,
) -> Response {
    let _guard = doors.open_requests.enter();
    let caller = match caller(request.headers(), &connection, &doors) {
        Ok(caller) => caller,
        Err(failed) => return failed.into_response(),
    };
    let port = doors.loopback.lock().await.as_ref().map_or(0, |it| it.port);
    let of_port = |host: &str| format!("{host}:{port}");
    let options = HttpOptions {
        hosts: ["127.0.0.1", "localhost"].map(of_port).into(),
        origins: ["http://127.0.0.1", "http://localhost"].map(of_port).into(),
        body_bytes_max: BODY_BYTES_MAX,
        body_time_max: BODY_TIME_MAX,
    };
    let response = serve_http(CallerTools { doors, caller }, options, request).await;
    response.map(Body::new)
}

/// Executes calls for one caller.
#[derive(Clone)]
struct CallerTools {
    doors: Arc<Doors>,
    caller: Caller,
}

impl ToolHandler for CallerTools {
    fn client_kind(&self) -> ClientKind {
        match self.caller {
            Caller::Worker { .. } => ClientKind::Worker,
            Caller::Client => ClientKind::Client,
        }
    }

    async fn visible(&self) -> Vec<&'static ToolInfo> {
        pitcrew_mcp::visible(self.caller.role(&self.doors).await)
    }

    async fn call(&self, tool: &str, arguments: Value) -> Result<ToolAnswer, ToolRefusal> {
        let tool_error = |refused| match refused {
            Refused::Rejected(message) | Refused::ShuttingDown(message) => {
                ToolRefusal::new(message)
            }
            Refused::Held => ToolRefusal::new("it takes longer; ask for the results again"),
        };
        // Clients have no nonce that survives a restart, so one is created here.
        let nonce = Some(secret().map_err(tool_error)?);
        let (doors, caller) = (&self.doors, self.caller);
        let calling = Calling { doors, caller, nonce, held_until: None };
        calling.call(tool, &arguments).await.map_err(tool_error)
    }
}
