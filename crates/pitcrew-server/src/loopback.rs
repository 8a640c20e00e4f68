//! The tools over HTTP on the loopback: opened when somebody asks for it, closed when nobody has asked
//! for a while, or with the doors.
//!
//! Nothing but the tools is served here, and nobody without a token of their own.

use crate::{
    accept::serve_at,
    auth::caller,
    extract::BODY_TIME_MAX,
    room::{Door, Visit},
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
    ClientKind, HttpOptions, Orchestrator, ToolAnswer, ToolInfo, ToolRefusal, serve_http,
};
use pitcrew_runtime::{OpenTools, ToolsAt};
use serde_json::Value;
use std::{io, net::Ipv4Addr, sync::Arc, time::Duration};
use tokio::{
    net::TcpListener,
    sync::watch,
    time::{Instant, sleep_until},
};

/// How long a listener is kept after somebody has asked for it.
pub const ASKED_FOR: Duration = Duration::from_millis(3 * pitcrew_api::MCP_ASK_EVERY_MS);

/// How long it is kept for agents: longer than any orchestrator lives.
const FOR_AGENTS: Duration = Duration::from_hours(24 * 365);

/// What an agent may send: far more than is kept of any summary.
const BODY_BYTES_MAX: usize = 1_024 * 1_024;

/// A listener that is open.
#[derive(Debug)]
pub struct Listener {
    port: u16,
    until: watch::Sender<Instant>,
}

/// How the listener is opened for agents. It does not keep the doors.
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

/// Opens the listener for a while, or keeps the open one for that long at least. `port` 0:
/// any that is free, or the one that is open.
pub async fn open(doors: &Arc<Doors>, port: u16, kept: Duration) -> io::Result<u16> {
    let mut open = doors.loopback.lock().await;
    let until = Instant::now() + kept;
    if let Some(listener) = &*open {
        if port != 0 && port != listener.port {
            let message = format!("the tools are served on port {} already", listener.port);
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
    // Ends with the doors, which wait for nobody.
    tokio::spawn(async move {
        let closing = doors.clone();
        let told = async move {
            tokio::select! {
                () = closing.closed() => {}
                () = nobody_asks(deadline, &closing) => {}
            }
        };
        serve_at(listener, doors.room(Door::Loopback), router, &doors, told).await;
    });
    Ok(port)
}

/// Where the tools are on a port.
pub fn url(port: u16) -> String {
    format!("http://127.0.0.1:{port}{}", paths::MCP)
}

/// Returns when the listener was not asked for any more, and nobody can find it from then on.
async fn nobody_asks(mut until: watch::Receiver<Instant>, doors: &Doors) {
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
    Extension(visit): Extension<Arc<Visit>>,
    request: Request,
) -> Response {
    let _guest = doors.clients.enter();
    let caller = match caller(request.headers(), &visit, &doors) {
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
    let response = serve_http(OnBehalf { doors, caller }, options, request).await;
    response.map(Body::new)
}

/// Carries calls out for one caller.
#[derive(Clone)]
struct OnBehalf {
    doors: Arc<Doors>,
    caller: Caller,
}

impl Orchestrator for OnBehalf {
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
        let told = |refused| match refused {
            Refused::Told(message) | Refused::ShuttingDown(message) => ToolRefusal::new(message),
            Refused::Held => ToolRefusal::new("it takes longer; ask for the results again"),
        };
        // The protocol has no name for a call that would outlive us: it gets one here.
        let nonce = Some(secret().map_err(told)?);
        let (doors, caller) = (&self.doors, self.caller);
        let calling = Calling { doors, caller, nonce, held_until: None };
        calling.call(tool, &arguments).await.map_err(told)
    }
}
