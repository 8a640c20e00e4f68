//! The tools over HTTP on the loopback: opened when somebody asks for it, closed with the doors.
//!
//! Nothing but the tools is served here, and nobody without a token of their own.

use crate::{
    auth::caller,
    serve::Doors,
    tools::{Caller, Calling, Refused, secret},
};
use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    response::{IntoResponse, Response},
    routing::any,
};
use pitcrew_api::paths;
use pitcrew_mcp::{HttpOptions, Orchestrator, ToolAnswer, ToolInfo, ToolRefusal, serve_http};
use serde_json::Value;
use std::{io, net::Ipv4Addr, sync::Arc};
use tokio::net::TcpListener;

/// What an agent may send: far more than is kept of any summary.
const BODY_BYTES_MAX: usize = 1_024 * 1_024;

/// Opens the listener, or says where it is open already. `port` 0: any that is free.
pub async fn open(doors: &Arc<Doors>, port: u16) -> io::Result<u16> {
    let mut open = doors.loopback.lock().await;
    if let Some(port) = *open {
        return Ok(port);
    }
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    let port = listener.local_addr()?.port();
    *open = Some(port);
    let router = Router::new().route(paths::MCP, any(answer)).with_state(doors.clone());
    let closing = doors.clone();
    // Ends with the doors, which wait for nobody.
    tokio::spawn(async move {
        let told = async move { closing.closed().await };
        axum::serve(listener, router).with_graceful_shutdown(told).await.ok();
    });
    Ok(port)
}

async fn answer(State(doors): State<Arc<Doors>>, request: Request) -> Response {
    let _guest = doors.clients.enter();
    let caller = match caller(request.headers(), &doors) {
        Ok(caller) => caller,
        Err(failed) => return failed.into_response(),
    };
    let port = doors.loopback.lock().await.unwrap_or_default();
    let of_port = |host: &str| format!("{host}:{port}");
    let options = HttpOptions {
        hosts: ["127.0.0.1", "localhost"].map(of_port).into(),
        origins: ["http://127.0.0.1", "http://localhost"].map(of_port).into(),
        body_bytes_max: BODY_BYTES_MAX,
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
    async fn visible(&self) -> Vec<ToolInfo> {
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
